"""What a log says about one part of its time, from `memprof export --to=sqlite` and the verbs' JSON."""

import array
import bisect
import json
import logging
import os
import sqlite3
import subprocess
import tempfile

from . import _command

_SECONDS = 120  # The longest that one verb may take: a training waits for it.
_SITES = 20

# Memory in use, each byte once: the blocks of a framework's allocator, and what the driver gave for other purposes.
_USED = """CREATE TEMP TABLE used AS
  SELECT device, bytes, birth_ns, birth_event, death_ns, death_event, stack, on_device
  FROM allocations WHERE layer = 'block' OR (on_device AND allocation NOT IN
    (SELECT parent FROM allocations WHERE layer = 'segment' AND parent IS NOT NULL))"""
_CHANGES = """SELECT birth_event AS event, birth_ns AS time, bytes FROM {0} WHERE device = ?1 {1}
  UNION ALL SELECT death_event, death_ns, -bytes FROM {0} WHERE device = ?1 AND death_event IS NOT NULL {1}
  ORDER BY event"""
_LIVE = """SELECT coalesce(site, '(unknown)'), sum(bytes), count(*) FROM used LEFT JOIN stacks USING (stack)
  WHERE device = ?1 AND birth_event <= ?2 AND (death_event IS NULL OR death_event > ?2)
  GROUP BY site ORDER BY sum(bytes) DESC LIMIT ?3"""


def run(command, *arguments):
    """The standard output of the command, or None, after a line to the logger, if it failed."""
    try:
        done = _command.run(command, arguments, _SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        logging.getLogger("memprof").warning("memprof: %s", error)
        return None
    if done.returncode != 0:
        said = done.stderr.strip()
        logging.getLogger("memprof").warning("memprof %s: %s", arguments[0], said.split("\n")[0])
        return None
    return done.stdout


def verb(command, *arguments):
    """The JSON object that a verb prints, or an empty one if it failed."""
    text = run(command, *arguments, "--json")
    return {} if text is None else json.loads(text)


class _Level:
    """The bytes that a device held over time."""

    def __init__(self, rows):
        self.times, self.events, self.bytes = (array.array("q") for _ in "abc")
        held = 0
        for event, time, change in rows:
            held += change
            self.times.append(time)
            self.events.append(event)
            self.bytes.append(held)

    def highest(self, begin, end):
        """(bytes, event) of the highest level from begin to end, with what was held when it began."""
        first = max(bisect.bisect_right(self.times, begin) - 1, 0)
        last = bisect.bisect_right(self.times, end)
        at = max(range(first, last), key=self.bytes.__getitem__, default=None)
        return (0, -1) if at is None else (self.bytes[at], self.events[at])


def _steps(database, begin, end):
    return [row[0] for row in database.execute(
        "SELECT step FROM steps WHERE begin_ns <= ? AND coalesce(end_ns, begin_ns) >= ? ORDER BY begin_ns",
        (end, begin))]


def _look(database, begin, end, phases):
    database.execute(_USED)
    found = {"peaks": [], "phases": {}, "steps": _steps(database, begin, end)}
    ranges = [row for row in database.execute(
        "SELECT name, begin_ns, coalesce(end_ns, ?1) FROM ranges WHERE begin_ns >= ?2 AND begin_ns <= ?1", (end, begin))
              if row[0] in phases]
    for (device,) in database.execute("SELECT DISTINCT device FROM used WHERE device >= 0").fetchall():
        level = _Level(database.execute(_CHANGES.format("used", ""), (device,)))

        def at(begin, end, device=device, level=level):
            most, event = level.highest(begin, end)
            sites = [{"site": site, "bytes": size, "blocks": blocks}
                     for site, size, blocks in database.execute(_LIVE, (device, event, _SITES))]
            step = database.execute("SELECT step FROM events WHERE event = ?", (event,)).fetchone()
            return {"device": device, "peak_bytes": most, "step": step[0] if step else -1, "sites": sites}

        driver = _Level(database.execute(_CHANGES.format("allocations", "AND on_device"), (device,)))
        found["peaks"].append(dict(at(begin, end), driver_peak_bytes=driver.highest(begin, end)[0]))
        for name in sorted({row[0] for row in ranges}):
            times = [row[1:] for row in ranges if row[0] == name]
            begun, ended = max(times, key=lambda span: level.highest(*span)[0])
            old = found["phases"].get(name)
            new = dict(at(begun, ended), times=len(times))
            if old is None or old["peak_bytes"] < new["peak_bytes"]:
                found["phases"][name] = new
    found["peaks"].sort(key=lambda peak: -peak["peak_bytes"])
    return found


def read(command, log, begin, end, phases):
    """`peaks` (one for each device, the highest first), `phases` (by name: the device and time with the highest peak)
    and `steps` (numbers) from begin to end, in the nanoseconds of the monotonic clock."""
    nothing = {"peaks": [], "phases": {}, "steps": []}
    with tempfile.TemporaryDirectory(prefix="memprof.") as folder:
        path = os.path.join(folder, "log.db")
        if run(command, "export", "--to=sqlite", "-o", path, log) is None:
            return nothing
        database = sqlite3.connect(path)
        try:
            return _look(database, begin, end, phases)
        finally:
            database.close()
