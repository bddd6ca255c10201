"""The rows of one log, as `memprof fleet rows LOG` prints them."""
import json
import os
import re
import shutil
import subprocess
import tempfile

from . import schema
from .errors import FleetError

_RUN = re.compile(r"[0-9a-f]{32}")
_MOST = 20_000_000  # rows of one log; a thousand times what the largest has


class Unreadable(Exception):
    """A log of which there are no rows; the text says why, in one line."""


def command():
    """The command `memprof`: the one that started us, else the first in PATH (on another host of a cluster)."""
    own = os.environ.get("MEMPROF_COMMAND")
    found = own if own and os.access(own, os.X_OK) else shutil.which("memprof")
    if not found:
        raise FleetError("the command memprof was not found: put it into PATH, or its path into MEMPROF_COMMAND")
    return found


def of(path, name):
    """(run, {table: [row]}) of a local log that is a copy of `name`, or itself."""
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen([command(), "fleet", "rows", "--as=" + name, path], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=errors)
        with child, child.stdout as lines:
            try:
                result, wrong = _parsed(lines)
            except BaseException:
                child.kill()
                raise
            stopped = wrong and lines.read(1)  # it prints still
            if stopped:
                child.kill()
        status = child.returncode
        if status != 0 and not stopped:
            errors.seek(0)
            raise Unreadable(_reason(errors.read(65536), status))
    if wrong:
        raise Unreadable(wrong)
    return result


def _parsed(lines):
    """((run, tables), None), or (None, what is wrong)."""
    first = lines.readline()
    if not first:
        return None, "memprof fleet rows printed nothing"
    try:
        head = json.loads(first)
        run = head["run"]
        if head["schema"] != schema.VERSION:
            return None, f"its rows have version {head['schema']}, and this module writes version {schema.VERSION}"
        if not _RUN.fullmatch(run):
            return None, "the name of its run is no 128 bits in hexadecimal"
        return _tables(lines, run)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        return None, f"its rows cannot be parsed: {type(error).__name__}: {error}"[:300]


def _tables(lines, run):
    tables = {name: [] for name in schema.TABLES}
    count = 0
    for line in lines:
        line = json.loads(line)
        if line.get("end"):
            if line["rows"] != count:
                return None, f"{count} rows came of {line['rows']}"
            if len(tables["runs"]) != 1:
                return None, f"it has {len(tables['runs'])} rows of runs, not one"
            return (run, tables), None
        count += 1
        if count > _MOST:
            return None, f"it has more than {_MOST} rows"
        if line["table"] in tables:  # others are of a newer memprof
            tables[line["table"]].append(dict(line["row"]))
    return None, "its rows ended early"


def _reason(errors, status):
    lines = [line.strip() for line in errors.decode("utf-8", "replace").splitlines() if line.strip()]
    said = re.sub(r"^memprof( [a-z]+)*: ", "", lines[-1])[:300] if lines else ""
    if status < 0:
        return f"memprof fleet rows was ended by signal {-status}" + (f": {said}" if said else "")
    return said or f"memprof fleet rows ended with status {status}"
