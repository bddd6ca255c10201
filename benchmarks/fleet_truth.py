"""Ranks with seeded defects, made of recorded ones, and what every question has to say about them.

A source is a folder PROGRAM/DEFECT.NAME.rows with what `memprof fleet rows` printed of real logs; benchmarks/fleet_logs
records some. Ranks of a job are made of one program's logs, so that peers are peers. A defect that nobody recorded for a
program is made from a plain log. Facts are what was put into the tables; `expected` answers the questions from them, without SQL.
"""
import collections
import copy
import math
import random
import statistics
from pathlib import Path

import made_rows

STAGES, DAY, GIB = 4, 86400 * 10**9, 1 << 30
RECORDED = ("leak", "large", "oom")
EDITED = ("settings", "pinned", "cut", "lost", "costly", "missing")
SITE_GROWTH = 1.5  # of one site, in the job that started last
SETTINGS = "max_split_size_mb:64"


def sources(folders, steps):
    """{program: {defect: [rows]}}."""
    found = {}
    for path in sorted(path for folder in folders for path in Path(folder).glob("*/*.rows")):
        rows = made_rows.read(path.read_text(encoding="utf-8"))[1]
        found.setdefault(path.parent.name, {}).setdefault(path.name.split(".")[0], []).append(rows)
    found = found or {"made": {"plain": [made_rows.template(steps)]}}
    for program in found.values():
        _complete(program)
    return found


def _complete(program):
    """Makes defects of a plain log where none was recorded."""
    own = {defect: copy.deepcopy(program["plain"][0]) for defect in RECORDED}
    steps = len(own["leak"]["rank_step"])
    made_rows.leak(own["leak"], max(1, own["leak"]["runs"][0]["peak"] // 5 // steps), steps // 10)
    made_rows.outlier(own["large"], 1.2)
    made_rows.oom(own["oom"])
    for defect in RECORDED:
        program.setdefault(defect, [own[defect]])


def _held(rows):
    """{step: bytes}; of a program whose allocator has no blocks, the peaks."""
    about = rows["runs"][0]
    column = "peak" if about.get("allocated_peak") is None else "allocated_end"
    return {row["step"]: row[column] for row in rows["rank_step"]
            if row["device"] == about["device"] and row.get(column) is not None}


def leaves(rows, plain):
    """From which step on the held memory is 3 % from that of a plain log, until the end, for five steps; else None."""
    own, usual = _held(rows), _held(plain)
    last = max(own.keys() & usual.keys(), default=-1)
    ratio = own[last] / usual[last] - 1 if last >= 0 else 0
    assert not 0.025 < abs(ratio) < 0.035, f"held memory is too near to the threshold of divergence: {ratio:.1%}"
    apart = [step for step in own if step in usual and abs(own[step] - usual[step]) > 0.03 * usual[step]]
    inside = max((step for step in own if step not in apart), default=-1)
    return inside + 1 if last - inside >= 5 else None


class Seeds:
    """Which (job, rank) has which defect; jobs are numbers."""

    def __init__(self, programs, ranks, seed, days):
        self.programs, self.seed, self.days = programs, seed, days
        names = sorted(programs)
        self.jobs = max(10, 2 * len(names))
        self.per_job = max(-(-ranks // self.jobs), 8 * STAGES)
        self.program = [names[job // 2 % len(names)] for job in range(self.jobs)]  # the last two are of the same one
        self.defect, each = {}, max(1, self.per_job // 400)
        for job in range(self.jobs):
            kinds = [defect for defect in RECORDED + EDITED for _ in range(each)]
            chosen = random.Random(f"{seed}/{job}").sample(range(self.per_job), len(kinds) + 1)
            self.defect.update({(job, rank): kind for rank, kind in zip(chosen, kinds)})
            if any(row.get("others_peak") is not None for row in programs[self.program[job]]["plain"][0]["runs"]):
                self.foreign = (job, chosen[-1])  # of the last one where this is known

    def source(self, job, rank):
        program, defect = self.programs[self.program[job]], self.defect.get((job, rank))
        variants = program[defect if defect in RECORDED else "plain"]
        return variants[rank % len(variants)]

    def grown_site(self):
        """(hash, name) of the plain site with most at the peak, in the program of the last job."""
        rows = self.programs[self.program[-1]]["plain"][0]
        most = max((row for row in rows["rank_site_step"] if row["site"]), key=lambda row: row["at_peak"])["site"]
        return most, next(row["name"] for row in rows["sites"] if row["site"] == most)


def _edit(own, defect, random_):
    """Times differ in every rank, as real ones; else they would compress to nothing in merged files."""
    about, began = own["runs"][0], 0
    for row in own["rank_step"]:
        row["began"] = began
        if row.get("duration") is not None:
            row["duration"] = int(row["duration"] * random_.gauss(1, 0.02))
            began += row["duration"]
    if defect == "settings":
        about["allocator_settings"] = SETTINGS
    if defect == "cut":
        about["ended"] = "cut"
    if defect == "lost":
        about.update(events_lost=7, losses="ring_full 7")
    if defect == "costly":
        about["recorder_cost"] = about["duration"] // 4
    for row in own["fragmentation"] if defect == "pinned" else ():
        for name in ("unusable", "pinned"):
            row[name] = 3 * row[name] if row.get(name) else row.get(name)


def make(seeds, day, job, rank):
    """(run, rows, facts) of a rank; None if it has no log."""
    defect, source = seeds.defect.get((job, rank)), seeds.source(job, rank)
    run, own = made_rows.multiplied(source, f"job-{job}", rank, seeds.per_job, STAGES, day, seeds.seed,
                                    made_rows.START + day * DAY + job * DAY // (2 * seeds.jobs))
    _edit(own, defect, random.Random(run))
    if (job, rank) == seeds.foreign:
        own["runs"][0]["others_peak"] = (own["runs"][0]["others_peak"] or 0) + 5 * GIB
    if job == seeds.jobs - 1:
        site = seeds.grown_site()[0]
        for row in own["rank_site_step"]:
            row["at_peak"] = int(row["at_peak"] * (SITE_GROWTH if row["site"] == site else 1))
    if defect == "missing":
        return None
    return run, own, _facts(seeds, defect, job, rank, own, source)


def _facts(seeds, defect, job, rank, own, source):
    about, plain = own["runs"][0], seeds.programs[seeds.program[job]]["plain"]
    names = {row["site"]: row["name"] for row in own["sites"]}
    whole = [row for row in own["fragmentation"] if row["site"] == "" and row["device"] == about["device"]]
    middle = statistics.median(rows["runs"][0]["peak"] for rows in plain)
    ratio = source["runs"][0]["peak"] / middle - 1
    assert not 0.04 < abs(ratio) < 0.06, f"a peak of {seeds.program[job]} is too near to the threshold: {ratio:.1%}"
    return {
        "job": about["job"], "day": about["attempt"], "rank": rank, "stage": about["pipeline_rank"], "log": about["log"],
        "host": about["host"], "defect": defect, "foreign": (job, rank) == seeds.foreign, "peak": about["peak"],
        "left": about["device_bytes"] - (about["device_peak"] if about.get("device_peak") is not None else about["peak"]),
        "hours": about["duration"] / 3.6e12, "apart": abs(ratio) > 0.05, "leaves": leaves(source, plain[0]),
        "settings": about.get("allocator_settings") or "none", "expandable": about.get("expandable"),
        "unusable": whole[0]["unusable"] if whole else None, "steps": len(own["rank_step"]),
        "leaks": sorted(names.get(site, site) for site in {row["site"] for row in own["leaks"]}),
        "ooms": [row["cause"] for row in own["ooms"]], "ended": about["ended"], "lost": bool(about.get("losses")),
        "advice": sorted(((kind, names.get(site, site) or None) for kind, site in {
            (row["kind"], row.get("site")) for row in own["advice"]}), key=str),
        "categories": [row["category"] for row in own["categories"] if row["size"] > 0 and row["device"] == about["device"]]}


def _by(facts, *keys):
    found = collections.defaultdict(list)
    for fact in facts:
        found[tuple(fact[key] for key in keys)].append(fact)
    return found


def _counted(facts, words):
    """{(job, word): ranks}"""
    return dict(collections.Counter(found for fact in facts for found in words(fact)))


def _unlike_most(facts):
    found = {}
    for (job,), ranks in _by(facts, "job").items():
        counts = collections.Counter(fact["settings"] for fact in ranks)
        most = min(counts, key=lambda name: (-counts[name], name if name != "none" else ""))
        found.update({(job, "other settings than most", name): count for name, count in counts.items() if name != most})
        asked = sum("expandable_segments:true" in fact["settings"].lower() and fact["expandable"] is False for fact in ranks)
        if asked:
            found[job, "expandable segments asked, not seen", max(counts, key=counts.get)] = asked
    return found


def _health(facts, seeds):
    found = collections.Counter()
    for fact in facts:
        found["logs that end cut", fact["job"]] += fact["ended"] == "cut"
        found["logs with losses", fact["job"]] += fact["lost"]
        found["logs of costly recording", fact["job"]] += fact["defect"] == "costly"
    for (job, day), ranks in _by(facts, "job", "day").items():
        found["ranks without a log", job] += seeds.per_job - len(ranks)  # a row an attempt
        found["attempts", job] = seeds.days if seeds.days > 1 else 0
    found["log could not be read", None] = 2
    return {key: count for key, count in found.items() if count}


def expected(facts, seeds):
    """{question: (columns that name a row, columns to compare, {name: values})}. A set has values that are as good."""
    stages, devices = _by(facts, "job", "day", "stage"), _by(facts, "job", "stage")
    grown = seeds.grown_site()[1]
    growing = {key: ({fact["rank"] for fact in ranks if fact["leaks"]} or {fact["rank"] for fact in ranks},)
               for key, ranks in devices.items() if ranks[0]["steps"] >= 8}
    pins = {key: [fact["unusable"] for fact in ranks if fact["unusable"] is not None] for key, ranks in devices.items()}
    return {
        "outliers": (("job", "attempt", "rank"), (), {(f["job"], f["day"], f["rank"]): () for f in facts if f["apart"]}),
        "divergence": (("job", "attempt", "rank"), ("from_step",), {
            (f["job"], f["day"], f["rank"]): (set(range(f["leaves"] - 4, f["leaves"] + 5)),) for f in facts
            if f["leaves"] is not None}),
        "foreign": (("job", "host"), (), {(f["job"], f["host"]): () for f in facts if f["foreign"]}),
        "leaks": (("site",), ("ranks",), {(site,): (n,) for site, n in _counted(facts, lambda f: f["leaks"]).items()}),
        "ooms": (("job", "cause"), ("failed",), {
            key: (n,) for key, n in _counted(facts, lambda f: [(f["job"], cause) for cause in f["ooms"]]).items()}),
        "settings": (("job", "what", "settings"), ("ranks",), {key: (n,) for key, n in _unlike_most(facts).items()}),
        "fragmentation": (("job", "stage"), ("most",), {key: (max(all_),) for key, all_ in pins.items() if any(all_)}),
        "headroom": (("job", "stage"), ("ranks", "least_left"), {
            key: (len(ranks), min(f["left"] for f in ranks)) for key, ranks in devices.items()}),
        "waste": (("job", "stage"), ("ranks", "gpu_hours"), {
            key: (len(ranks), sum(f["hours"] for f in ranks)) for key, ranks in devices.items()}),
        "stages": (("job", "attempt", "stage"), ("ranks", "least", "most"), {
            key: (len(r), min(f["peak"] for f in r), max(f["peak"] for f in r)) for key, r in stages.items()}),
        "steps": (("job", "stage"), ("rank",), growing),
        "peak": (("job", "part", "name"), ("ranks",), {
            key: (n,) for key, n in _counted(facts, lambda f: [(f["job"], "category", c) for c in f["categories"]]).items()}),
        "advice": (("kind", "site"), ("ranks",), {
            tuple(key): (n,) for key, n in _counted(facts, lambda f: [tuple(a) for a in f["advice"]]).items()}),
        "regressions": (("part", "name"), (), {("site", grown): ()}),
        "health": (("what", "job"), ("found",), {key: (n,) for key, n in _health(facts, seeds).items()}),
    }


def _same(found, there):
    if isinstance(there, set):
        return found in there
    return math.isclose(found, there, rel_tol=1e-9) if isinstance(there, float) else found == there


def compared(answer, keys, columns, there):
    """(rows as they have to be, rows that are not there, rows too many or with another value)."""
    names, found = [column["name"] for column in answer["columns"]], {}
    for row in answer["rows"]:
        row = dict(zip(names, row))
        if row.get("part") == "site" and answer["question"] == "peak":
            continue  # facts have only categories
        key, values = tuple(row[name] for name in keys), [row[name] for name in columns]
        had = found.get(key)
        found[key] = [a + b for a, b in zip(had, values)] if had else values  # two sites may have one name
    right = {key for key in found if key in there and all(map(_same, found[key], there[key]))}
    return right, set(there) - right, {key: found[key] for key in set(found) - right}
