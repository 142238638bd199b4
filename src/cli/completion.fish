# Completes distlock's commands, options and lock names, as completion.bash does.

set -l all run status list break readmit role

# The lock names of the store that --uri-file, the environment or the default names; one that does
# not answer within a second offers none.
function __distlock_names
    set -l words (commandline -opc)
    string match -qr -- '^--uri(=|$)' $words; and return
    set -l file (string match -r -- '^--uri-file=.*' $words)
    if set -l at (contains -i -- --uri-file $words)
        set file --uri-file $words[(math $at + 1)]
    end
    timeout 1 distlock list --names $file 2>/dev/null | grep -v '^-\|[\]'
end

# Whether a lock is named already: by a word that is neither an option nor an option's value.
function __distlock_named
    set -l valued -E --conflict-exit-code --store-patience --why --takeover-after --ping-every --grace
    set -a valued --on-loss --uri --uri-file
    set -l words (commandline -opc)
    # What breaks a hold takes no value behind --wait.
    test "$words[2]" = break; or set -a valued -w --wait
    set -l skip no
    for word in $words[3..-1]
        if test $skip = yes
            set skip no
        else if contains -- $word $valued
            set skip yes
        else if not string match -q -- '-*' $word
            return 0
        end
    end
    return 1
end

function __distlock_on
    __fish_seen_subcommand_from $argv
end

complete -c distlock -f
complete -c distlock -n "not __distlock_on $all" -a run -d 'hold a lock while a command runs'
complete -c distlock -n "not __distlock_on $all" -a status -d 'show who holds a lock'
complete -c distlock -n "not __distlock_on $all" -a list -d 'show all locks and pings'
complete -c distlock -n "not __distlock_on $all" -a break -d 'free a lock, whoever holds it'
complete -c distlock -n "not __distlock_on $all" -a readmit -d 'take an emptied member of a mirrored store back'
complete -c distlock -n "not __distlock_on $all" -a role -d 'print the command that makes a role in MongoDB'
complete -c distlock -n "not __distlock_on $all" -s V -l version -d 'show the version'
complete -c distlock -s h -l help -d 'show help'

set -l common '__distlock_on run status list break readmit'
complete -c distlock -n $common -l uri -x -d 'store of the locks'
complete -c distlock -n $common -l uri-file -rF -d 'read the connection string from a file'
complete -c distlock -n $common -s q -l quiet -d 'show problems only'
complete -c distlock -n $common -s v -l verbose -d 'show every step'
complete -c distlock -n $common -l no-color -d 'no colour on a terminal'
complete -c distlock -n '__distlock_on run status list break; and not __distlock_named' -a '(__distlock_names)' -d lock
complete -c distlock -n '__distlock_on run; and __distlock_named' -xa '(__fish_complete_subcommand --fcs-skip=3)'

complete -c distlock -n '__distlock_on run' -s w -l wait -x -d 'longest wait for a busy lock'
complete -c distlock -n '__distlock_on run' -s n -l nonblock -d 'do not wait'
complete -c distlock -n '__distlock_on run' -l store-patience -x -d 'longest wait for a store that is away'
complete -c distlock -n '__distlock_on run' -s E -l conflict-exit-code -x -d 'status if the lock stays busy'
complete -c distlock -n '__distlock_on run' -l why -x -d 'what for'
complete -c distlock -n '__distlock_on run' -l takeover-after -x -d 'silence of the holder before a takeover'
complete -c distlock -n '__distlock_on run' -l ping-every -x -d 'time between two pings'
complete -c distlock -n '__distlock_on run' -l grace -x -d 'time from SIGTERM to SIGKILL'
complete -c distlock -n '__distlock_on run' -l on-loss -xa 'term kill ignore' -d 'if the lock is lost'

complete -c distlock -n '__distlock_on status list' -l json -d 'write JSON'
complete -c distlock -n '__distlock_on status list' -l takeover-after -x -d 'judge a takeover as run with this option'
complete -c distlock -n '__distlock_on list' -l names -d 'write names only'
complete -c distlock -n '__distlock_on list' -l held -d 'only locks that are held'
complete -c distlock -n '__distlock_on list' -l watch -d 'again every second'

complete -c distlock -n '__distlock_on break' -s y -l yes -d 'do not ask'
complete -c distlock -n '__distlock_on break' -l wait -d 'return when the old holder acts no more'

complete -c distlock -n '__distlock_on readmit; and not __distlock_named' -xa '(seq 9)' -d member
complete -c distlock -n '__distlock_on readmit' -s y -l yes -d 'do not ask'

complete -c distlock -n '__distlock_on role' -l name -x -d 'of the role'
complete -c distlock -n '__distlock_on role' -l database -x -d 'database of the locks'
complete -c distlock -n '__distlock_on role' -l read-only -d 'enough for list and status'
