"""Source lines in what the verbs say: of a site's text, of a stack, of a holder's path."""
import os
import re

from . import stores

_PLACE = re.compile(r"([^\s()`,]+):(\d+)")
_ASSIGNED = re.compile(r"assigned at ([^\s()`,]+):(\d+)")
_NAME = re.compile(r"`([^`]*)`")
_FUNCTIONS = re.compile(r"(?:argument of|partial of|closure|bound method) (?:[\w<>]+\.)*(\w+)\(\)")
_GENERATORS = re.compile(r"(?:generator|coroutine) (?:[\w<>]+\.)*(\w+)\(\)")
_CACHES = re.compile(r"cache of `(?:[\w<>]+\.)*(\w+)\(\)")
_LOCALS = re.compile(r"local `(\w+)[^`]*` of (?:[\w<>]+\.)*(\w+)\(\)")
_FOREIGN = ("/usr/", "../sysdeps/", "../csu/", "./nptl/", "<")
_FOREIGN_MODULES = ("libc.so", "libcuda", "libtorch", "libc10", "libpython", "libstdc++", "libffi", "_ctypes")


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
    return [f"{line['file']}:{line['line']} {line.get('function', '')}" for line in own_lines(entry)[:most]]


def own_lines(entry):
    """The lines of the user's own program on the stack, from the innermost."""
    return [_line(frame["file"], frame["line"], frame["function"])
            for frame in entry.get("stack") or [] if frame["line"] and _own(frame)]


def _own(frame):
    return not (frame.get("package") or frame["file"].startswith(_FOREIGN) or frame["module"].startswith(_FOREIGN_MODULES))


def assigned_lines(holder, site):
    """Where the process itself saw that a holder was assigned."""
    return _whole(_ASSIGNED.findall(holder.get("path", "")), site)


def holder_lines(holder, site):
    """The lines that a holder's path names: where it was assigned, then what leads to it."""
    text = holder.get("path", "")
    return _whole([*_ASSIGNED.findall(text), *_PLACE.findall(text)], site)


def _whole(matches, site):
    """Paths name files shortly; the allocation's file is known in full."""
    folder = os.path.dirname(site["file"]) if site else ""
    lines = []
    for file, line in matches:
        whole = site["file"] if site and os.path.basename(site["file"]) == os.path.basename(file) else \
            file if os.path.isabs(file) else os.path.join(folder, file)
        each = {"file": whole, "line": int(line)}
        if not any(same_line(each, other) for other in lines):
            lines.append(each)
    return lines


def holder_names(holder, text=()):
    """What to look for in the source, the surest first: identifiers of a holder's path, and functions: f() where one is
    handed on, f(...) where one is called, @f where its results are cached. text: the source, which tells a function's
    parameters from its other locals."""
    head, _, loop = holder.get("path", "").partition(", in a cycle that waits for the collector: ")
    saved, _, graph = head.partition(" for the graph of ")
    own, *outer = (graph or saved).split(", held by ")
    # Of a cycle, what closes it is to be changed, not what hangs on it.
    edges = loop.rsplit(" is this ", 1)[0].split(", held by ") if loop else []
    functions = [f"{name}()" for part in (*edges, own, *outer) for name in _FUNCTIONS.findall(part)]
    functions += [word for name in _CACHES.findall(head) for word in (f"@{name}", f"{name}()")]
    functions += [f"{name}(...)" for part in (*edges, own, *outer) for name in _GENERATORS.findall(part)]
    callees = [f"{name}(...)" for variable, name in _LOCALS.findall(head) if stores.takes(text, name, variable)]
    given = re.findall(r"callback of (\w+)", own)
    names = []
    for part in (*reversed(edges), own, *outer):
        for quoted in _NAME.findall(part)[:2]:
            names += reversed(re.findall(r"[A-Za-z_]\w*\b(?!\()", re.sub(r"\[[^]]*\]", "", quoted)))
    names = [name for name in names if name != "self" and not name.startswith("__")]
    closing = names[:1] if edges else []
    selves = [f"self@{name}" for name in dict.fromkeys(re.findall(r"[A-Za-z_]\w*", loop.rpartition("(")[2]))]
    # What is in an object of native code was given to one of its functions.
    inside = [f"{name}.*" for name in re.findall(r"(\w+)`", outer[0])[:1]] if outer and own.startswith("object of") else []
    return list(dict.fromkeys([*given, *closing, *functions, *inside, *names, *callees, *selves]))


def without_keys(path):
    """A holder's path without keys and places in containers."""
    return re.sub(r"\[[^]]*\]", "[…]", path)


def alike(holders):
    """Holders whose paths differ by keys and places in containers alone, as one, that with most memory first."""
    groups = {}
    for holder in holders:
        key = without_keys(holder["path"])
        group = groups.setdefault(key, {**holder, "bytes": 0, "blocks": 0, "alike": 0})
        group["bytes"] += holder["bytes"]
        group["blocks"] += holder["blocks"]
        group["alike"] += 1
    return sorted(groups.values(), key=lambda group: -group["bytes"])
