#compdef @PROGRAM@
# zsh completion of @PROGRAM@, made by packaging/completions.py.

@FUNCTIONS@
_@NAME@_verbs() {
  local -a verbs=(
@VERBS@
  )
  _describe verb verbs
}

_@NAME@() {
  local curcontext=$curcontext state line ret=1
  typeset -A opt_args
  _arguments -C '(- *)'{-h,--help}'[Show the verbs]' '(- *)'{-V,--version}'[Print the version]' \
    '1:verb:_@NAME@_verbs' '*::argument:->arguments' && ret=0
  if [[ $state == arguments ]]; then
    if [[ $words[1] == help ]]; then
      _arguments '1:verb:_@NAME@_verbs' && ret=0
    elif (( $+functions[_@NAME@_$words[1]] )); then
      _@NAME@_$words[1] && ret=0
    fi
  fi
  return ret
}

_@NAME@ "$@"
