"""The text of source files: read only of files that lie below the folder that the user named and that end as source does;
else what the log itself keeps of them (memprof run --sources)."""
import os

from .errors import McpError

ENDINGS = (".py", ".pyx", ".cc", ".cpp", ".cxx", ".c", ".h", ".hpp", ".cu", ".cuh", ".rs", ".jl")
LARGEST = 1 << 20


def lines(desk, log, file):
    """The lines of a file that the log names, and why there are none."""
    if not file.endswith(ENDINGS):
        return [], "it does not end as source does"
    path = _below(desk.source, file) if desk.source else None
    if path:
        with open(path, encoding="utf-8", errors="replace") as opened:
            return opened.read(LARGEST).splitlines(), ""
    kept = _kept(desk, log, file)
    if kept:
        return kept, ""
    return [], "it is not below the folder of --source" if desk.source else "the server was started without --source"


def _below(source, file):
    parts = [part for part in file.split("/") if part not in ("", ".", "..")]
    for path in [file, *(os.path.join(source, *parts[start:]) for start in range(len(parts)))]:
        real = os.path.realpath(os.path.join(source, path))
        if real.startswith(source + os.sep) and os.path.isfile(real) and real.endswith(ENDINGS):
            return real
    return None


def _kept(desk, log, file):
    try:
        return desk.ask("source", log, f"--file={file}").get("kept_lines") or []
    except McpError:  # no stack names it, or more than one file
        return []
