"""Few large files instead of many small ones: engines open each file, and stores of objects bill each request.

The files of all processes of one day and job become one file a table, merged-HASH.parquet, as long as they are small.
It may be killed at any time: `runs` is written last, so that nobody reads the other tables before (views.py); then a
process is in the fleet twice, which counts once. The files that are to go are listed in _merged/ before the first one
goes, so that the next time finishes it; one that was written again meanwhile is not removed.
"""
import contextlib
import hashlib
import io
import json
import tempfile

from . import names, schema, storage, writer
from .errors import FleetError, needed

MERGED = "_merged"
LARGE = 256 << 20  # bytes of all tables that become one file each
_ROWS = 122_880  # of a row group; DuckDB reads one a thread


def _files(place, root, part):
    """{name: {table: (path, size, version)}} of what is mapped in a part, DAY/JOB: names are the same in all tables."""
    found = {}
    for table in ("runs", *schema.TABLES):  # runs first: others without it are of a map that was killed, or that still works
        for file in place.files(f"{root}/{table}/{part}"):
            name = file[0].rsplit("/", 1)[-1]
            if not name.endswith(".parquet") or name.startswith("."):
                continue
            if table == "runs" or name in found:
                found.setdefault(name, {})[table] = file
            elif name.startswith("merged-"):  # of a compact that was killed
                place.remove(file[0])
    return found


def _bytes(files):
    return sum(size for _, size, _ in files.values())


def _chosen(place, files):
    """{name: [run]} of the processes whose fullest mapping a file has: as views.CHOSEN."""
    pq = needed("pyarrow.parquet")
    best = {}
    for name in sorted(files):
        rows = pq.read_table(io.BytesIO(place.read(files[name]["runs"][0])), columns=["run", "events", "duration"])
        for row in rows.to_pylist():
            key = tuple(-1 if row[column] is None else row[column] for column in ("events", "duration"))
            if row["run"] not in best or key > best[row["run"]][0]:
                best[row["run"]] = key, name
    found = {name: set() for name in files}
    for run, (_, name) in best.items():
        found[name].add(run)
    return found


def _batches(place, table, files, chosen):
    """The rows of a table in some files that count."""
    pa, pc = needed("pyarrow"), needed("pyarrow.compute")
    for name, tables in sorted(files.items()):
        if table in tables and chosen[name]:
            for batch in writer.read(table, place, tables[table][0], _ROWS, strict=True):
                yield pa.Table.from_batches([batch.filter(pc.is_in(batch["run"], pa.array(sorted(chosen[name]))))])


def _merge(place, table, files, chosen, target):
    pa, pq = needed("pyarrow"), needed("pyarrow.parquet")
    with tempfile.NamedTemporaryFile(prefix="memprof-fleet-") as part:
        with pq.ParquetWriter(part.name, writer.arrow_schema(table), compression="zstd", store_schema=False) as out:
            waiting, rows = [], 0
            for batch in _batches(place, table, files, chosen):
                waiting.append(batch)
                rows += len(batch)
                if rows >= _ROWS:
                    out.write_table(pa.concat_tables(waiting), _ROWS)
                    waiting, rows = [], 0
            if waiting:
                out.write_table(pa.concat_tables(waiting), _ROWS)
        place.put(part.name, target)


def _groups(files):
    """Names of small files, as many together as are large."""
    group, size = [], 0
    for name in sorted(files):
        own = _bytes(files[name])
        if own >= LARGE // 2:
            continue
        if group and size + own > LARGE:
            yield group
            group, size = [], 0
        group.append(name)
        size += own
    if len(group) > 1:
        yield group


def _remove(place, root, files):
    """Removes the files of some names, `runs` first; what was left to do is in a file of its own until then."""
    gone = [tables[table] for table in ("runs", *(table for table in schema.TABLES if table != "runs"))
            for _, tables in sorted(files.items()) if table in tables]
    text = json.dumps([(path[len(root) + 1:], size, version) for path, size, version in gone])
    list_ = f"{root}/{MERGED}/{hashlib.sha1(text.encode()).hexdigest()}.json"
    place.write(list_, text.encode())
    _finish(place, root, list_)


def _is_ours(name):
    """Whether it is a file of a table: TABLE/date=…/job=…/NAME.parquet. Others may write to a fleet, too."""
    parts = name.split("/") if isinstance(name, str) else []
    return (len(parts) == 4 and parts[0] in schema.TABLES and parts[1].startswith("date=") and parts[2].startswith("job=")
            and parts[3].endswith(".parquet"))


def _finish(place, root, list_):
    with contextlib.suppress(ValueError, TypeError):  # a list that is none
        for name, size, version in json.loads(place.read(list_)):
            if not _is_ours(name):
                continue
            path = f"{root}/{name}"
            try:
                same = place.stat(path)[1:] == (size, version)
            except FileNotFoundError:
                continue
            if same:
                place.remove(path)
    place.remove(list_)


def _part(place, root, part):
    """Merges what is small in a part; returns how many files there were, and are."""
    files = _files(place, root, part)
    before = sum(map(len, files.values()))
    groups = list(_groups(files))
    if not groups:
        return before, before
    chosen, after = _chosen(place, files), before
    for group in groups:
        own = {name: files[name] for name in group}
        digest = hashlib.sha1("".join(group).encode()).hexdigest()[:16]
        tables = [table for table in schema.TABLES if any(table in own[name] and chosen[name] for name in group)]
        for table in sorted(tables, key="runs".__eq__):  # last
            _merge(place, table, own, chosen, f"{root}/{table}/{part}/merged-{digest}.parquet")
        _remove(place, root, own)
        after += len(tables) - sum(map(len, own.values()))
    return before, after


def run(options):
    needed("pyarrow")
    for root in dict.fromkeys(map(storage.cleaned, options.fleets)):
        place, counts = storage.of(root), (0, 0)
        names.check(place, root)
        try:
            for name in place.names(f"{root}/{MERGED}"):
                _finish(place, root, f"{root}/{MERGED}/{name}")
            for day in place.names(f"{root}/runs"):
                for job in place.names(f"{root}/runs/{day}"):
                    counts = tuple(map(sum, zip(counts, _part(place, root, f"{day}/{job}"))))
        except FleetError:
            raise
        except Exception as error:  # a damaged file, and every store has errors of its own
            raise storage.refused(root, "merged", error) from None
        if options.json:
            print(json.dumps({"fleet": root, "before": counts[0], "after": counts[1]}))
        else:
            print(f"{root}: {counts[0]:,} files, now {counts[1]:,}")
    return 0
