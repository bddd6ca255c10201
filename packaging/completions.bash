# bash completion of @PROGRAM@, made by packaging/completions.py.

# Sets what the verb has: options, those of them that take the next word, what its arguments are.
_@NAME@_options() {
  case $1 in
@OPTIONS@
  esac
}

# Sets the values of an option, or that it is a log or a file.
_@NAME@_values() {
  case $1:$2 in
@VALUES@
  esac
}

# Sets the words that an argument may be, by the verb and the arguments before it.
_@NAME@_arguments() {
  case $1 in
@ARGUMENTS@
  esac
}

# The program of `memprof run` and its arguments, from this word on.
_@NAME@_program() {
  if declare -F _comp_command_offset >/dev/null; then
    _comp_command_offset "$1"
  elif declare -F _command_offset >/dev/null; then
    _command_offset "$1"
  else
    ((COMP_CWORD > $1)) || mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
    compopt -o default
  fi
}

_@NAME@_offer() {
  local kind=$1 words=$2 word=$3
  if [[ $kind == file ]]; then
    compopt -o default
  elif [[ $kind == log ]]; then
    # If nothing fits, such as a name in quotes, readline completes any file.
    compopt -o filenames -o default
    mapfile -t COMPREPLY < <(compgen -f -X '!*.mprof' -- "$word"; compgen -d -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  fi
}

_@NAME@() {
  local words=(@FIRST@) starts=(@FIRST@) options= with_value= argument= kind= values=
  local i last word option= program= ended= before=
  COMPREPLY=()
  for ((i = 1; i <= COMP_CWORD; i++)); do
    # Readline divides words at "=".
    if ((i > 1)) && [[ ${COMP_WORDS[i]} == = || ${COMP_WORDS[i - 1]} == = ]]; then
      words[${#words[@]} - 1]+=${COMP_WORDS[i]}
    else
      words+=("${COMP_WORDS[i]}") starts+=("$i")
    fi
  done
  last=$((${#words[@]} - 1)) word=${words[${#words[@]} - 1]}
  if ((last == 0)); then
    _@NAME@_offer words '@VERBS@ --help --version' "$word"
    return
  fi
  _@NAME@_options "${words[0]}"
  for ((i = 1; i < last; i++)); do
    if [[ -n $option ]]; then
      option=
    elif [[ ${words[i]} == -- ]]; then
      ended=1 program=$((i + 1))
      break
    elif [[ ${words[i]} != -* ]]; then
      program=$i before+=" ${words[i]}"
      [[ $argument != program ]] || break
    elif [[ " $with_value " == *" ${words[i]} "* ]]; then
      option=${words[i]}
    fi
  done
  if [[ $argument == program && -z $option && (-n $program || $word != -*) ]]; then
    _@NAME@_program "${starts[${program:-$last}]}"
    return
  fi
  if [[ -z $option$ended && $word == -*=* ]]; then
    _@NAME@_values "${words[0]}" "${word%%=*}"
    _@NAME@_offer "$kind" "$values" "${word#*=}"
  elif [[ -n $option ]]; then
    _@NAME@_values "${words[0]}" "$option"
    _@NAME@_offer "$kind" "$values" "$word"
  elif [[ -z $ended && $word == -* ]]; then
    _@NAME@_offer words "$options" "$word"
    [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace
  else
    _@NAME@_arguments "${words[0]}$before"
    _@NAME@_offer "$argument" "$values" "$word"
  fi
  [[ $word == *=* ]] || return 0
  # Replies are whole values. Readline replaces what follows the last "=", or, if it does not divide
  # words there, the whole word.
  local whole=$word
  [[ $word != -*=* ]] || whole=${word#*=}
  for i in "${!COMPREPLY[@]}"; do
    if [[ $COMP_WORDBREAKS == *=* ]]; then
      [[ $whole != *=* ]] || COMPREPLY[i]=${COMPREPLY[i]#"${whole%=*}="}
    elif [[ $word == -*=* ]]; then
      COMPREPLY[i]=${word%%=*}=${COMPREPLY[i]}
    fi
  done
}

complete -F _@NAME@ @PROGRAM@
