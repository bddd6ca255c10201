"""One question, and the report of the important ones."""
import json
import shlex
import textwrap

from . import catalog, engines, text
from .errors import FleetError

# What is wrong comes first, then how memory is spread, then how good the recordings are: (question, rows).
REPORT = (("ooms", 5), ("leaks", 8), ("outliers", 8), ("divergence", 8), ("foreign", 5), ("settings", 5),
          ("stages", 10), ("headroom", 8), ("fragmentation", 5), ("waste", 5), ("health", 10))


def as_json(question, rows):
    return {"question": question.name, "columns": [column._asdict() for column in question.columns],
            "rows": [list(row) for row in rows]}


def answer(engine, name, settings=()):
    question = catalog.load(name)
    values = catalog.values(question, settings)
    for parameter in question.parameters:
        job = values[parameter.name]
        if job and parameter.words.startswith("the job") and not (jobs := _jobs(engine)).count(job):
            raise FleetError(f"--set {parameter.name}={job}: there is no such job; there are {', '.join(jobs)}")
    rows = engine.ask(question, values)
    return question, [_plain(question, row) for row in rows]


def _jobs(engine):
    return sorted(row[0] for row in engine.rows("SELECT DISTINCT job FROM runs") if row[0])


def _plain(question, row):
    """Numbers of the engines as Python's own: counts, steps and whole bytes are integers."""
    return tuple(_number(value, column.unit) for value, column in zip(row, question.columns))


def _number(value, unit):
    if value is None or unit in ("text", "log", "bool"):
        return value
    value = float(value) if not isinstance(value, int) else value
    if unit in ("count", "step", "bytes", "ns") and value == int(value):
        return int(value)
    return value


def lines_of(question, rows, top):
    """The answer as text: a table, what was left out, and the command to go on with."""
    if not rows:
        return [f"{question.title}: none"]
    shown = rows[:top] if top else rows
    lines = [question.title] + text.table(question.columns, shown)
    if len(shown) < len(rows):
        lines.append(f"  … and {len(rows) - len(shown):,} more (--top=0 shows all)")
    return lines + _next(question, rows)


def _next(question, rows):
    """The command for the first row that names logs; two runs are compared where a row names both."""
    wanted = [number for number, column in enumerate(question.columns) if column.unit == "log"]
    for row in rows:
        logs = [row[number] for number in wanted]
        if all(logs):
            return ["  Next: " + text.printable(" ".join([question.next, *map(shlex.quote, logs)]))]
    return []


def ask(options):
    question = catalog.load(options.question)
    catalog.values(question, options.set)
    engine = engines.open_engine(options)
    question, rows = answer(engine, options.question, options.set)
    if options.json:
        print(json.dumps(as_json(question, rows)))
    else:
        print("\n".join(lines_of(question, rows, 20 if options.top is None else options.top)))
    return 0


def listed(json_):
    """The questions, and what each answers."""
    every = [catalog.load(name) for name in catalog.names()]
    if json_:
        print(json.dumps([{"question": question.name, "answers": question.answers} for question in every]))
    else:
        for question in every:
            print(textwrap.fill(question.answers, text.WIDTH, initial_indent=f"{question.name:<15}",
                                subsequent_indent=" " * 15))
    return 0


def _summary(engine):
    question = catalog.parse("summary", """
-- title: Fleet
-- answers: How much is here?
-- columns: logs count, jobs count, hosts count, devices count, from text, to text, failed count
-- next: memprof report
SELECT count(*), count(DISTINCT job), count(DISTINCT host),
       count(DISTINCT concat(host, coalesce(device_uuid, CAST(device AS STRING)))), min(day), max(day),
       (SELECT count(*) FROM failed_logs) FROM runs""")
    return engine.ask(question, {})[0]


def _count(number, noun, plural="s"):
    return f"{number:,} {noun}{'' if number == 1 else plural}"


def report(options):
    engine = engines.open_engine(options)
    logs, jobs, hosts, devices, first, last, failed = _summary(engine)
    answers = [(answer(engine, name), top) for name, top in REPORT]
    if options.json:
        about = {"logs": logs, "jobs": jobs, "hosts": hosts, "devices": devices, "from": first, "to": last,
                 "failed": failed}
        print(json.dumps({"fleet": about, "answers": [as_json(*found) for found, _ in answers]}))
        return 0
    span = "" if not first else f", {first}" if first == last else f", {first} to {last}"
    print(f"{_count(logs, 'process', 'es')} of {_count(jobs, 'job')} on {_count(hosts, 'host')} with "
          f"{_count(devices, 'device')}{span}"
          + (f"; {failed:,} logs could not be read" if failed else ""))
    for (question, rows), top in answers:
        print()
        print("\n".join(lines_of(question, rows, top if options.top is None else options.top)))
    return 0
