"""What bash, zsh and fish offer for a line: the installed completions, run by the shells themselves."""
import os
import pathlib
import pty
import re
import shlex
import subprocess
import tempfile

_BASH = r"""
compopt() { :; }
[[ -z $MORE ]] || source "$MORE"
complete -W "alpha beta" guest
source "$SHARE/bash-completion/completions/$PROGRAM"
while read -r function words; do
  eval "COMP_WORDS=($words)"
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_LINE=${COMP_WORDS[*]} COMP_POINT=${#COMP_LINE} COMPREPLY=()
  "$function" "${COMP_WORDS[0]}" "${COMP_WORDS[COMP_CWORD]}" ''
  printf '%s\n' "${COMPREPLY[@]}" END
done
"""

# Completion works in the line editor alone: it is told the lines when it starts, and never reads a key.
_ZSH = r"""
fpath=("$SHARE/zsh/site-functions" $fpath)
autoload -Uz compinit && compinit -u -D
_guest() { compadd alpha beta }
compdef _guest guest
compadd() {
  local -a hits
  if [[ ${@[1,(i)(-|--)]} != *-(O|A|D)\ * ]]; then
    builtin compadd -O hits "$@"
    print -rl -- $hits >>$ANSWERS
  fi
  builtin compadd "$@"
}
answer() {
  local line
  for line in "${(@f)$(<$LINES_FILE)}"; do
    BUFFER=$line CURSOR=$#line
    zle list-choices
    print -r -- END >>$ANSWERS
  done
  exit
}
zle -N zle-line-init answer
"""


def _groups(text, lines):
    groups = [group.split("\n") for group in text.split("END\n")]
    return {line: {word for word in group if word} for line, group in zip(lines, groups)}


def bash(share, lines, program="memprof", more=""):
    """`more`: bash-completion's own file, or nothing where it is not installed."""
    text = ""
    for line in lines:
        words = [part for word in line.split(" ") for part in re.split("(=)", word) if part or not word]
        if words[-1] == "=":
            words.append("")
        text += f"_{program.replace('-', '_')} {shlex.join(words)}\n"
    done = subprocess.run(["bash", "--norc", "-c", _BASH], input=text, capture_output=True, text=True, check=True,
                          env={**os.environ, "SHARE": share, "PROGRAM": program, "MORE": more})
    if done.stderr:
        raise AssertionError(f"bash: {done.stderr}")
    return _groups(done.stdout, lines)


def typed_into_bash(share, keys):
    """Readline itself completes; `memprof` is a function that notes its arguments."""
    with tempfile.TemporaryDirectory() as folder:
        notes = pathlib.Path(folder) / "notes"
        script = f'PS1=; memprof() {{ printf "%s\n" "$*" >>{notes}; }}\n'
        script += f'source {share}/bash-completion/completions/memprof'
        (pathlib.Path(folder) / "rc").write_text(script, encoding="utf-8")
        child, terminal = pty.fork()
        if child == 0:
            os.execvpe("bash", ["bash", "--rcfile", f"{folder}/rc", "-i"],
                       {**os.environ, "TERM": "dumb", "INPUTRC": "/dev/null", "HISTFILE": "/dev/null"})
        os.write(terminal, f"{keys}exit\n".encode())
        _wait_for_end(child, terminal)
        return notes.read_text(encoding="utf-8").split("\n")[:-1]


def _wait_for_end(child, terminal):
    try:
        while os.read(terminal, 4096):
            pass
    except OSError:  # the shell has ended
        pass
    os.waitpid(child, 0)
    os.close(terminal)


def zsh(share, lines):
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / ".zshrc").write_text(_ZSH, encoding="utf-8")
        (pathlib.Path(folder) / "lines").write_text("\n".join(lines), encoding="utf-8")
        child, terminal = pty.fork()
        if child == 0:
            os.execvpe("zsh", ["zsh", "-d", "-i"], {
                **os.environ, "ZDOTDIR": folder, "SHARE": share, "TERM": "dumb", "LISTMAX": "10000",
                "ANSWERS": f"{folder}/answers", "LINES_FILE": f"{folder}/lines"})
        _wait_for_end(child, terminal)
        return _groups((pathlib.Path(folder) / "answers").read_text(encoding="utf-8"), lines)


def fish(share, lines):
    script = "complete -c guest -f -a 'alpha beta'; while read -l line; complete -C $line; echo END; end"
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(["fish", "-c", script], input="".join(f"{line}\n" for line in lines), text=True,
                              check=True, capture_output=True,
                              env={**os.environ, "HOME": home, "XDG_DATA_DIRS": f"{share}:/usr/share", "TERM": "dumb"})
    if done.stderr:
        raise AssertionError(f"fish: {done.stderr}")
    return _groups(re.sub(r"\t.*", "", done.stdout), lines)
