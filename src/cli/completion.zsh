#compdef distlock
# Completes distlock's commands, options and lock names, as completion.bash does.

# The lock names of the store that --uri-file, the environment or the default names; one that does
# not answer within a second offers none.
_distlock_names() {
  local -a file names
  [[ -n ${opt_args[--uri]} ]] && return 1
  [[ -n ${opt_args[--uri-file]} ]] && file=(--uri-file ${(Q)opt_args[--uri-file]})
  names=(${(f)"$(timeout 1 distlock list --names $file 2>/dev/null | grep -v '^-\|[\]')"})
  compadd -a names
}

_distlock() {
  local context state state_descr line
  typeset -A opt_args
  local -a verbs common judged
  verbs=(
    'run:hold a lock while a command runs'
    'status:show who holds a lock'
    'list:show all locks and pings'
    'break:free a lock, whoever holds it'
    'readmit:take an emptied member of a mirrored store back'
    'role:print the command that makes a role in MongoDB'
  )
  common=(
    '(--uri-file)--uri=[store of the locks]:connection string:'
    '(--uri)--uri-file=[read the connection string from a file]:file:_files'
    '(-q --quiet)'{-q,--quiet}'[show problems only]'
    '(-v --verbose)'{-v,--verbose}'[show every step]'
    '--no-color[no colour on a terminal]'
    '(-h --help)'{-h,--help}'[show help]'
  )
  judged=('--takeover-after=[judge a takeover as run with this option]:duration:')

  if ((CURRENT == 2)); then
    _describe command verbs
    compadd -- --help --version
    return
  fi
  local command=$words[2]
  shift words
  ((CURRENT--))
  case $command in
    run)
      _arguments -S $common \
        '(-n --nonblock -w --wait)'{-w,--wait=}'[longest wait for a busy lock]:duration:' \
        '(-n --nonblock -w --wait)'{-n,--nonblock}'[do not wait]' \
        '--store-patience=[longest wait for a store that is away]:duration:' \
        '(-E --conflict-exit-code)'{-E,--conflict-exit-code=}'[status if the lock stays busy]:status:' \
        '--why=[what for]:text:' \
        '--takeover-after=[silence of the holder before a takeover]:duration:' \
        '--ping-every=[time between two pings]:duration:' \
        '--grace=[time from SIGTERM to SIGKILL]:duration:' \
        '--on-loss=[if the lock is lost]:what:(term kill ignore)' \
        '1:lock:_distlock_names' '*::command:_normal'
      ;;
    status) _arguments $common $judged '--json[write JSON]' '1:lock:_distlock_names' ;;
    list)
      _arguments $common $judged '(--names)--json[write JSON]' '(--json)--names[write names only]' \
        '--held[only locks that are held]' '--watch[again every second]' \
        '1:pattern:_distlock_names'
      ;;
    break)
      _arguments $common '(-y --yes)'{-y,--yes}'[do not ask]' \
        '--wait[return when the old holder acts no more]' '1:lock:_distlock_names'
      ;;
    readmit) _arguments $common '(-y --yes)'{-y,--yes}'[do not ask]' '1:number:(1 2 3 4 5 6 7 8 9)' ;;
    role)
      _arguments '--name=[of the role]:name:' '--database=[database of the locks]:database:' \
        '--read-only[enough for list and status]' '(-h --help)'{-h,--help}'[show help]'
      ;;
  esac
}

_distlock "$@"
