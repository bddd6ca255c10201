"""The report of scripts/gpu-check as Markdown."""
from verdicts import FAILED, SKIPPED


def _cell(text):
    return text.replace("|", "\\|").replace("\n", " ")


def _table(rows):
    lines = ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows]
    return [lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]


def render(sections, facts, stand_in):
    """`facts`: (name, value) of the machine."""
    lines = ["# Report of scripts/gpu-check", ""]
    if stand_in:
        lines += ["**Run on the stand-in CUDA: this says that the check works, and nothing about a GPU.**", ""]
    lines += _table([["", ""], *([name, str(value)] for name, value in facts)]) + [""]
    lines += _table([["section", "verdict", "summary", "seconds"],
                     *([one.title, f"**{one.verdict}**" if one.verdict == FAILED else one.verdict, one.summary,
                        f"{one.seconds:.1f}"] for one in sections)]) + [""]
    for one in sections:
        lines += [f"## {one.title}: {one.verdict}" + (f": {one.summary}" if one.verdict == SKIPPED else ""), ""]
        if one.verdict != SKIPPED:
            lines += [one.summary + ".", ""]
        if one.table:
            lines += _table(one.table) + [""]
        for note in one.notes:
            lines += [note, ""]
    return "\n".join(lines).rstrip() + "\n"
