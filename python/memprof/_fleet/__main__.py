"""memprof fleet map, compact, ask, report and grid. `memprof fleet` starts it; docs/fleet.md says more."""
import argparse
import datetime
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
_GRID = """examples:
  memprof fleet grid fleet --job 4711 --figure=allocated_end -o grid
      What each rank held at the end of each step, for the viewer: a line of JSON that describes it, then numbers.
"""

_COMPACT = """examples:
  memprof fleet compact fleet
      The small files of a job and day become one file a table: after each map, or once a day.
"""


def _number(least):
    def parse(text):
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"{text}: at least {least}")
        return value

    parse.__name__ = "number"
    return parse


def _day(text):
    return datetime.date.fromisoformat(text).isoformat()


_day.__name__ = "day"


def _engine(parser, own):
    group = parser.add_argument_group("engine")
    group.add_argument("--engine", choices=(own, "spark"), default=own, help=f"{own}, on this machine (default), or spark")
    group.add_argument("--master", metavar="URL", help="of Spark (default local[*])")
    group.add_argument("--conf", metavar="NAME=VALUE", action="append", help="a setting of Spark; may be repeated")
    return group


def _days(parser):
    parser.add_argument("--since", type=_day, metavar="DAY",
                        help="only processes that started on this day (UTC) or later: 2026-11-26")
    parser.add_argument("--until", type=_day, metavar="DAY", help="only processes that started on this day or before")


def _duckdb(parser):
    parser.add_argument("--memory", default="1GB", metavar="SIZE", help="that DuckDB may use (default 1GB)")
    parser.add_argument("--threads", type=_number(1), metavar="N", help="of DuckDB (default: all cores)")


def _reader(parser):
    parser.add_argument("fleets", metavar="DIR", nargs="+", help="what 'memprof fleet map -o DIR' made; or a URI of it")
    parser.add_argument("--job", action="append", metavar="NAME", help="only this job; may be repeated")
    _days(parser)
    parser.add_argument("--top", type=_number(0), metavar="N", help="rows of each table; 0 = all. JSON always has all")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    _duckdb(_engine(parser, "duckdb"))


def _map_parser(make):
    one = make("map", _MAP, "Makes tables (Parquet) of logs. A log that cannot be read is named and counted.")
    one.add_argument("logs", metavar="LOG|DIR", nargs="+", help="logs, or folders with *.mprof; or URIs of them")
    one.add_argument("-o", "--output", required=True, metavar="DIR", help="the fleet; an existing one grows")
    one.add_argument("--jobs", type=_number(1), metavar="N", help="logs at the same time (default: cores)")
    one.add_argument("--again", action="store_true", help="also those that were mapped before")
    one.add_argument("--json", action="store_true", help="print the counts as one JSON object")
    _engine(one, "local")
    return one


def _ask_parser(make):
    every = [catalog.load(name) for name in catalog.names()]
    listed = "".join(f"  {question.name:<14} {question.title}\n"
                     + "".join(f"    --set {p.name}={p.default}  {p.words}\n" for p in question.parameters)
                     for question in every)
    two = make("ask", _ASK + listed, "Answers one question about a fleet.")
    two.add_argument("question", metavar="QUESTION", help="one of those below")
    two.add_argument("--list", action="store_true", help="print the questions, and what each answers")
    two.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the question")
    _reader(two)
    return two


def _report_parser(make):
    three = make("report", _REPORT, "Answers the important questions about a fleet.")
    _reader(three)
    return three


def _grid_parser(make):
    from . import grid

    four = make("grid", _GRID, "Writes one figure of a job, rank by step, for the viewer and other programs.")
    four.add_argument("fleet", metavar="DIR", help="what 'memprof fleet map -o DIR' made; or a URI of it")
    four.add_argument("-o", "--output", required=True, metavar="FILE", help="'-' is the standard output")
    four.add_argument("--job", metavar="NAME", help="default: the one that began last")
    four.add_argument("--attempt", type=_number(0), metavar="N", help="of the job (default: the one that began last)")
    four.add_argument("--figure", choices=grid.FIGURES,
                      help="of each step (default: allocated_peak, without a framework's allocator peak)")
    _days(four)
    _duckdb(four)
    return four


def _compact_parser(make):
    four = make("compact", _COMPACT, "Merges small files, so that engines open fewer. The answers stay the same. Not while a map "
                "of the fleet runs.")
    four.add_argument("fleets", metavar="DIR", nargs="+", help="what 'memprof fleet map -o DIR' made; or a URI of it")
    four.add_argument("--json", action="store_true", help="print one JSON object a fleet")
    return four


_VERBS = {"map": _map_parser, "compact": _compact_parser, "ask": _ask_parser, "report": _report_parser, "grid": _grid_parser}


def parsed(arguments):
    """The options; one parser a verb, because only a parser of its own takes options between the folders."""
    top = argparse.ArgumentParser(prog="memprof fleet", description="Answers questions about the logs of many processes.")
    top.add_argument("verb", choices=_VERBS, help="logs to tables; small files to large ones; one question; the important ones on a "
                     "page; a figure, rank by step")
    verb = top.parse_args(arguments[:1]).verb

    def make(name, examples, description):
        return argparse.ArgumentParser(prog=f"memprof fleet {name}", epilog=examples, description=description,
                                       formatter_class=argparse.RawDescriptionHelpFormatter)

    return argparse.Namespace(verb=verb, **vars(_VERBS[verb](make).parse_intermixed_args(arguments[1:])))


def _run(options):
    if options.verb == "map":
        from . import map as verb

        return verb.run(options)
    if options.verb == "grid":
        from . import grid as verb

        return verb.run(options)
    if options.verb == "compact":
        from . import compact

        return compact.run(options)
    from . import ask

    if options.verb == "list":
        return ask.listed(options.json)
    return ask.ask(options) if options.verb == "ask" else ask.report(options)


def main(arguments=None):
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["ask"] and "--list" in arguments:  # of no fleet
        options = argparse.Namespace(verb="list", json="--json" in arguments)
    else:
        options = parsed(arguments)
    try:
        status = _run(options)
        sys.stdout.flush()
        return status
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
