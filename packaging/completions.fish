# fish completion of memprof, made by packaging/completions.py.

function __memprof_needs_verb
    test (count (commandline -opc)) -eq 1
end

function __memprof_verb
    set -l words (commandline -opc)
    test (count $words) -ge 2; and test "$words[2]" = $argv[1]
end

# Whether exactly these words follow the command.
function __memprof_words
    set -l words (commandline -opc)
    test "$words[2..]" = "$argv"
end

# The program of `memprof run` and its arguments, as far as they are typed. The status is 1 if it has not begun.
function __memprof_program
    set -l with_value @BEFORE_PROGRAM@
    set -l words (commandline -opc)
    set -e words[1..2]
    set -l begun 1
    while set -q words[1]
        if test "$words[1]" = --
            set -e words[1]
            set begun 0
            break
        else if not string match -q -- '-*' $words[1]
            set begun 0
            break
        else if contains -- $words[1] $with_value
            set -e words[1]
        end
        set -e words[1]
    end
    string join -- ' ' (string escape -- $words)
    return $begun
end

function __memprof_complete_program
    set -l typed (__memprof_program)
    if test $status -ne 0; and string match -q -- '-*' (commandline -ct)
        return
    end
    complete --do-complete=(string join -- ' ' $typed (commandline -ct))
end

complete -c memprof -f
