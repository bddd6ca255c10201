"""Source lines in what the verbs say: of a site's text, of a stack, of a holder's path."""
import os
import re

_PLACE = re.compile(r"([^\s()`,]+):(\d+)")
_ASSIGNED = re.compile(r"assigned at ([^\s()`,]+):(\d+)")
_NAME = re.compile(r"`([^`]*)`")
_PACKAGES = ("site-packages/", "dist-packages/")
_FOREIGN = ("/usr/", "../sysdeps/", "../csu/", "./nptl/", "<")
_FOREIGN_MODULES = ("libc.so", "libcuda", "libtorch", "libc10", "libpython", "libstdc++", "libffi", "_ctypes")
_WORDS = {"list", "dict", "state", "keys", "values", "items", "self", "grad", "data"}


def line_of(entry):
    """The line of the user's program that an entry of a verb is about: {file, line}, or None."""
    frame = entry.get("site_frame")
    if frame and frame.get("line"):
        return _line(frame["file"], frame["line"], frame["function"])
    match = _PLACE.search(entry.get("site") or "")
    if not match:
        return None
    file, line = match[1], int(match[2])
    # The site's text has the end of the path; the stack has all of it.
    for frame in entry.get("stack") or []:
        if frame["line"] == line and os.path.basename(frame["file"]) == os.path.basename(file):
            return _line(frame["file"], line, frame["function"])
    return _line(file, line, None)


def _line(file, line, function):
    return {"file": file, "line": line, **({"function": function} if function else {})}


def lines_of(entries, most=3):
    """The lines that an answer points at, the likeliest first."""
    lines = []
    for entry in entries:
        line = line_of(entry)
        if line and not any(same_line(line, each) for each in lines):
            lines.append(line)
    return lines[:most]


def same_line(one, other):
    return one["line"] == other["line"] and os.path.basename(one["file"]) == os.path.basename(other["file"])


def own_stack(entry, most=6):
    """The frames of the user's own program, from the innermost, as file:line function."""
    frames = [frame for frame in entry.get("stack") or [] if frame["line"] and _own(frame)]
    return [f"{frame['file']}:{frame['line']} {frame['function']}" for frame in frames[:most]]


def _own(frame):
    return not (frame["file"].startswith(_FOREIGN) or any(part in frame["file"] for part in _PACKAGES)
                or frame["module"].startswith(_FOREIGN_MODULES))


def holder_lines(holder, site):
    """Where a holder was made or assigned, by its path: the container first, then what leads to it."""
    text = holder.get("path", "")
    matches = [*_ASSIGNED.findall(text), *_PLACE.findall(text)]
    folder = os.path.dirname(site["file"]) if site else ""
    lines = []
    for file, line in matches:
        # Paths name files shortly; the allocation's file is known in full.
        whole = site["file"] if site and os.path.basename(site["file"]) == os.path.basename(file) else \
            file if os.path.isabs(file) else os.path.join(folder, file)
        each = {"file": whole, "line": int(line)}
        if not any(same_line(each, other) for other in lines):
            lines.append(each)
    return lines


def holder_names(holder):
    """What to look for in the source, the surest first: identifiers of a holder's path, and functions, as f()."""
    own, *outer = holder.get("path", "").split(", held by ")
    functions = [f"{name}()" for name in re.findall(r"(?:argument of|closure) (?:[\w<>]+\.)*(\w+)\(\)", own)]
    given = re.findall(r"callback of (\w+)", own)
    # An argument's or a closure's own name says less than what holds the function.
    parts = [*outer[:1], own] if outer and functions else [own, *outer[:1]]
    names = [*given]
    for part in parts:
        for text in _NAME.findall(part)[:2]:
            names += reversed(re.findall(r"[A-Za-z_]\w*", re.sub(r"\[[^]]*\]", "", text)))
    names = [name for name in names if name not in _WORDS and not name.startswith("__")]
    return list(dict.fromkeys([*given, *functions, *names]))[:6]


def alike(holders):
    """Holders whose paths differ by keys and places in containers alone, as one, that with most memory first."""
    groups = {}
    for holder in holders:
        key = re.sub(r"\[[^]]*\]", "[…]", holder["path"])
        group = groups.setdefault(key, {**holder, "bytes": 0, "blocks": 0, "alike": 0})
        group["bytes"] += holder["bytes"]
        group["blocks"] += holder["blocks"]
        group["alike"] += 1
    return sorted(groups.values(), key=lambda group: -group["bytes"])
