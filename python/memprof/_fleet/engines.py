"""Who computes the answers: DuckDB in this process, or Spark."""
import functools
import json
import shutil
import tempfile
import weakref

from . import catalog, names, schema, spark, storage, views, writer
from .errors import FleetError, needed

DUCKDB, SPARK = "duckdb", "spark"
_HADOOPS = ("s3a://", "hdfs://", "abfs://", "wasb://", "viewfs://")  # Spark's own reader takes these


class Fleet:
    """The folders of a fleet that a question is about: of some jobs and days only, if it says so."""

    def __init__(self, roots, jobs=(), since=None, until=None):
        self.roots = list(dict.fromkeys(map(storage.cleaned, roots)))
        self.narrow = bool(jobs or since or until)
        jobs = {names.encoded(job) for job in jobs}
        self.parts = {}  # of each root, where not all: date=…/job=…
        for root in self.roots:
            place = storage.of(root)
            names.check(place, root)
            if self.narrow:
                self.parts[root] = [f"{day}/{job}" for day in place.names(f"{root}/runs") if _within(day, since, until)
                                    for job in place.names(f"{root}/runs/{day}") if not jobs or job[4:] in jobs]

    def folders(self, table):
        """[folder] with files of a table at any depth."""
        found = []
        for root in self.roots:
            if not self.narrow:
                found.append(f"{root}/{table}")
            else:
                found += [f"{root}/{table}/{part}" for part in self.parts[root]]
        return [folder for folder in found if storage.of(folder).has_files(folder, ".parquet")]

    def failures(self):
        """[(log, reason)] of the logs that could not be read."""
        found = {}
        for root in self.roots:
            place = storage.of(root)
            for name in place.names(f"{root}/{names.FAILED}"):
                if name.endswith(".json"):
                    try:
                        about = json.loads(place.read(f"{root}/{names.FAILED}/{name}"))
                        found[str(about["log"])] = str(about["reason"])
                    except (ValueError, TypeError, KeyError, FileNotFoundError):
                        continue  # mapped meanwhile
        return sorted(found.items())


def _within(day, since, until):
    day = day[len("date="):]
    return (not since or day >= since) and (not until or day <= until)


class _Mixed(Exception):
    """Files of one table do not have the same columns."""


class DuckDB:
    """Everything in this process; tables that do not fit into `memory` go to a temporary folder."""

    _TYPES = {"text": "VARCHAR", "i64": "BIGINT", "f64": "DOUBLE", "bool": "BOOLEAN", "bytes": "BIGINT", "ns": "BIGINT"}

    def __init__(self, fleet, options):
        duckdb = needed("duckdb")
        self.error = duckdb.Error
        self.connection = duckdb.connect()
        self.fleet, self.ready, self.mixed = fleet, set(), False
        self._do(f"SET memory_limit = '{options.memory.replace(chr(39), '')}'")
        if options.threads:
            self._do(f"SET threads = {int(options.threads)}")
        self._do("SET preserve_insertion_order = false")
        spilled = tempfile.mkdtemp(prefix="memprof-fleet-")
        weakref.finalize(self, shutil.rmtree, spilled, ignore_errors=True)
        self._do(f"SET temp_directory = '{spilled.replace(chr(39), chr(39) * 2)}'")
        self._register(fleet)
        self._tolerant(self._open)
        self._do("CREATE TEMP TABLE failed_logs (log VARCHAR, reason VARCHAR)")
        failures = fleet.failures()
        if failures:
            self.connection.executemany("INSERT INTO failed_logs VALUES (?, ?)", failures)

    def _register(self, fleet):
        for scheme in {root.split("://")[0] for root in fleet.roots if storage.is_uri(root)}:
            self.connection.register_filesystem(storage.listing(scheme))

    def _open(self):
        """What every question reads is kept: a row a log."""
        self._do(f"CREATE OR REPLACE TEMP TABLE files_runs AS {self._files(self.fleet, 'runs')}")
        self._do(f"CREATE OR REPLACE TEMP TABLE chosen AS {views.CHOSEN}")
        self._do(f"CREATE OR REPLACE TEMP TABLE runs AS {views.view('runs')}")

    def _tolerant(self, work):
        """Does work for files that have the same columns; if they have not, again in the way that compares all files
        first, which takes longer and three times the memory."""
        try:
            return work()
        except _Mixed:
            self.mixed = True
            self.ready.clear()
            return work()

    def _files(self, fleet, table):
        columns = [(name, self._TYPES[kind]) for name, kind, _ in schema.columns(table)]
        folders = fleet.folders(table)
        if not folders:
            empty = ", ".join(f"CAST(NULL AS {kind}) AS {name}" for name, kind in columns)
            return f"SELECT {empty}, '' AS place WHERE false"
        globs = ", ".join("'" + _glob(folder).replace("'", "''") + "/**/*.parquet'" for folder in folders)
        source = f"read_parquet([{globs}], filename = true, hive_partitioning = false, union_by_name = {self.mixed})"
        have = {row[0] for row in self._do(f"DESCRIBE SELECT * FROM {source}").fetchall()}
        if not self.mixed and not have.issuperset(name for name, _ in columns):  # only the first file was asked
            raise _Mixed
        taken = ", ".join(f"CAST({name if name in have else 'NULL'} AS {kind}) AS {name}" for name, kind in columns)
        return f"SELECT {taken}, filename AS place FROM {source}"

    def _do(self, sql, values=None):
        try:
            return self.connection.execute(sql, values) if values else self.connection.execute(sql)
        except self.error as error:
            raise self._said(error) from None

    def _said(self, error):
        if not self.mixed and "union_by_name" in str(error):
            return _Mixed()
        return FleetError(f"DuckDB: {storage.line(error)}")

    def ask(self, question, values):
        return self.read(views.read_by(question.sql), lambda: self._rows(question, values))

    def _rows(self, question, values):
        try:
            return self._do(catalog.written(question.sql, values, "$"), values).fetchall()
        except self.error as error:
            raise self._said(error) from None

    def read(self, tables, work, part=None):
        """work(), which may be done twice, with views of the tables; of `part` of the fleet, where that is enough."""
        return self._tolerant(lambda: self._with_views(tables, work, part or self.fleet))

    def _with_views(self, tables, work, part):
        for table in tables - self.ready:
            self._do(f"CREATE OR REPLACE VIEW files_{table} AS {self._files(part, table)}")
            self._do(f"CREATE OR REPLACE VIEW {table} AS {views.view(table)}")
            self.ready.add(table)
        return work()

    def rows(self, sql, values=None):
        return self._do(sql, values).fetchall()

    def batches(self, sql):
        """The answer in the order of its rows, as Arrow's batches."""
        try:
            answer = self.connection.sql(sql)
            yield from (getattr(answer, "to_arrow_reader", None) or answer.fetch_arrow_reader)(1 << 17)
        except self.error as error:
            raise self._said(error) from None


def _glob(path):
    """A path in which nothing is a pattern."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in path)


class Spark:
    _TYPES = {"text": "STRING", "i64": "BIGINT", "f64": "DOUBLE", "bool": "BOOLEAN", "bytes": "BIGINT", "ns": "BIGINT"}

    def __init__(self, fleet, options):
        self.session = spark.session(options)
        self.fleet, self.ready, self.shipped = fleet, set(), False
        self._files(fleet, "runs").cache().createOrReplaceTempView("files_runs")  # a row a log
        self._view("chosen", views.CHOSEN)
        self._view("runs", views.view("runs"))
        self.session.createDataFrame(fleet.failures(), "log STRING, reason STRING").createOrReplaceTempView("failed_logs")

    def _files(self, fleet, table):
        declared = ", ".join(f"{name} {self._TYPES[kind]}" for name, kind, _ in schema.columns(table))
        folders = fleet.folders(table)
        ours = [folder for folder in folders if storage.is_uri(folder) and not folder.startswith(_HADOOPS)]
        parts = [self._fetched(table, ours, declared + ", place STRING")] if ours else []
        if len(ours) < len(folders):
            reader = self.session.read.schema(declared).option("recursiveFileLookup", "true")
            reader = reader.option("pathGlobFilter", "*.parquet")
            parts.append(reader.parquet(*(_hadoop(folder) for folder in folders if folder not in ours)).selectExpr(
                "*", "_metadata.file_path AS place"))
        if not parts:
            return self.session.createDataFrame([], declared + ", place STRING")
        return functools.reduce(lambda one, other: one.union(other), parts)

    def _fetched(self, table, folders, declared):
        """Files of a store that Hadoop cannot read as it is installed: executors read them as `map` does."""
        needed("pandas", "fleet-spark")  # Spark asks for it before it gives anybody Arrow
        context = self.session.sparkContext
        if not self.shipped:
            spark.ship(context)
            self.shipped = True
        paths = [(file[0],) for folder in folders for file in storage.of(folder).files(folder) if file[0].endswith(".parquet")]
        slices = max(1, min(len(paths), 4 * context.defaultParallelism))
        return self.session.createDataFrame(context.parallelize(paths, slices), "path STRING").mapInArrow(
            functools.partial(_batches, table), declared)

    def _view(self, name, sql):
        self.session.sql(sql).createOrReplaceTempView(name)

    def ask(self, question, values):
        for table in views.read_by(question.sql) - self.ready:
            self._files(self.fleet, table).createOrReplaceTempView(f"files_{table}")
            self._view(table, views.view(table))
            self.ready.add(table)
        try:
            rows = self.session.sql(catalog.written(question.sql, values, ":"), args=values or None).collect()
        except Exception as error:  # Py4J's and Spark's own
            raise spark.failure(error) from None
        return [tuple(row) for row in rows]


def _batches(table, lists):
    """The rows of the files that are listed, with their `place`. Runs on an executor."""
    pa = needed("pyarrow")
    for paths in lists:
        for path in paths["path"].to_pylist():
            for batch in writer.read(table, storage.of(path), path):
                yield batch.append_column("place", pa.array([path] * len(batch), pa.string()))


def _hadoop(path):
    """As Hadoop names it; a glob's signs in local paths are no patterns."""
    if storage.is_uri(path):
        return path
    return "file://" + "".join("\\" + c if c in "*?[]{}\\" else c for c in path)


def open_engine(options):
    needed("pyarrow")
    fleet = Fleet(options.fleets, options.job or (), options.since, options.until)
    return (Spark if options.engine == SPARK else DuckDB)(fleet, options)
