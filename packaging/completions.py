#!/usr/bin/env python3
"""Writes the completions for bash, zsh and fish from the programs' --help.

How each shell completes is in completions.bash, completions.zsh and completions.fish; here these get their tables.
"""
import argparse
import pathlib
import re
import sys

import help as helps

_FOLDER = pathlib.Path(__file__).resolve().parent
_KINDS = {"LOG": "log", "BEFORE": "log", "FILE": "file", "PATH": "file", "PYTHON": "file", "PROGRAM": "program"}


def kind_of(option):
    return "words" if option.choices else _KINDS.get(option.value, "")


def argument_of(page):
    """What the arguments are: logs, a file, a program."""
    usage = re.sub(r"--?\w+ [A-Z]+", "", page.usages[0])
    return next((_KINDS[word] for word in re.findall(r"[A-Z]+", usage) if word in _KINDS), "")


def brief(text):
    """The first clause, as shells show it beside an option."""
    clause = re.match(r".{12,}?(?=[.;:] |$)|.*", text).group()
    return re.sub(r" \([^)]*$", "", clause.rstrip("."))


def takes_next_word(page):
    return [name for option in page.options if option.value and not option.value_is_optional for name in option.names]


def fill(shell, **values):
    text = (_FOLDER / f"completions.{shell}").read_text(encoding="utf-8")
    for name, value in values.items():
        text = text.replace(f"@{name.upper()}@", value)
    return text


def bash(program, pages):
    options, values, arguments = [], [], []
    for verb, page in pages.items():
        words = []
        for option in page.options:
            for name in option.names:
                long_value = option.value and name.startswith("--")
                words += [name] if not long_value or option.value_is_optional else []
                words += [f"{name}="] if long_value else []
            kind = kind_of(option)
            if kind:
                values.append(f"    {'|'.join(f'{verb}:{name}' for name in option.names)}) kind={kind}"
                              f" values='{' '.join(option.choices)}' ;;")
        options.append(f"    {verb}) options='{' '.join(words)}'\n      with_value='{' '.join(takes_next_word(page))}'"
                       f" argument={argument_of(page)} ;;")
        arguments += [f"    '{' '.join([verb, *before.split()])}') argument=words values='{' '.join(words)}' ;;"
                      for before, words in page.words.items()]
    if program == "memprof":
        options.append(f"    help) argument=words values='{' '.join(pages)}' ;;")
    return fill("bash", program=program, name=program.replace("-", "_"), options="\n".join(options),
                values="\n".join(values), arguments="\n".join(arguments), verbs=" ".join([*pages, "help", "version"]),
                first="" if program == "memprof" else program)


def zsh_quote(text):
    return text.replace("'", "'\\''")


def zsh_spec(option):
    """An option as _arguments reads it."""
    text = re.sub(r"([\[\]:\\])", r"\\\1", brief(option.text))
    action = {"log": '_files -g "*.mprof"', "file": "_files", "words": f"({' '.join(option.choices)})"}.get(
        kind_of(option), " ")
    value = re.sub(r"([:\\])", r"\\\1", option.value)
    value = f"{':' if option.value_is_optional else ''}:{value}:{action}" if value else ""
    suffixes = ["" if not option.value else "=-" if option.value_is_optional else "=" if name.startswith("--") else "+"
                for name in option.names]
    names = [name + suffix for name, suffix in zip(option.names, suffixes)]
    repeated = re.search(r"several times|number of times", option.text)
    excluded = "(- *)" if "--help" in option.names else f"({' '.join(option.names)})" if len(names) > 1 else ""
    first = f"{{{','.join(names)}}}" if len(names) > 1 else names[0]
    return f"'{excluded}{'*' if repeated else ''}'{first}'{zsh_quote(f'[{text}]{value}')}'"


def zsh_words(name, page):
    """Completes an argument for which there are words, by those before it, and otherwise a log."""
    cases = [f"    '{before}') compadd -- {' '.join(words)} ;;" for before, words in page.words.items()]
    return "\n".join([f"{name}_words() {{", '  case "${words[2,CURRENT-1]}" in', *cases,
                      '    *) _files -g "*.mprof" ;;', "  esac", "}", ""])


def zsh_function(name, page):
    specs = [zsh_spec(option) for option in page.options]
    specs += [f"'*:argument:{name}_words'"] if page.words else {
        "log": ["'*:log:_files -g \"*.mprof\"'"], "file": ["'*:file:_files'"],
        "program": ["'(-)1:program: _command_names -e'", "'*::argument: _normal'"]}.get(argument_of(page), [])
    lines = " \\\n    ".join(["_arguments -S", *specs])
    return (zsh_words(name, page) if page.words else "") + f"{name}() {{\n  {lines}\n}}\n"


def zsh(program, pages):
    if program != "memprof":
        name = "_" + program.replace("-", "_")
        function = zsh_function(name, pages[program])
        return f"#compdef {program}\n# Made by packaging/completions.py.\n\n{function}\n{name} \"$@\"\n"
    verbs = [f"    '{verb}:{zsh_quote(page.summary)}'" for verb, page in pages.items()]
    verbs += ["    'help:explain a verb'", "    'version:print the version'"]
    return fill("zsh", program=program, name=program, verbs="\n".join(verbs),
                functions="\n".join(zsh_function(f"_{program}_{verb}", page) for verb, page in pages.items()))


def fish_quote(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish_option(option, condition):
    words = " ".join(("-l " if name.startswith("--") else "-s ") + name.lstrip("-") for name in option.names)
    kind = kind_of(option)
    if kind in ("log", "file"):
        words += " -r -F"
    elif option.value:
        words += "" if option.value_is_optional else " -x"
        words += f" -a {fish_quote(' '.join(option.choices))}" if option.choices else ""
    return f"{condition} {words} -d {fish_quote(brief(option.text))}"


def fish_verb(command, verb, page):
    condition = f"{command} -n '__memprof_verb {verb}'" if verb else command
    argument, options = argument_of(page), condition
    if argument == "program":
        yield f"{condition} -x -a '(__memprof_complete_program)'"
        options = f"{command} -n '__memprof_verb {verb}; and not __memprof_program >/dev/null'"
    elif argument:
        for before, words in page.words.items():
            typed = " ".join([verb, *before.split()])
            yield f"{command} -n '__memprof_words {typed}' -a '{' '.join(words)}'"
            condition = f"{condition[:-1]}; and not __memprof_words {typed}'"
        logs = r"-x -a '(__fish_complete_path (commandline -ct) | string match -er \'(?:\.mprof|/)(?:\t|$)\')'"
        yield f"{condition} {logs if argument == 'log' else '-F'}"
    for option in page.options:
        yield fish_option(option, options)


def fish(program, pages):
    command = f"complete -c {program}"
    if program != "memprof":
        lines = ["# Made by packaging/completions.py.", f"{command} -f", *fish_verb(command, "", pages[program])]
        return "\n".join(lines) + "\n"
    lines = [f"{command} -n __memprof_needs_verb -a {verb} -d {fish_quote(page.summary)}"
             for verb, page in pages.items()]
    lines += [f"{command} -n __memprof_needs_verb -a help -d 'Explain a verb'",
              f"{command} -n __memprof_needs_verb -s V -l version -d 'Print the version'",
              f"{command} -n __memprof_needs_verb -s h -l help -d 'Show the verbs'",
              f"{command} -n '__memprof_verb help' -a '{' '.join(pages)}'"]
    for verb, page in pages.items():
        lines += fish_verb(command, verb, page)
    before_program = [name for page in pages.values() if argument_of(page) == "program"
                      for name in takes_next_word(page)]
    return fill("fish", before_program=" ".join(before_program)) + "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memprof", required=True, help="the program; it is run")
    parser.add_argument("--viewer", help="memprof-viewer, if it was built; it is run")
    parser.add_argument("--output", required=True, type=pathlib.Path, help="the folder share of a prefix")
    arguments = parser.parse_args()
    try:
        programs = {"memprof": {verb.program.split()[1]: verb for verb in helps.memprof(arguments.memprof).verbs}}
        if arguments.viewer:
            programs["memprof-viewer"] = {"memprof-viewer": helps.viewer(arguments.viewer)}
    except (helps.Unreadable, OSError) as error:
        sys.exit(f"completions.py: {error}")
    for program, pages in programs.items():
        for place, text in ((f"bash-completion/completions/{program}", bash(program, pages)),
                            (f"zsh/site-functions/_{program}", zsh(program, pages)),
                            (f"fish/vendor_completions.d/{program}.fish", fish(program, pages))):
            path = arguments.output / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
