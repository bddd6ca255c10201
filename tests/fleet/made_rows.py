"""Rows of many ranks, made of those of one: with noise, and with defects whose truth is known.

A made log is the text that `memprof fleet rows` would print of it; rows_command.py stands for memprof and prints it.
"""
import copy
import hashlib
import json
import random

GIB = 1 << 30
START = 1_764_158_400 * 10**9  # noon of 2025-11-26, UTC
BYTES = ("peak", "allocated_peak", "reserved_peak", "allocated_end", "reserved_end", "born", "alive", "at_peak", "size",
         "reserved", "allocated", "unusable", "pinned", "gain", "device_peak", "unusable_at_peak")
KEPT = "Metrics.update (train.py:51)"


def site(name):
    return hashlib.md5(name.encode()).hexdigest()


def _site_row(name):
    function, place = name[:-1].split(" (")
    file, line = place.split(":")
    return {"site": site(name), "key": name, "name": name, "function": function, "file": file, "line": int(line)}


SITES = [f"Layer{number}.forward (model.py:{10 * number})" for number in range(1, 13)]


def template(steps=40, parts=8):
    """{table: rows} of one rank of a plain training, without defects."""
    peak = 40 * GIB
    rows = {"runs": [{
        "world_size": 8, "tensor_rank": 0, "pid": 4000, "program": "python train.py", "device": 0,
        "device_name": "NVIDIA H100 80GB HBM3", "device_bytes": 80 * GIB, "simulated": False, "driver_version": 13000,
        "framework": "pytorch", "allocator_settings": "expandable_segments:True", "expandable": True,
        "memprof_version": "0.1.0", "duration": 3600 * 10**9, "ended": "clean", "steps": steps, "steps_from": "marks",
        "events": 1000 * steps, "events_lost": 0, "losses": "", "recorder_cost": 9 * 10**9, "peak": peak,
        "device_peak": peak + GIB, "allocated_peak": peak - 2 * GIB, "reserved_peak": peak, "peak_step": 3,
        "others_peak": 0, "unusable_at_peak": GIB // 4, "failures": 0, "verdict": "No growth."}]}
    rows["rank_step"] = [{
        "device": 0, "step": step, "began": step * 10**9, "duration": 10**9, "peak": peak if step else peak - 3 * GIB,
        "allocated_peak": peak - 2 * GIB, "reserved_peak": peak, "allocated_end": 20 * GIB, "reserved_end": peak}
        for step in range(steps)]
    width = max(1, steps // parts)
    rows["rank_site_step"] = [{
        "device": 0, "site": site(name), "first_step": first, "last_step": first + width - 1, "born": GIB * width,
        "born_blocks": 10 * width, "alive": GIB, "alive_blocks": 10, "at_peak": 2 * GIB + (index << 20)}
        for index, name in enumerate(SITES) for first in range(0, steps, width)]
    rows["sites"] = [_site_row(name) for name in SITES]
    rows["ledger"] = [{"device": 0, "moment": moment, "kind": kind, "size": size} for moment in ("peak", "end")
                      for kind, size in (("blocks", 38 * GIB), ("cached", 2 * GIB), ("free", 39 * GIB))]
    rows["categories"] = [{"device": 0, "category": name, "size": size, "blocks": 100} for name, size in
                          (("parameters", 8 * GIB), ("gradients", 8 * GIB), ("optimizer state", 10 * GIB),
                           ("activations", 12 * GIB))]
    rows["fragmentation"] = [{"device": 0, "reserved": peak, "allocated": peak - 2 * GIB, "unusable": GIB // 4, "site": ""},
                             {"device": 0, "site": site(SITES[3]), "pinned": GIB // 8}]
    rows["advice"] = [{"device": 0, "kind": "late-release", "gain": GIB // 2, "site": site(SITES[5]),
                       "words": "Release it before the optimizer's step."}]
    rows["leaks"], rows["ooms"] = [], []
    return rows


def multiplied(rows, job, rank, world=8, stages=2, attempt=0, seed=0, start=START, noise=0.002):
    """(run, rows) of one rank: the template's with its own noise, stage, host and clock. Eight ranks are on a host."""
    random_ = random.Random(f"{seed}/{job}/{attempt}/{rank}")
    rows = copy.deepcopy(rows)
    stage = rank * stages // world
    factor = (1 + 0.2 * stage) * random_.gauss(1, noise)
    for table in rows.values():
        for row in table:
            for name in BYTES:
                if row.get(name):
                    row[name] = int(row[name] * factor)
    host = f"host-{rank // 8:05}"
    rows["runs"][0].update(
        job=job, attempt=attempt, rank=rank, local_rank=rank % 8, world_size=world, pipeline_rank=stage,
        data_rank=rank % max(1, world // stages), host=host, pid=4000 + rank, device_uuid=f"GPU-{host}-{rank % 8}",
        log=f"/logs/{job}/rank{rank}.mprof", start_unix=start + random_.randrange(-2 * 10**9, 2 * 10**9))
    return hashlib.md5(f"{job}/{attempt}/{rank}".encode()).hexdigest(), rows


def leak(rows, slope, from_step=10, holder="Metrics.predictions"):
    """A list that keeps `slope` bytes more with every step."""
    about = rows["runs"][0]
    for step in rows["rank_step"]:
        kept = max(0, step["step"] - from_step + 1) * slope
        for name in ("peak", "allocated_peak", "allocated_end"):
            if step.get(name) is not None:  # of the last step, a log does not know its end
                step[name] += kept
    about["peak"] += kept
    about["device_peak"] += kept
    rows["sites"].append(_site_row(KEPT))
    rows["leaks"].append({"device": 0, "site": site(KEPT), "tier": "suspected", "basis": "steps", "score": 100.0,
                          "slope": float(slope), "slope_per_s": 0.0, "size": kept, "blocks": kept // slope,
                          "first_step": from_step, "holder": holder})


def outlier(rows, factor):
    """Another peak, and the same at the end of steps: a longer input."""
    for name in ("peak", "device_peak", "reserved_peak"):
        if rows["runs"][0].get(name):
            rows["runs"][0][name] = int(rows["runs"][0][name] * factor)


def foreign(rows, size):
    rows["runs"][0]["others_peak"] = size


def oom(rows, cause="capacity", recovered=False):
    rows["runs"][0].update(failures=1, ended="cut")
    rows["ooms"].append({"device": 0, "step": 7, "occurred": 10**9, "asked": 2 * GIB, "free": GIB, "cause": cause,
                         "recovered": recovered, "site": site(SITES[0]), "growth_site": site(KEPT) if rows["leaks"] else "",
                         "remedy": "a batch of 28 instead of 32"})


def printed(run, rows):
    """As `memprof fleet rows` prints it."""
    lines = [{"schema": 1, "run": run}] + [{"table": table, "row": row} for table, all_ in rows.items() for row in all_]
    lines.append({"end": True, "rows": len(lines) - 1})
    return "".join(json.dumps(line) + "\n" for line in lines)


def read(text):
    """(run, {table: rows}) of what printed() or memprof made."""
    lines = [json.loads(line) for line in text.splitlines()]
    rows = {table: [] for table in template(1, 1)}
    for line in lines[1:-1]:
        rows.setdefault(line["table"], []).append(line["row"])
    return lines[0]["run"], rows


def some_jobs(seed=0):
    """[(run, rows)] with at least one row for every question: three jobs of 16 ranks, the last in two attempts."""
    made, plain = [], template()
    for job, attempt, start in (("llm-1", 0, START), ("llm-2", 0, START + 86400 * 10**9), ("a/b=c d", 0, START),
                                ("a/b=c d", 1, START + 3600 * 10**9)):
        for rank in range(16):
            run, rows = multiplied(plain, job, rank, 16, 2, attempt, seed, start)
            about = rows["runs"][0]
            if job == "llm-2":
                for row in rows["rank_site_step"]:  # one site takes more than in llm-1
                    row["at_peak"] *= 2 if row["site"] == site(SITES[2]) else 1
                if rank in (3, 9):
                    leak(rows, 200 << 20, holder="Metrics.predictions" if rank == 3 else None)
                if rank == 9:
                    oom(rows)
                    oom(rows, "fragmentation", True)
                if rank == 5:
                    outlier(rows, 1.3)
            if job == "llm-1" and rank >= 8:
                foreign(rows, 3 * GIB if rank == 8 else 0)
                about.update(expandable=False, events_lost=5, losses="ring_full 5")
            if job == "llm-1" and rank == 2:
                about.update(allocator_settings="", recorder_cost=about["duration"] // 5)
            if (job, attempt, rank) == ("a/b=c d", 0, 15):
                continue  # no log
            if job == "a/b=c d" and attempt == 0:
                about.update(ended="killed", device_name=None, pipeline_rank=None, attempt=None)
            made.append((run, rows))
    return made
