"""Lines of the program's source with the bytes that the log says of them. Text is read only of files that a stack of
the log names, that lie below the folder that the user named, and that end as source does."""
import ast
import os
import re

from . import answers, desk as desks, frames
from .errors import McpError

ENDINGS = (".py", ".pyx", ".cc", ".cpp", ".cxx", ".c", ".h", ".hpp", ".cu", ".cuh", ".rs", ".jl")
LARGEST = 1 << 20
AROUND = 4
LONGEST = 160

_STORES = r"\.(append|appendleft|add|extend|insert|put|put_nowait|setdefault|update|push|set(_\w+)?|add_\w+|register\w*|connect)\("


def source_lines(desk, log, file, line, names, limit, cursor):
    peaks = desk.ask("peak", log, "--top=200")["peaks"]
    leaks = desk.ask("leaks", log)
    grown = [*leaks["leaks"], *leaks["rising"]]
    at_peak = [entry for each in peaks for entry in each.get("block_sites") or each["sites"]]
    whole = _named(file, [*grown, *leaks["live_at_exit"], *at_peak])
    held = {}
    for device in desk.ask("source", log, f"--file={whole}")["devices"]:
        for each in device["lines"]:
            if each["self"]["live_bytes"]:
                held[each["line"]] = held.get(each["line"], 0) + each["self"]["live_bytes"]
    growing = _by_line(whole, grown, "bytes_per_step")
    text, why_not = _text(desk.source, whole)
    wanted = _stored(text, names) if names and text else []
    numbers = wanted or _around(line, text) or sorted({*held, *growing})
    chosen, page = answers.paged(numbers, limit, cursor)
    rows = [{"line": number, **({"text": text[number - 1][:LONGEST]} if number <= len(text) else {}),
             **({"peak_bytes": held[number]} if number in held else {}),
             **({"bytes_per_step": growing[number]} if number in growing else {})} for number in chosen]
    pointed = [*wanted, *([line] if line else []), *sorted(held, key=held.get, reverse=True)]
    lines = [{"file": whole, "line": number} for number in dict.fromkeys(pointed)][:3]
    facts = {"file": whole, "lines": lines, "rows": rows, **({"no_text": why_not} if why_not else {})}
    words = "the bytes are counted; that these lines store it is judged from the text" if wanted else \
        "the bytes are counted"
    level = "medium" if wanted else "high" if held or growing else "low"
    return answers.answer(facts, answers.sure(level, words), [desks.cite(log, each["step"]) for each in peaks[:1]],
                          [], page)


def _named(file, entries):
    """The path of a file as the log's stacks name it."""
    every = {frame["file"] for entry in entries for frame in entry.get("stack") or [] if frame["file"]}
    every |= {frames.line_of(entry)["file"] for entry in entries if frames.line_of(entry)}
    ends = sorted((each for each in every if each == file or each.endswith("/" + file.lstrip("/"))), key=len)
    if file in every:
        return file
    if ends:
        return ends[0]
    raise McpError(f"{ascii(file[:200])[1:-1]}: no stack of this log has such a file")


def _by_line(file, entries, figure):
    sums = {}
    for entry in entries:
        found = frames.line_of(entry)
        if found and (found["file"] == file or file.endswith("/" + os.path.basename(found["file"]))):
            sums[found["line"]] = sums.get(found["line"], 0) + entry.get(figure, 0)
    return sums


def _text(source, file):
    """The lines of a file, and why there are none."""
    if source is None:
        return [], "the server was started without --source"
    if not file.endswith(ENDINGS):
        return [], "it does not end as source does"
    parts = [part for part in file.split("/") if part not in ("", ".", "..")]
    for path in [file, *(os.path.join(source, *parts[start:]) for start in range(len(parts)))]:
        real = os.path.realpath(os.path.join(source, path))
        if real.startswith(source + os.sep) and os.path.isfile(real) and real.endswith(ENDINGS):
            with open(real, encoding="utf-8", errors="replace") as opened:
                return opened.read(LARGEST).splitlines(), ""
    return [], "it is not below the folder of --source"


def _around(line, text):
    if not line:
        return []
    return [line] if not text else list(range(max(1, line - AROUND), min(len(text), line + AROUND) + 1)) or [line]


def _stored(text, names):
    """The lines that put something into what has these names, the surest first; names: what holds comes first."""
    scores = {}
    text = _code(text)
    for place, name in [*enumerate(names[:8]), *_aliases(text, names[:8])]:
        for number, line in enumerate(text, 1):
            score = _score(name, line)
            if score:
                scores[number] = max(scores.get(number, 0), score - 3 * place)
    return sorted(scores, key=lambda number: (-scores[number], number))


def _code(text):
    """The lines without comments and, in Python, without docstrings, which often quote code."""
    lines = [line.split("#")[0] for line in text]
    try:
        tree = ast.parse("\n".join(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return lines
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines[node.lineno - 1:node.end_lineno] = [""] * (node.end_lineno - node.lineno + 1)
    return lines


def _aliases(text, names):
    """Variables that stand for a part of one of these: x = names.setdefault(…), x = names[…]."""
    for place, name in enumerate(names):
        if name.endswith("()"):
            continue
        part = rf"\s*(\w+) = (?:\w+\.)*{re.escape(name)}(?:\.setdefault\(|\.get\(|\[)"
        for match in filter(None, (re.match(part, line) for line in text)):
            if match[1] not in names:
                yield place, match[1]


def _score(name, code):
    """How surely a line stores into a variable, or, of f(), hands the function on."""
    if name.endswith("()"):
        word = re.escape(name[:-2])
        handed = re.search(rf"[(,=]\s*(\w+\.)*{word}\s*[,)]", code) and not re.search(rf"\bdef {word}\b", code)
        return 28 if handed else 0
    word = rf"(?<!\w){re.escape(name)}"
    if re.search(rf"{word}(\[[^]]*\])*{_STORES}", code) or re.search(rf"{word}(\[[^]]*\])+\s*=(?!=)", code) \
            or re.search(rf"{word}\s*(\+|\|)=", code):
        return 30
    if re.search(rf"{word}\s*=(?!=).*{word}(?!\w)", code):
        return 30  # made of what it was before
    if re.search(rf"{word}\s*=(?!=)\s*(\[\]|\{{\}}|\(\)|None|\w+\(\)|field)", code):
        return 8  # made, still empty
    return 16 if re.search(rf"{word}\s*=(?!=)", code) else 0
