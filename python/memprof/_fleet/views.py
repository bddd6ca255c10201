"""The views of which the questions are asked: the tables, each process once.

A process may be in a fleet twice: its log was copied, or its job has two names. `chosen` has its fullest mapping, and
every other view only has the rows of that one. So the tables of a map that was killed are not read either: it had not
written `runs`. SQL that DuckDB and Spark both take.
"""
import re

from . import schema

# Columns of the view `runs` that its table does not have.
DERIVED = (
    ("day", "text", "of its start, in UTC: 2026-11-26"),
    ("attempt_no", "i64", "`attempt`, 0 if nothing tells"),
    ("stage", "i64", "`pipeline_rank`, -1 if nothing tells: ranks of one job, attempt and stage are peers"),
)

# The files of a table have their paths as `place`. Those of one process have the same end in every table;
# a file may have several processes (compact.py).
CHOSEN = """
SELECT run, substr(place, 1, length(place) - length(tail) - 5) AS root, tail
FROM (SELECT run, place, regexp_extract(place, '[/]runs(/date=[^/]*/job=[^/]*/[^/]*)$', 1) AS tail,
             row_number() OVER (PARTITION BY run ORDER BY events DESC NULLS LAST, duration DESC NULLS LAST, place) AS n
      FROM files_runs) AS mapped
WHERE n = 1"""

_RUNS = """
SELECT {columns}, regexp_extract(c.tail, 'date=([^/]*)', 1) AS day, coalesce(t.attempt, 0) AS attempt_no,
       coalesce(t.pipeline_rank, -1) AS stage
FROM files_runs AS t JOIN chosen AS c ON t.run = c.run AND t.place = concat(c.root, '/runs', c.tail)"""

_OTHER = """
SELECT {columns}
FROM files_{table} AS t JOIN chosen AS c ON t.run = c.run AND t.place = concat(c.root, '/{table}', c.tail)"""

# Every site once: it is the same in all ranks, so any of its rows tells its name.
_SITES = """
SELECT site, min(key) AS key, min(name) AS name, min(function) AS function, min(file) AS file, min(line) AS line,
       min(library) AS library
FROM files_sites GROUP BY site"""


def read_by(sql):
    """The tables that a question reads, but `runs`, which is always there."""
    return {table for table in schema.TABLES if table != "runs" and re.search(rf"\b(FROM|JOIN) {table}\b", sql)}


def view(table):
    """The SQL of a view; `chosen` and files_TABLE must be there."""
    if table == "sites":
        return _SITES
    columns = ", ".join(f"t.{name}" for name, _, _ in schema.columns(table))
    return (_RUNS if table == "runs" else _OTHER).format(columns=columns, table=table)
