"""One figure of a job, rank by step: a line of JSON, then rows × columns doubles. docs/fleet.md has the format.

The work is DuckDB's: no loop of Python is over cells. A rank's distance is a robust z, as in questions/outliers.sql: its
value at a step less the median of its stage, by 1.4826 × the median of these distances (at least 1 % of the median).
The median of that over an eighth of the job's steps is what counts, and of the eighths the one that is farthest: a leak
that begins late is found, a single odd step is not. The typical rank is nearest to the medians on average.
"""
import json
import struct
import sys

from . import engines, storage
from .errors import FleetError, needed

FIGURES = {"allocated_peak": "bytes", "peak": "bytes", "reserved_peak": "bytes", "allocated_end": "bytes",
           "reserved_end": "bytes", "duration": "ns"}
MOST_COLUMNS = 4096
MOST_CELLS = 1 << 26
WINDOWS = 8
PEERS = 4  # as the questions: a stage of fewer ranks has no outliers
BLOCK = 1 << 20  # cells at a time, where DuckDB has to keep them in memory

_JOBS = """
SELECT coalesce(job, '') AS job, attempt_no, min(day), count(*), coalesce(max(steps), 0)
FROM runs GROUP BY 1, 2 ORDER BY max(start_unix) DESC NULLS LAST, 1, 2 DESC"""

_RANKS = """
CREATE OR REPLACE TEMP TABLE ranks AS
SELECT CAST(row_number() OVER (ORDER BY rank NULLS LAST, run) - 1 AS INTEGER) AS id, run, device, stage, rank, host, log
FROM runs WHERE coalesce(job, '') = $job AND attempt_no = $attempt"""

_VALUES = """
CREATE OR REPLACE TEMP TABLE found AS
SELECT r.id, s.step, CAST(s.{figure} AS DOUBLE) AS value FROM rank_step AS s
JOIN ranks AS r ON r.run = s.run AND r.device = s.device
WHERE s.{figure} IS NOT NULL AND s.step BETWEEN -9007199254740992 AND 9007199254740992"""

# Medians keep their values in memory, so that these are made for a part of the columns or ranks at a time.
_TABLES = """
CREATE OR REPLACE TEMP TABLE cells (id INTEGER, col INTEGER, value DOUBLE);
CREATE OR REPLACE TEMP TABLE middles (stage BIGINT, col INTEGER, middle DOUBLE);
CREATE OR REPLACE TEMP TABLE scales (stage BIGINT, col INTEGER, middle DOUBLE, scale DOUBLE);
CREATE OR REPLACE TEMP TABLE parts (id INTEGER, part INTEGER, z DOUBLE, away DOUBLE, steps BIGINT)"""

_CELLS = """
INSERT INTO cells SELECT id, CAST((step - {first}) // {stride} AS INTEGER) AS col, max(value)
FROM found WHERE id >= {begin} AND id < {end} GROUP BY id, col"""

_MIDDLES = """
INSERT INTO middles SELECT stage, col, median(value)
FROM cells JOIN ranks USING (id) WHERE col >= {begin} AND col < {end} GROUP BY stage, col HAVING count(*) >= {peers}"""

_SCALES = """
INSERT INTO scales SELECT stage, col, any_value(middle),
       greatest(1.4826 * median(abs(value - middle)), 0.01 * abs(any_value(middle)), 1)
FROM cells JOIN ranks USING (id) JOIN middles USING (stage, col) WHERE col >= {begin} AND col < {end} GROUP BY stage, col"""

_PARTS = """
INSERT INTO parts SELECT id, col * {windows} // {columns} AS part, median((value - middle) / scale),
       sum(abs(value - middle) / scale), count(*)
FROM cells JOIN ranks USING (id) JOIN scales USING (stage, col) WHERE id >= {begin} AND id < {end} GROUP BY id, part"""

_ORDERED = """
CREATE OR REPLACE TEMP TABLE ordered AS
WITH judged AS (
  SELECT id, arg_max(z, abs(z)) AS distance, sum(away) / sum(steps) AS away, sum(steps) AS steps FROM parts GROUP BY id
)
SELECT r.*, j.distance, j.away, j.steps,
       CAST(row_number() OVER (ORDER BY abs(j.distance) DESC NULLS LAST, id) - 1 AS INTEGER) AS place
FROM ranks AS r LEFT JOIN judged AS j USING (id)"""

# Of each stage the two best: the typical rank has one too. One that ended early is typical of no end.
_TYPICAL = """
SELECT stage, place FROM (
  SELECT stage, place, row_number() OVER (PARTITION BY stage ORDER BY steps >= whole DESC, away, id) AS n
  FROM (SELECT *, median(steps) OVER (PARTITION BY stage) AS whole FROM ordered WHERE distance IS NOT NULL) AS o
) AS t WHERE n <= 2 ORDER BY stage, n"""

_BLOCK = """
SELECT coalesce(c.value, CAST('nan' AS DOUBLE)) AS value
FROM range({begin} * {columns}, {end} * {columns}) AS every(spot) LEFT JOIN (
  SELECT CAST(place AS BIGINT) * {columns} + col AS spot, value FROM cells JOIN ordered USING (id)
  WHERE place >= {begin} AND place < {end}
) AS c USING (spot) ORDER BY spot"""


def run(options):
    needed("pyarrow")
    if storage.is_uri(options.output):
        raise FleetError(f"{options.output}: name a file of this machine")
    whole = engines.Fleet([options.fleet], (), options.since, options.until)
    engine = engines.DuckDB(whole, options)
    jobs = [dict(zip(("job", "attempt", "day", "ranks", "steps"), row)) for row in engine.rows(_JOBS)]
    job, attempt = _chosen(jobs, options)
    engine.rows(_RANKS, {"job": job, "attempt": attempt})
    figure = options.figure or ("allocated_peak" if engine.rows(_FRAMEWORK)[0][0] else "peak")
    part = engines.Fleet([options.fleet], [job], options.since, options.until)
    engine.read({"rank_step"}, lambda: engine.rows(_VALUES.format(figure=figure)), part)
    head = {"grid": 1, "job": job, "attempt": attempt, "figure": figure, "unit": FIGURES[figure], "jobs": jobs,
            "figures": list(FIGURES), **_order(engine)}
    _write(options.output, _line(head), _cells(engine, len(head["rows"]), head["columns"]))
    return 0


_FRAMEWORK = "SELECT count(*) > 0 FROM runs JOIN ranks USING (run) WHERE runs.allocated_peak > 0"


def _chosen(jobs, options):
    if not jobs:
        raise FleetError(f"{options.fleet}: no process of these days is here")
    fit = [one for one in jobs if options.job in (None, one["job"])]
    if not fit:
        raise FleetError(f"{options.fleet}: no job is named {options.job}; the last one is {jobs[0]['job']}")
    of_job = [one for one in fit if one["job"] == fit[0]["job"]]
    fit = [one for one in of_job if options.attempt in (None, one["attempt"])]
    if not fit:
        raise FleetError(f"{options.fleet}: job {of_job[0]['job']} has no attempt {options.attempt}, but "
                         f"{', '.join(str(one['attempt']) for one in of_job)}")
    return fit[0]["job"], fit[0]["attempt"]


def _order(engine):
    """The columns and the rows in their order; the tables `ordered` and `sorted`."""
    first, last, ranks = engine.rows("SELECT min(step), max(step), (SELECT count(*) FROM ranks) FROM found")[0]
    most = max(1, min(MOST_COLUMNS, MOST_CELLS // ranks))
    stride = 1 if first is None else -(-(last - first + 1) // most)
    columns = 0 if first is None else (last - first) // stride + 1
    numbers = {"first": first or 0, "stride": stride, "columns": max(1, columns), "windows": WINDOWS, "peers": PEERS}
    engine.rows(_TABLES)
    for sql, size, other in ((_CELLS, ranks, columns), (_MIDDLES, columns, ranks), (_SCALES, columns, ranks),
                             (_PARTS, ranks, columns)):
        for begin, end in _blocks(size, other):
            engine.rows(sql.format(begin=begin, end=end, **numbers))
        if sql is _CELLS:
            engine.rows("DROP TABLE found")
    engine.rows(_ORDERED)
    best = {}
    for stage, place in engine.rows(_TYPICAL):
        best.setdefault(stage, []).append(place)
    rows = []
    for rank, stage, host, device, log, run_, distance, place in engine.rows(
            "SELECT rank, stage, host, device, log, run, distance, place FROM ordered ORDER BY place"):
        rows.append({"rank": rank, "stage": None if stage < 0 else stage, "host": host, "device": device, "log": log,
                     "run": run_, "distance": distance,
                     "typical": next((one for one in best.get(stage, ()) if one != place), None)})
    return {"first_step": first or 0, "step_stride": stride, "columns": columns, "rows": rows}


def _blocks(size, other):
    """Parts of `size` rows or columns with about BLOCK cells each, if the other side has `other`."""
    step = max(1, BLOCK // max(1, other))
    return [(begin, min(size, begin + step)) for begin in range(0, size, step)]


def _line(head):
    """With blanks, so that the grid begins at a multiple of 8."""
    text = json.dumps(head, allow_nan=False).encode("ascii")
    return text + b" " * (-(len(text) + 1) % 8) + b"\n"


def _cells(engine, rows, columns):
    """The bytes of the grid, piece by piece."""
    written, count = 0, rows * columns
    for begin, end in _blocks(rows, columns) if columns else ():
        for batch in engine.batches(_BLOCK.format(begin=begin, end=end, columns=columns)):
            column = batch.column(0)
            written += len(column)
            yield _little(memoryview(column.buffers()[1])[8 * column.offset:8 * (column.offset + len(column))])
    if written != count:
        raise FleetError(f"DuckDB gave {written} of {count} cells")


def _little(buffer):
    if sys.byteorder == "little":
        return buffer
    return struct.pack(f"<{len(buffer) // 8}d", *buffer.cast("d"))


def _write(path, line, pieces):
    def fill(file):
        file.write(line)
        for piece in pieces:
            file.write(piece)

    if path == "-":
        fill(sys.stdout.buffer)
        return
    path = storage.cleaned(path)
    try:
        storage.Local().fill(path, fill)
    except OSError as error:
        raise storage.refused(path, "written", error) from None
