"""The report of scripts/gpu-check as Markdown."""
from verdicts import FAILED, SKIPPED


def _cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def _table(rows):
    lines = ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows]
    return [lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]


def _verdict(section):
    return f"**{section.verdict}**" if section.verdict == FAILED else section.verdict


def render(sections, known, stand_in):
    """`known`: ([(name, value)] of the machine, [warnings])."""
    facts, warnings = known
    lines = ["# Report of scripts/gpu-check", ""]
    if stand_in:
        lines += ["**Run on the stand-in CUDA: this says that the check works, and nothing about a GPU.**", ""]
    lines += _table([["", ""], *facts]) + [""]
    lines += [f"* {warning}" for warning in warnings] + ([""] if warnings else [])
    lines += _table([["section", "verdict", "summary", "seconds"],
                     *([one.title, _verdict(one), one.summary, f"{one.seconds:.1f}"] for one in sections)]) + [""]
    for one in sections:
        lines += [f"## {one.title}: {one.verdict}" + (f": {one.summary}" if one.verdict == SKIPPED else ""), ""]
        if one.verdict != SKIPPED:
            lines += [one.summary + ".", ""]
        if one.table:
            lines += _table(one.table) + [""]
        for note in one.notes:
            lines += [note, ""]
    return "\n".join(lines).rstrip() + "\n"
