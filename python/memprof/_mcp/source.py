"""Lines of the program's source with the bytes that the log says of them."""
import os

from . import answers, desk as desks, frames, ranking, source_text, stores
from .errors import McpError

AROUND = 4
LONGEST = 160
MOST_RANKED = 6


def source_lines(desk, log, file, line, names, leak, limit, cursor):
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
    text, why_not = source_text.lines(desk, log, whole)
    ranked = _ranked(desk, log, leak)
    wanted = stores.stored(text, names) if names and text else \
        [each["line"] for each in ranked if frames.same_line({**each, "file": whole}, each)][:MOST_RANKED]
    first = line or (wanted[0] if wanted and leak is not None else None)
    numbers = list(dict.fromkeys([*wanted, *([] if names and wanted else _around(first, text))])) or \
        sorted({*held, *growing})
    chosen, page = answers.paged(numbers, limit, cursor)
    rows = [{"line": number, **({"text": text[number - 1][:LONGEST]} if number <= len(text) else {}),
             **({"peak_bytes": held[number]} if number in held else {}),
             **({"bytes_per_step": growing[number]} if number in growing else {})} for number in chosen]
    pointed = [*wanted, *([line] if line else []), *sorted(held, key=held.get, reverse=True)]
    lines = ranked[:3] if ranked else [{"file": whole, "line": number} for number in dict.fromkeys(pointed)][:3]
    facts = {"file": whole, "lines": lines, "rows": rows, **({"no_text": why_not} if why_not else {})}
    words = "the bytes are counted; that these lines store it is judged from the text" if wanted else \
        "the bytes are counted"
    level = "medium" if wanted else "high" if held or growing else "low"
    return answers.answer(facts, answers.sure(level, words), [desks.cite(log, each["step"]) for each in peaks[:1]],
                          [], page)


def _ranked(desk, log, leak):
    if leak is None:
        return []
    if not 0 <= leak < len(desk.kept(log)):
        raise McpError(f"there is no leak {leak}: 'leaks' lists {len(desk.kept(log))}, from 0")
    return ranking.of_kept(desk, log, leak)


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


def _around(line, text):
    if not line:
        return []
    return [line] if not text else list(range(max(1, line - AROUND), min(len(text), line + AROUND) + 1)) or [line]
