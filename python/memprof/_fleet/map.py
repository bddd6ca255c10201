"""Logs to tables: each log once, whatever happens to it or to us."""
import concurrent.futures
import functools
import json
import os
import sys

from . import names, rows, storage, writer
from .errors import FleetError, needed

MAPPED, SAME, FAILED, GROWING = "mapped", "same", "failed", "growing"


def map_log(root, log):
    """Maps one log (path, size, version). Returns (path, what happened, why). Also the task of a Spark job."""
    path, size, version = log
    source, target = storage.of(path), storage.of(root)
    try:
        with source.here(path) as local:
            run, tables = rows.of(local, path)
        about = tables["runs"][0]
        about.update(log=path, job=about.get("job") or "none")
        changed = _written(target, root, run, tables)
        # A process that is killed meanwhile changes what its log is, but not the file.
        growing = about.get("ended") == "growing" or source.stat(path)[1:] != (size, version)
    except FleetError:
        raise
    except Exception as error:  # a log in any state, from any store
        return _failed(target, root, path, error)
    target.remove(names.failed(root, path))
    if growing:
        return path, GROWING, "it still grows: the rows are of what was there"
    about = {"log": path, "size": size, "run": run}
    _write(target, names.mapped(root, path, size, version), about)
    return path, MAPPED if changed else SAME, ""


def _written(target, root, run, tables):
    try:
        return writer.write(target, root, run, tables)
    except ValueError:  # rows that fit no table
        raise
    except Exception as error:  # every store has errors of its own
        raise storage.refused(root, "written", error) from None


def _write(target, path, about):
    try:
        target.write(path, json.dumps(about, sort_keys=True).encode() + b"\n")
    except Exception as error:
        raise storage.refused(path, "written", error) from None


def _failed(target, root, path, error):
    reason = storage.line(error)
    if reason.startswith(path + ": "):
        reason = reason[len(path) + 2:]
    _write(target, names.failed(root, path), {"log": path, "reason": reason})
    return path, FAILED, reason


def _left(target, root, logs):
    """The logs that are not mapped yet, in the state that they are in."""
    done = set(target.names(f"{root}/{names.MAPPED}"))
    return [log for log in logs if names.mapped(root, *log).rsplit("/", 1)[-1] not in done]


class Progress:
    """A line on the terminal, and one for each log that could not be read."""

    def __init__(self, total):
        self.total, self.stream, self.counts = total, sys.stderr, {}
        self.live = self.stream.isatty()

    def add(self, result):
        path, outcome, why = result
        self.counts[outcome] = self.counts.get(outcome, 0) + 1
        if why:
            self._clear()
            print(f"memprof fleet map: {path}: {why}", file=self.stream)
        if self.live:
            print(f"\r{sum(self.counts.values()):,} of {self.total:,} logs", end="", file=self.stream, flush=True)

    def _clear(self):
        if self.live:
            print("\r\x1b[K", end="", file=self.stream)

    def end(self):
        self._clear()


def _here(function, logs, jobs):
    """The results of all logs, `jobs` at once."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(function, log) for log in logs]
        try:
            for future in concurrent.futures.as_completed(futures):
                yield future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _spark(function, logs, options):
    from . import spark

    session = spark.session(options)
    context = session.sparkContext
    spark.ship(context)
    slices = max(1, min(len(logs), 4 * context.defaultParallelism))
    try:
        return context.parallelize(logs, slices).map(function).collect()
    except Exception as error:  # Py4J's, with the traces of Python and Java
        raise spark.failure(error) from None


def run(options):
    needed("pyarrow")
    root = storage.cleaned(options.output)
    target = storage.of(root)
    logs = storage.logs(options.logs)
    if not logs:
        raise FleetError(f"no log (*{storage.LOG_SUFFIX}) is in {', '.join(options.logs)}")
    rows.command()
    try:
        names.create(target, root)
    except FleetError:
        raise
    except Exception as error:
        raise storage.refused(root, "written", error) from None
    left = logs if options.again else _left(target, root, logs)
    progress = Progress(len(left))
    function = functools.partial(map_log, root)
    results = _spark(function, left, options) if options.engine == "spark" and left else _here(
        function, left, options.jobs or os.cpu_count() or 1)
    for result in results:
        progress.add(result)
    progress.end()
    return _summary(options, root, logs, left, progress.counts)


def _summary(options, root, logs, left, counts):
    failed, growing = counts.get(FAILED, 0), counts.get(GROWING, 0)
    if options.json:
        print(json.dumps({"fleet": root, "logs": len(logs), "mapped": counts.get(MAPPED, 0) + growing,
                          "unchanged": len(logs) - len(left) + counts.get(SAME, 0), "growing": growing,
                          "failed": failed}))
    else:
        print(f"{root}: {len(logs):,} log{'s' * (len(logs) != 1)}, {counts.get(MAPPED, 0) + growing:,} mapped now, "
              f"{len(logs) - len(left) + counts.get(SAME, 0):,} unchanged"
              + (f", {growing:,} still growing" if growing else "") + (f", {failed:,} could not be read" if failed else ""))
    return 1 if failed == len(logs) else 0
