# Completes distlock's commands, options and lock names. Names come from the store that --uri-file,
# the environment or the default names; one that does not answer within a second offers none.

# The lock names that begin with $1. Not by compgen -W, which would run `$(...)` in a name. None with
# a backslash: it is written in another way, and would lock another name. None with a dash in front:
# it would be an option.
_distlock_names() {
  local name
  while IFS= read -r name; do
    [[ $name == "$1"* ]] && printf '%q\n' "$name"
  done < <(timeout 1 distlock list --names "${@:2}" 2>/dev/null | grep -v '^-\|[\]')
}

# The words of $1 as the shell reads them, into `words`, and the last one, not ended yet, into `word`.
_distlock_split() {
  local line=$1 char quote='' begun=false i
  words=() word=''
  for ((i = 0; i < ${#line}; i++)); do
    char=${line:i:1}
    if [[ -n $quote && $char == "$quote" ]]; then
      quote=''
    elif [[ $char == \\ && $quote != "'" ]]; then
      i=$((i + 1))
      word+=${line:i:1}
    elif [[ -n $quote ]]; then
      word+=$char
    elif [[ $char == [\'\"] ]]; then
      quote=$char
    elif [[ $char != [[:space:]] ]]; then
      word+=$char
    else
      $begun && words+=("$word")
      word='' begun=false
      continue
    fi
    begun=true
  done
}

_distlock() {
  local valued='^(--uri|--uri-file|--why|-[nqv]*[wE]|--wait|--conflict-exit-code|--store-patience|--takeover-after|--ping-every|--grace|--on-loss|--name|--database)$'
  local common='--uri --uri-file --quiet --verbose --no-color --help'
  # Not COMP_WORDS, which is cut at the colons of connection strings.
  local word words
  _distlock_split "${COMP_LINE:0:COMP_POINT}"
  COMPREPLY=()
  if ((${#words[@]} == 1)); then
    mapfile -t COMPREPLY < <(compgen -W 'run status list break readmit role --help --version' -- "$word")
    return
  fi
  if [[ ${words[-1]} == --on-loss || $word == --on-loss=* ]]; then
    mapfile -t COMPREPLY < <(compgen -W 'term kill ignore' -- "${word#--on-loss=}")
    return
  fi
  # What breaks a hold takes no value behind --wait.
  [[ ${words[1]} == break ]] && valued=${valued/--wait|/}
  local options
  case ${words[1]} in
    run) options='--wait --nonblock --store-patience --conflict-exit-code --why --takeover-after --ping-every --grace --on-loss' ;;
    status) options='--json --takeover-after' ;;
    list) options='--held --json --names --takeover-after --watch' ;;
    break) options='--yes --wait' ;;
    readmit) options='--yes' ;;
    role) options='--name --database --read-only' common='--help' ;;
    *) return ;;
  esac

  # After an option that takes a value: files, which -o default offers.
  [[ ${words[-1]} =~ $valued ]] && return

  local i names=0 elsewhere=false file=()
  for ((i = 2; i < ${#words[@]}; i++)); do
    case ${words[i]} in
      --uri | --uri=*) elsewhere=true ;;
      --uri-file) file=(--uri-file "${words[i + 1]/#\~\//$HOME/}") ;;
      --uri-file=*) file=("${words[i]}") ;;
    esac
    if [[ ${words[i]} =~ $valued ]]; then
      i=$((i + 1))
    elif [[ ${words[i]} != -* ]]; then
      names=$((names + 1))
    fi
  done
  # Behind its lock run has the words of its command.
  if ((names > 1)) && [[ ${words[1]} == run ]]; then
    return
  elif [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options $common" -- "$word")
  elif ((names == 1)) && [[ ${words[1]} == run ]]; then
    mapfile -t COMPREPLY < <(compgen -c -- "$word")
  elif ((names > 0)); then
    return
  elif [[ ${words[1]} == readmit ]]; then
    mapfile -t COMPREPLY < <(compgen -W '1 2 3 4 5 6 7 8 9' -- "$word")
  elif [[ ${words[1]} != role ]] && ! $elsewhere; then
    mapfile -t COMPREPLY < <(_distlock_names "$word" "${file[@]}")
  fi
}

complete -o default -F _distlock distlock
