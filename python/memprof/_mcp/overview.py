"""Which logs there are, what happened in one, and what its steps were."""
import os
import time

from . import answers, desk as desks
from .errors import McpError

READING = 15  # seconds that a page of runs may take


def list_runs(desk, limit, cursor):
    listed = desk.logs.listed()
    names = sorted(listed, key=lambda name: (os.path.dirname(name), name))
    chosen, page = answers.paged(names, limit, cursor)
    end = time.monotonic() + READING
    rows = [_run_row(desk, name, listed[name], time.monotonic() < end) for name in chosen]
    read = [row for row in rows if "program" in row]
    facts = {"rows": rows, "folders": _folders(names)}
    following = []
    pair = _pair(read) if len(names) == 2 else None
    if pair:
        following.append(answers.ask("diff", "two runs of one program: what the later one changed", before=pair[0],
                                     after=pair[1]))
    # What failed is most urgent, then what grows.
    for row in sorted(read, key=lambda row: (-row["failed_requests"], -row["leaks"]))[:3]:
        following.append(answers.ask("summary", "what happened in it", log=row["log"]))
    sure = answers.sure("high", "counted") if len(read) == len(rows) else \
        answers.sure("medium", f"{len(rows) - len(read)} of {len(rows)} logs were not read")
    return answers.answer(facts, sure, [desks.cite(row["log"]) for row in rows], following, page)


def _run_row(desk, name, path, in_time):
    row = {"log": name, "bytes": os.path.getsize(path)}
    if not in_time:
        return {**row, "not_read": "this page took too long; ask for the next with a smaller limit"}
    try:
        report = desk.verbs.ask("report", [path])
    except McpError as error:
        return {**row, "not_read": str(error)}
    run = report["run"]
    return {**row, "program": _program(run), "started_unix_s": run["start_unix_ns"] // 10**9,
            "seconds": (run["end_time_ns"] - run["start_time_ns"]) / 1e9, "steps": report["steps"],
            "complete": report["complete"], "peak_bytes": [device["peak_bytes"] for device in report["devices"]],
            "failed_requests": report["events"]["failed"], "leaks": len(report["leaks"])}


def _program(run):
    words = run["arguments"] or [run["executable"]]
    return " ".join(os.path.basename(word) if "/" in word else word for word in words)


def _folders(names):
    """Those with several logs: given as FOLDER/, they are read together."""
    counts = {}
    for name in names:
        folder = os.path.dirname(name) + "/" if os.path.dirname(name) else "./"
        counts[folder] = counts.get(folder, 0) + 1
    return [{"log": folder, "logs": count} for folder, count in sorted(counts.items()) if count > 1][:20]


def _pair(rows):
    """Two runs after each other of one program, the earlier first."""
    if len(rows) != 2:
        return None
    one, other = sorted(rows, key=lambda row: row["started_unix_s"])
    apart = one["started_unix_s"] + one["seconds"] <= other["started_unix_s"] + 1
    alike = one["program"].split(" ")[:1] == other["program"].split(" ")[:1]
    return (one["log"], other["log"]) if apart and alike else None


def summary(desk, log):
    report = desk.ask("report", log)
    failures = [each for each in desk.ask("oom", log)["failures"] if not each["recovered"]] \
        if report["events"]["failed"] else []
    run = report["run"]
    facts = {
        "program": _program(run), "processes": len(run["processes"]), "complete": report["complete"],
        "end_reason": run["end_reason"], "simulated_gpu": report["simulated"], "steps": report["steps"],
        "steps_from": report["step_origin"]["source"],
        "devices": [_device(device) for device in report["devices"]],
        "failed_requests": report["events"]["failed"], "failed_for_good": len(failures),
        "last_failure": _failure(failures[-1]) if failures else None,
        "leak_verdict": report["leak_verdict"],
        "leaks": [{"site": leak["site"], "tier": leak["tier"], "bytes_per_step": leak["bytes_per_step"]}
                  for leak in report["leaks"][:3]],
        "outlying_processes": _outliers(report),
        "anomalies": [{"name": each["name"], "count": each["count"], "advice": each["advice"]}
                      for each in report["anomalies"] if each["severity"] != "info"][:5],
    }
    return answers.answer(facts, _trust(report), _summary_cites(log, report, failures),
                          _after_summary(log, report, failures))


def _device(device):
    framework = device.get("framework") or {}
    return {"device": device["id"], "name": device["name"], "capacity_bytes": device["capacity_bytes"],
            "peak_bytes": device["peak_bytes"], "at_end_bytes": device["live_bytes"],
            "untracked_bytes": device["untracked_bytes"], "allocator_peak_bytes": framework.get("peak_bytes"),
            "allocator_reserved_bytes": framework.get("peak_reserved_bytes")}


def _failure(failure):
    return {"event": failure["event"], "bytes": failure["bytes"], "step": failure["step"], "why": failure.get("why")}


def _outliers(report):
    spread = report.get("processes") or {}
    rows = spread.get("list") or []
    return [{"rank": rows[each].get("rank"), "log": os.path.basename(report["run"]["processes"][each]["log"]),
             "peak_bytes": rows[each]["driver_peak_bytes"]}
            for each in (spread.get("driver_peak") or {}).get("outliers", []) if each < len(rows)][:8]


def _trust(report):
    lost = report["events"]["lost"]
    if lost:
        return answers.sure("low", f"{lost} events were lost: figures are too low")
    if not report["complete"]:
        return answers.sure("medium", "the log is not complete: the program was killed, or still runs")
    return answers.sure("high", "all events were recorded; figures are counted, not estimated")


def _summary_cites(log, report, failures):
    cites = [desks.cite(log, failure["step"], failure["event"]) for failure in failures[-1:]]
    return cites + [desks.cite(log, peak["step"]) for peak in report["peaks"][:2]]


def _after_summary(log, report, failures):
    following = []
    if failures:
        following.append(answers.ask("oom", "a request failed for good: why", log=log))
    if report["leaks"]:
        following.append(answers.ask("leaks", "memory grows: the lines, with evidence", log=log))
    elif _stays(report):
        following.append(answers.ask("holders", "nothing grows, but most of the peak was still there at the end: what "
                                                "keeps it", log=log))
    following.append(answers.ask("peak", "what was live when the device held most", log=log))
    following.append(answers.ask("advice", "changes, with what each would save", log=log))
    return following


def _stays(report):
    """Whether what was alive at the end, with known holders, is most of what the program itself had at the peak."""
    own = sum(each["bytes"] for peak in report["peaks"] for each in peak["by_library"]
              if (each["role"], each["of"]) == ("program", "blocks"))
    return sum(each["bytes"] for each in report["live_at_exit"] if each.get("holders")) > own / 2 > 0


def steps(desk, log, limit, cursor):
    found = desk.ask("steps", log)
    keys = ("number", "first_event", "peak_bytes", "after_bytes", "allocated_bytes", "likeness", "differs")
    rows = [{**{key: step[key] for key in keys}, "seconds": (step["end_ns"] - step["begin_ns"]) / 1e9}
            for step in found["steps"]]
    shown, page = answers.paged(rows, limit, cursor)
    level = "high" if found["confidence"] >= 0.95 else "medium" if found["used"] else "none"
    facts = {"source": found["source"], "why": found["why"], "warm_up_steps": found["warm_up_steps"],
             "first_that_differs": next((row["number"] for row in rows if row["differs"]), None), "rows": shown}
    following = []
    if len(rows) > 3:
        following.append(answers.ask("diff", "what stayed between an early and a late step", before=log,
                                     from_step=rows[1]["number"], to_step=rows[-2]["number"]))
    following.append(answers.ask("leaks", "what grows with every step", log=log))
    return answers.answer(facts, answers.sure(level, f"confidence {found['confidence']:.2f} of 1"),
                          [desks.cite(log, row["number"], row["first_event"]) for row in shown], following, page)
