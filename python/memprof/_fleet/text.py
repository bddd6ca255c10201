"""Answers as text, as the other verbs of memprof print theirs (_sizes.py, cli/console/table.cc)."""
import unicodedata

from .._sizes import size, three

WIDTH = 100
_LEFT = ("text", "log")


def _share(value):
    percent = value * 100
    if 0 < percent < 0.1:
        return "<0.1 %"
    return f"{percent:.{1 if abs(percent) < 9.95 and percent else 0}f} %"


def _time(value):
    if value >= 100e9:
        seconds = round(value / 1e9)
        return f"{seconds // 3600} h {seconds // 60 % 60:02} min" if seconds >= 3600 else \
            f"{seconds // 60} min {seconds % 60:02} s"
    for name, scale in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if value >= 0.9995 * scale:
            return f"{three(value / scale)} {name}"
    return f"{value:.0f} ns"


_SHOWN = {
    "bytes": size, "bytes/step": lambda value: size(value) + "/step", "bytes/s": lambda value: size(value) + "/s",
    "share": _share, "ns": _time, "hours": lambda value: three(value) + " h", "count": lambda value: f"{value:,.0f}",
    "step": lambda value: f"{value:.0f}", "number": three, "bool": lambda value: "yes" if value else "no",
}


def printable(text):
    """Control characters as '?': a hostile log could use them to control the terminal."""
    return "".join("?" if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") else c for c in str(text))


def cell(value, unit):
    if value is None:
        return "-"
    return printable(value) if unit in _LEFT else _SHOWN[unit](value)


def cut_front(text, width):
    return text if len(text) <= width else "…" + text[len(text) - width + 1:]


def _cut_middle(text, width):
    if len(text) <= width:
        return text
    kept = width // 3
    return text[:kept] + "…" + text[len(text) - (width - kept - 1):]


def table(columns, rows, indent=2, width=WIDTH):
    """Lines: numbers to the right, texts to the left; columns of text but the last have at most 40 signs, the last
    what is left of the line, but at least 24."""
    cells = [[cell(value, column.unit) for value, column in zip(row, columns)] for row in rows]
    cells = [[text if column.unit not in _LEFT or number == len(columns) - 1 else _cut_middle(text, 40)
              for number, (text, column) in enumerate(zip(row, columns))] for row in cells]
    heads = [column.name.replace("_", " ") for column in columns]
    widths = [max(map(len, [head] + [row[number] for row in cells])) for number, head in enumerate(heads)]
    room = max(24, width - indent - sum(widths[:-1]) - 2 * (len(widths) - 1))
    cut = cut_front if columns[-1].unit == "log" else _cut_middle
    lines = []
    for row in [heads] + cells:
        row = row[:-1] + [cut(row[-1], room)]
        padded = [text.ljust(wide) if column.unit in _LEFT else text.rjust(wide)
                  for text, wide, column in zip(row, widths, columns)]
        lines.append((" " * indent + "  ".join(padded)).rstrip())
    return lines
