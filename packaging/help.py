"""The help texts of memprof's programs, parsed. Man pages and completions are made of them, so a new option is on both.

What is read: the output of cli/console/options.cc, cli/main.cc and viewer/window/options.cc.
"""
import dataclasses
import os
import re
import subprocess
import tempfile


class Unreadable(Exception):
    """A program did not print a help text of the known form."""


@dataclasses.dataclass
class Option:
    names: list  # ["-o", "--output"]
    value: str  # what follows the name: "LOG", "csv|pytorch"; empty for a flag
    text: str
    value_is_optional: bool = False
    choices: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Help:
    program: str  # "memprof run"
    summary: str
    usages: list  # what follows the program's name, one for each form
    paragraphs: list
    options: list
    examples: list  # pairs: a command, what it does
    statuses: list  # pairs: an exit status, its meaning
    verbs: list  # of Help, for the program "memprof"
    forms: list = dataclasses.field(default_factory=list)  # of Help: those that the first argument names
    words: dict = dataclasses.field(default_factory=dict)  # what the next argument may be, by those before it

    @property
    def page(self):
        return self.program.replace(" ", "-")


def _choices(value, text):
    """The values that the help names: "a|b", "x: a (default), b or c", "(A, B, C)"."""
    if re.fullmatch(r"[a-z][a-z0-9_-]*(\|[a-z0-9_-]+)*", value):
        return value.split("|")
    tail = text.split(": ")[-1].split("; ")[0].rstrip(".")
    words = re.split(r", or |, | or ", re.sub(r" \((the )?default\)|, …", "", tail))
    if len(words) > 1 and all(re.fullmatch(r"[a-z][a-z_,-]*", word) for word in words):
        return words
    listed = re.search(r"\((\w+(?:, \w+)+)\)", text)
    return listed.group(1).split(", ") if value and listed else []


def _option(left, text):
    names, value = [], ""
    for part in left.split(", "):
        found = re.fullmatch(r"(--?\w[\w-]*)(?:[= ](\S+))?", part)
        if not found:
            raise Unreadable(f"an option of a help has another form: '{left}'")
        names.append(found.group(1))
        value = found.group(2) or ""
    return Option(names, value, text, "may be left out" in text, _choices(value, text) if value else [])


def _columns(line):
    # Where the left column is just as wide as there is room, one space follows it.
    value = re.fullmatch(r"((?:-\w, )?--[\w-]+=\S+) +(.*)", line)
    if value:
        return list(value.groups())
    left, _, right = line.partition("  " if "  " in line or not line.startswith("--") else " ")
    return [left, right.strip()]


def _entries(lines):
    """Pairs of a table whose left column begins after two spaces; the right one is wrapped."""
    pairs = []
    for line in lines:
        if re.match(r"  \S", line):
            pairs.append(_columns(line[2:]))
        elif pairs:
            pairs[-1][1] = f"{pairs[-1][1]} {line.strip()}".strip()
    return pairs


def parse(program, summary, text):
    parsed = Help(program, summary, [], [], [], [], [], [])
    verbs = []
    for block in text.strip().split("\n\n"):
        head, *rest = block.split("\n")
        if head.startswith(f"Usage: {program} "):
            usage = head[len("Usage: "):]
            verb = program.split(" ", 1)[-1]
            parsed.usages = [re.sub(rf"^({re.escape(program)}|{re.escape(verb)}) ", "", form)
                             for form in usage.split(" | ")]
            if rest:
                parsed.paragraphs.append(" ".join(rest))
        elif head in ("Options:", "Examples:", "Verbs:"):
            pairs = _entries(rest)
            if head == "Options:":
                parsed.options += [_option(*pair) for pair in pairs]
            elif head == "Examples:":
                parsed.examples += pairs
            else:
                verbs += pairs
        elif head.startswith("  -"):
            parsed.options += [_option(*pair) for pair in _entries([head, *rest])]
        else:
            before, found, statuses = " ".join([head, *rest]).partition("Exit status: ")
            if before:
                parsed.paragraphs.append(before.strip())
            if found:
                parsed.statuses = re.findall(r"(\d+) (.*?)(?:, (?=\d)|\.$)", statuses)
    if not parsed.usages or not (parsed.options or verbs):
        raise Unreadable(f"'{program} --help' has no usage, or neither options nor verbs")
    return parsed, verbs


def _run(program, *arguments):
    # In an empty folder, and without variables that change what is printed.
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "QT_QPA_PLATFORM": "offscreen"}
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run([os.path.abspath(program), *arguments], cwd=folder, env=environment,
                              capture_output=True, text=True, encoding="utf-8", check=False, timeout=120)


def _help_of(path, name, summary, *verb):
    done = _run(path, *verb, "--help")
    if done.returncode != 0:
        raise Unreadable(f"'{name} --help' ended with status {done.returncode}: {done.stderr.strip()}")
    return parse(name, summary, done.stdout)


def _ask_for_values(path, verbs):
    """Values that no help lists, because the program prints them on request."""
    models = re.search(r"there are (.*)", _run(path, "run", "--sim=gpu=?", "--", "true").stderr)
    allocators = re.findall(r"^  (\w+) ", _run(path, "replay", "--with=help").stdout, re.MULTILINE)
    questions = re.findall(r"^([a-z]+)  ", _run(path, "fleet", "ask", "--list").stdout, re.MULTILINE)
    if not models or not allocators or not questions:
        raise Unreadable("memprof names no GPU models, no allocators, or no questions")
    sim = [f"gpu={model}" for model in re.split(r", | and ", models.group(1).strip())]
    for option in (option for verb in verbs for option in verb.options):
        if option.names[-1] == "--sim":
            option.choices = sim
        elif option.value.startswith("NAME[:OPTION"):
            option.choices = allocators
    for verb in (verb for verb in verbs if "ask" in verb.words.get("", [])):
        verb.words["ask"] = questions


def memprof(path):
    """The command's help, with that of all verbs."""
    whole, verbs = _help_of(path, "memprof", "memory profiler and leak detector for GPU programs")
    whole.options = [Option(["-h", "--help"], "", "Show the verbs."),
                     Option(["-V", "--version"], "", "Print the version.")]
    for name, summary in verbs:
        verb, _ = _help_of(path, f"memprof {name}", summary, name)
        forms = re.match(r"([a-z]+(?:\|[a-z]+)+) ", verb.usages[0])
        for form in forms.group(1).split("|") if forms else []:
            verb.words.setdefault("", []).append(form)
            verb.forms.append(_help_of(path, f"memprof {name} {form}", "", name, form)[0])
        whole.verbs.append(verb)
    _ask_for_values(path, whole.verbs)
    return whole


def viewer(path):
    return _help_of(path, "memprof-viewer", "look at a log of memprof in a window")[0]
