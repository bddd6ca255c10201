"""Rows of one log, as Parquet files. The same rows give the same bytes."""
import io

from . import names, schema
from .errors import FleetError, needed

_MARKS = {"text": "string", "i64": "int64", "f64": "float64", "bool": "bool_", "bytes": "int64", "ns": "int64"}


def arrow_schema(table):
    pa = needed("pyarrow")
    return pa.schema([(name, getattr(pa, _MARKS[kind])()) for name, kind, _ in schema.columns(table)])


def _value(value, kind):
    """As the column has it; text that is no UTF-8 has been in somebody's command line, and is no reason to fail."""
    if value is None:
        return None
    if kind == "text":
        if not isinstance(value, str):
            raise TypeError(f"{value!r:.40} is no text")
        return value.encode("utf-8", "replace").decode().replace("\0", "")
    if kind == "bool":
        if not isinstance(value, bool):
            raise TypeError(f"{value!r:.40} is neither true nor false")
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{value!r:.40} is no number")
    if kind == "f64":
        return float(value)
    if value != int(value) or not -(2**63) <= value < 2**63:
        raise TypeError(f"{value!r:.40} is no 64-bit integer")
    return int(value)


def parquet(table, run, rows):
    """The bytes of a file with these rows, which are dictionaries; columns that are unknown here are left out."""
    pa = needed("pyarrow")
    pq = needed("pyarrow.parquet")
    arrays = [pa.array([run] * len(rows), pa.string())]
    wanted = arrow_schema(table)
    for (name, kind, _), field in zip(schema.TABLES[table], list(wanted)[1:]):
        try:
            arrays.append(pa.array([_value(row.get(name), kind) for row in rows], field.type))
        except (TypeError, OverflowError, ValueError) as error:
            raise ValueError(f"{table}.{name}: {error}") from None
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(arrays, schema=wanted), stream, compression="zstd", store_schema=False)
    return stream.getvalue()


def read(table, place, path, rows=122_880, strict=False):
    """The rows of a file as this version has its columns, in batches; others are left out, or are an error."""
    pa, pq = needed("pyarrow"), needed("pyarrow.parquet")
    file, wanted = pq.ParquetFile(io.BytesIO(place.read(path))), arrow_schema(table)
    have = set(file.schema_arrow.names)
    if strict and have - set(wanted.names):
        raise FleetError(f"{path}: a newer memprof wrote it, and has to read it")
    columns = [field.name for field in wanted if field.name in have]
    for batch in file.iter_batches(rows, columns=columns, use_threads=False):
        yield pa.RecordBatch.from_arrays([batch[field.name].cast(field.type) if field.name in have else
                                          pa.nulls(len(batch), field.type) for field in wanted], schema=wanted)


def _events(content):
    """(events, duration) of a file of `runs`: how much of the process its log had."""
    pq = needed("pyarrow.parquet")
    row = pq.read_table(io.BytesIO(content), columns=["events", "duration"]).to_pylist()[0]
    return row["events"] or 0, row["duration"] or 0


def write(place, root, run, tables):
    """Writes the tables {name: rows} of one process; says whether anything changed.

    `runs` is written last, and readers take no rows of a run that is not in it: so the tables of a map that was killed
    are not read. It is removed first where the run had been mapped from less of its log. A copy of a log that was cut
    does not replace the whole one.
    """
    about = tables["runs"][0]
    day, job = names.date(about.get("start_unix")), about.get("job")

    def path(table):
        return f"{names.folder(root, table, day, job)}/{run}.parquet"

    content = {table: parquet(table, run, rows) for table, rows in tables.items() if rows}
    had = place.read(path("runs")) if place.exists(path("runs")) else None
    if had == content["runs"] and all(_has(place, path(table), content.get(table)) for table in schema.TABLES):
        return False
    if had is not None:
        if _events(had) > _events(content["runs"]):
            return False
        place.remove(path("runs"))
    for table in schema.TABLES:
        if table == "runs":
            continue
        if table in content:
            place.write(path(table), content[table])
        elif had is not None:
            place.remove(path(table))
    place.write(path("runs"), content["runs"])
    return True


def _has(place, path, content):
    """Whether the file has this content; None is no file."""
    if content is None:
        return not place.exists(path)
    return place.exists(path) and place.read(path) == content
