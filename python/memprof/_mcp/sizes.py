"""What memory was at an instant, what two runs differ by, and what a change would save."""
import re

from . import answers, desk as desks, frames
from .errors import McpError

_TABLES = {"site": "block_sites", "driver_site": "sites", "module": "by_module", "category": "by_category",
           "library": "by_library", "operator": "by_operator", "tensor": "tensor_groups"}


def peak(desk, log, by, at, device, limit, cursor):
    options = ["--top=200", *_instant(at), *([] if device is None else [f"--device={device}"])]
    found = desk.ask("peak", log, *options)["peaks"]
    if not found:
        if device is not None:
            raise McpError(f"the log has no device {device}")
        return answers.answer({"rows": [], "missing": "the log has no memory on a device"},
                              answers.sure("none", "nothing was counted"), [desks.cite(log)],
                              [answers.ask("summary", "what the log has", log=log)], {"first": 0, "total": 0})
    best = max(found, key=lambda each: each["bytes"])
    entries = _entries(best, by)
    chosen, page = answers.paged(entries, limit, cursor)
    at_block = best.get("allocator_peak") or {}
    facts = {"device": best["device"], "other_devices": [each["device"] for each in found if each is not best],
             "bytes": best["bytes"], "step": best["step"], "allocator_bytes": at_block.get("bytes"),
             "by_layer": best["by_layer"], "by": by, "rows": [_row(entry) for entry in chosen]}
    if by in ("site", "driver_site", "line"):
        facts["lines"] = frames.lines_of(entries)
    if not entries:
        facts["missing"] = f"the log has nothing by {by}"
    trust = answers.sure("high", "counted at one instant")
    if by == "category" and entries:
        mean = sum(entry["confidence"] * entry["bytes"] for entry in entries) / max(1, sum(e["bytes"] for e in entries))
        trust = answers.sure("high" if mean >= 0.8 else "medium" if mean >= 0.5 else "low",
                             f"categories are judged: {mean:.2f} of 1 on average")
    cites = [desks.cite(log, best["step"], desk.first_event(log, best["step"]))]
    return answers.answer(facts, trust, cites, _after_peak(log, by, at, entries), page)


def _instant(at):
    """The option for: peak, oom, step=N, snapshot=LABEL."""
    if at == "peak":
        return []
    if at == "oom" or at.startswith("snapshot=") and len(at) > 9:
        return [f"--at={at}"]
    if re.fullmatch(r"step=\d{1,9}", at):
        return [f"--{at}"]
    raise McpError("at is one of: peak, oom, step=N, snapshot=LABEL")


def _entries(best, by):
    if by != "line":
        return best.get(_TABLES[by]) or (best.get("sites") if by == "site" else None) or []
    lines = {}
    for entry in best.get("block_sites") or best["sites"]:
        line = frames.line_of(entry)
        key = f"{line['file']}:{line['line']}" if line else "(no line)"
        sum_ = lines.setdefault(key, {"line": key, "site": entry["site"], "bytes": 0, "blocks": 0,
                                      "site_frame": {"function": "", **line} if line else None})
        sum_["bytes"] += entry["bytes"]
        sum_["blocks"] += entry["blocks"]
    return sorted(lines.values(), key=lambda each: -each["bytes"])


def _row(entry):
    row = {key: entry[key] for key in ("line", "site", "module", "category", "library", "role", "operator", "name",
                                       "shape", "bytes", "blocks", "count", "confidence") if key in entry}
    without = entry.get("without")
    return {**row, "saves_bytes": without["saves_bytes"]} if without else row


def _after_peak(log, by, at, entries):
    following = []
    lines = frames.lines_of(entries) if by in ("site", "driver_site", "line") else []
    if lines:
        following.append(answers.ask("source_lines", "the code that holds most", log=log, file=lines[0]["file"],
                                     line=lines[0]["line"]))
    # Sites of the driver's memory are grouped; its calls have other names of their own.
    if lines and at == "peak" and by != "driver_site" and "without" in entries[0]:
        following.append(answers.ask("what_if", "the exact peak with half of it", log=log, factor=0.5,
                                     text=f"{lines[0]['file'].rsplit('/', 1)[-1]}:{lines[0]['line']}"))
    if by != "category":
        following.append(answers.ask("peak", "what it was for", log=log, by="category"))
    following.append(answers.ask("advice", "what could be saved", log=log))
    return following


def diff(desk, before, after, from_step, to_step, limit, cursor):
    if after is not None:
        if from_step is not None or to_step is not None:
            raise McpError("give two logs, or one log and two steps")
        paths = [*desk.logs.paths(before), *desk.logs.paths(after)]
        if len(paths) != 2:
            raise McpError("diff compares two single logs, not folders")
        found = desk.verbs.ask("diff", paths, "--top=0")
    else:
        if from_step is None:
            raise McpError("give a second log, or from_step")
        to = [] if to_step is None else [f"--to=step={to_step}"]
        found = desk.ask("diff", before, "--top=0", f"--from=step={from_step}", *to)
    sites = found["sites"]
    grown = sorted((each for each in sites if _change(each) > 0), key=_change, reverse=True)
    chosen, page = answers.paged(sites, limit, cursor)
    figures = [{key: each.get(key) for key in ("name", "device", "before", "after", "change", "within_variation")}
               for each in found["figures"]]
    facts = {"lines": frames.lines_of(grown), "figures": figures, "rows": [_difference(each) for each in chosen],
             "threshold_bytes": found["threshold_bytes"]}
    certain = bool(grown) and not grown[0]["within_variation"]
    trust = answers.sure("high" if certain else "low" if grown else "medium",
                         "beyond what one run varies by itself" if certain else
                         "within what one run varies by itself" if grown else "no call site has more memory than before")
    log = after or before
    cites = [desks.cite(before, from_step), desks.cite(log, to_step)]
    following = []
    if facts["lines"]:
        line = facts["lines"][0]
        following.append(answers.ask("source_lines", "the code that has more memory than before", log=log,
                                     file=line["file"], line=line["line"]))
    following.append(answers.ask("summary", "what happened in the later run", log=log))
    return answers.answer(facts, trust, cites, following, page)


def _change(site):
    """Of memory; without a change of it, of what is allocated in a step."""
    return site["after_bytes"] - site["before_bytes"] or site["after_growth"] - site["before_growth"]


def _difference(site):
    keys = ("site", "before_bytes", "after_bytes", "before_blocks", "after_blocks", "new", "gone", "within_variation",
            "before_growth", "after_growth")
    return {key: site[key] for key in keys}


def what_if(desk, log, text, factor):
    if not text or len(text) > 200:
        raise McpError("text is a part of a call site's or tensor's name, of 1 to 200 characters")
    if not 0 <= factor <= 1000:
        raise McpError("factor is between 0 and 1000")
    found = desk.ask("peak", log, "--top=1", f"--what-if={text}={factor!r}")["peaks"]
    rows = []
    for each in found:
        for of, changed in (each.get("what_if") or {}).items():
            recorded = each["bytes"] if of == "driver" else (each.get("allocator_peak") or {}).get("bytes")
            rows.append({"device": each["device"], "of": of, "recorded_bytes": recorded, **changed})
    facts = {"rows": rows} if rows else {"rows": [], "missing": f"no allocation has {text!r} in its name"}
    trust = answers.sure("high", "exact for the recorded requests: they are replayed with the other size") if rows else \
        answers.sure("none", "nothing was changed")
    return answers.answer(facts, trust, [desks.cite(log, row["step"]) for row in rows] or [desks.cite(log)],
                          [answers.ask("advice", "other changes", log=log)], {"first": 0, "total": len(rows)})


def advice(desk, log, limit, cursor):
    found = desk.ask("advise", log, "--top=0")
    findings = found["findings"]
    chosen, page = answers.paged(findings, limit, cursor)
    keys = ("pattern", "confidence", "site", "saves_bytes", "upper_bound", "count", "bytes", "why", "fix", "assumption",
            "trade_off")
    rows = [{**{key: each.get(key) for key in keys}, "line": frames.line_of(each)} for each in chosen]
    facts = {"lines": frames.lines_of(findings), "rows": rows, "notes": found["notes"][:3]}
    levels = {"certain": "high", "likely": "high", "possible": "medium"}
    trust = answers.sure(levels.get(findings[0]["confidence"], "low"), findings[0]["confidence"]) if findings else \
        answers.sure("medium", "no pattern of waste was found")
    cites = [desks.cite(log, example.get("step"), example.get("event"))
             for each in chosen for example in each["examples"][:1]]
    line = frames.line_of(findings[0]) if findings else None
    following = [answers.ask("source_lines", "the code of the best finding", log=log, file=line["file"],
                             line=line["line"])] if line else []
    return answers.answer(facts, trust, cites or [desks.cite(log)], following, page)
