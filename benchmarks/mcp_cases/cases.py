"""The cases: programs whose line to find is known before memprof sees them.

    programs/NAME.py            written for this: the line ends with "# HERE"; "# record:" are the options of memprof run,
                                "# runs:" the arguments of each of its runs
    ../../studies/holders       programs that state which variable keeps their memory; holders.txt has the line of each
                                that puts memory there, chosen by reading them
    demo_trainer --leak KIND    leaks of a C++ program, each made in one function of one file"""
import pathlib
import re
from collections.abc import Sequence
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
HOLDERS = HERE.parents[1] / "studies/holders/cases"
DEMO = HERE.parents[1] / "demo_trainer"


class Case(NamedTuple):
    name: str
    program: pathlib.Path  # None: demo_trainer
    options: tuple  # of memprof run
    runs: tuple  # the arguments of each run
    file: str  # the name of the file with the known line
    lines: Sequence  # its line, or those that are the same word for word; of demo_trainer the lines of the function


def made():
    for path in sorted((HERE / "programs").glob("*.py")):
        text = path.read_text()
        lines = [number for number, line in enumerate(text.splitlines(), 1) if line.endswith("# HERE")]
        if len(lines) != 1:
            raise ValueError(f"{path}: {len(lines)} lines end with # HERE")
        head = dict(re.findall(r"^# (record|runs): (.*)$", text, re.MULTILINE))
        runs = tuple((each,) for each in head["runs"].split()) if "runs" in head else ((),)
        yield Case(path.stem, path, tuple(head["record"].split()), runs, path.name, range(lines[0], lines[0] + 1))


def held():
    prefix = "held"
    for row in (HERE / "holders.txt").read_text().splitlines():
        if row.startswith("["):
            prefix = row.strip("[]")
        if not row or row[0] in "#[":
            continue
        name, wanted = row.split(": ", 1)
        path = HOLDERS / f"{name}.py"
        lines = [number for number, line in enumerate(path.read_text().splitlines(), 1) if line.strip() == wanted.strip()]
        if not lines:
            raise ValueError(f"{path}: no line is: {wanted}")
        yield Case(f"{prefix}_{name}", path, ("--sim", "--holders"), ((),), path.name, lines)


def seeded(table):
    """From the table that `demo_trainer --leak list` prints."""
    for row in table.splitlines()[1:]:
        kind, _, _, function, file = row.split()[:5]
        yield Case(f"seeded_{kind}", None, ("--sim",), (("--steps", "24", "--quiet", "--eval-every", "2", "--leak", kind),),
                   pathlib.Path(file).name, _body(DEMO / file, function))


def _body(path, function):
    """The lines of a function: from its head to the brace at the margin."""
    lines = path.read_text().splitlines()
    for number, line in enumerate(lines, 1):
        if re.match(rf"\w.*\b{function}\(", line) and not line.rstrip().endswith(";"):
            return range(number, next(each for each in range(number, len(lines) + 1) if lines[each - 1] == "}") + 1)
    raise ValueError(f"{path} has no {function}")
