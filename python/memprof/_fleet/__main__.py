"""memprof fleet map, ask and report. `memprof fleet` starts it; docs/fleet.md says more."""
import argparse
import os
import sys

from . import catalog
from .errors import FleetError

_MAP = """examples:
  memprof fleet map runs/ -o fleet
      Map every *.mprof below runs/. Again, later: only what is new.
  memprof fleet map s3://logs/job-4711 -o s3://logs/fleet --jobs=16
      The same in a store of objects.
  memprof fleet map s3://logs/week -o s3://logs/fleet --engine=spark --master=spark://head:7077
      The list of logs as a Spark job.
"""
_ASK = """examples:
  memprof fleet ask outliers fleet
      Ranks whose peak is apart from those of their pipeline stage.
  memprof fleet ask outliers fleet --set share=0.2 --job 4711
      Only those of job 4711 that are apart by a fifth.
  memprof fleet ask ooms fleet --since 2026-11-20 --json | jq '.rows[0]'
      The first row of the failures since then.

questions:
"""
_REPORT = """examples:
  memprof fleet report fleet
      What is wrong, how memory is spread, and how good the recordings are.
  memprof fleet report fleet --since 2026-11-20 --job 4711
      The same of one job.
"""


def _number(least):
    def parse(text):
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"{text}: at least {least}")
        return value

    parse.__name__ = "number"
    return parse


def _engine(parser):
    group = parser.add_argument_group("engine")
    group.add_argument("--engine", choices=("duckdb", "spark"), default="duckdb",
                       help="duckdb, in this process (default), or spark")
    group.add_argument("--master", metavar="URL", help="of Spark (default local[*])")
    group.add_argument("--conf", metavar="NAME=VALUE", action="append", help="a setting of Spark; may be repeated")
    return group


def _reader(parser):
    parser.add_argument("fleets", metavar="DIR", nargs="+", help="what 'memprof fleet map -o DIR' made; or a URI of it")
    parser.add_argument("--job", action="append", metavar="NAME", help="only this job; may be repeated")
    parser.add_argument("--since", metavar="DAY", help="only processes that started on this day (UTC) or later: 2026-11-26")
    parser.add_argument("--until", metavar="DAY", help="only processes that started on this day or before")
    parser.add_argument("--top", type=_number(0), metavar="N", help="rows of each table; 0 = all. JSON always has all")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    group = _engine(parser)
    group.add_argument("--memory", default="1GB", metavar="SIZE", help="that DuckDB may use (default 1GB)")
    group.add_argument("--threads", type=_number(1), metavar="N", help="of DuckDB (default: all cores)")


def parser():
    top = argparse.ArgumentParser(prog="memprof fleet", description="Answers questions about the logs of many processes.")
    verbs = top.add_subparsers(dest="verb", metavar="map|ask|report", required=True)
    plain = argparse.RawDescriptionHelpFormatter
    one = verbs.add_parser("map", help="logs to tables", epilog=_MAP, formatter_class=plain,
                           description="Makes tables (Parquet) of logs. A log that cannot be read is named and counted.")
    one.add_argument("logs", metavar="LOG|DIR", nargs="+", help="logs, or folders with *.mprof; or URIs of them")
    one.add_argument("-o", "--output", required=True, metavar="DIR", help="the fleet; an existing one grows")
    one.add_argument("--jobs", type=_number(1), metavar="N", help="logs at the same time (default: cores)")
    one.add_argument("--again", action="store_true", help="also those that were mapped before")
    one.add_argument("--json", action="store_true", help="print the counts as one JSON object")
    _engine(one)
    listed = "\n".join(f"  {name:<14} {catalog.load(name).title}"
                       + "".join(f"\n    --set {p.name}={p.default}  {p.words}" for p in catalog.load(name).parameters)
                       for name in catalog.names())
    two = verbs.add_parser("ask", help="one question", epilog=_ASK + listed, formatter_class=plain,
                           description="Answers one question about a fleet.")
    two.add_argument("question", metavar="QUESTION", help="one of those below")
    two.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the question")
    _reader(two)
    three = verbs.add_parser("report", help="the important questions, on a page", epilog=_REPORT, formatter_class=plain,
                             description="Answers the important questions about a fleet.")
    _reader(three)
    return top


def main(arguments=None):
    options = parser().parse_args(arguments)
    try:
        if options.verb == "map":
            from . import map as verb

            return verb.run(options)
        from . import ask

        return ask.ask(options) if options.verb == "ask" else ask.report(options)
    except FleetError as error:
        print(f"memprof fleet {options.verb}: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print(f"\nmemprof fleet {options.verb}: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
