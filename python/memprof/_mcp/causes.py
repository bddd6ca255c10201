"""What grows, what holds it, and why memory ran out."""
from . import answers, desk as desks, frames, ranking
from .errors import McpError

_LEVELS = {"definite": "high", "suspected": "high", "growing": "medium"}
RECORD_HOLDERS = "memprof run --holders records which variables hold memory; this log has none"


def leaks(desk, log, limit, cursor):
    found = desk.ask("leaks", log)
    ranked = [*found["leaks"], *found["rising"]]
    chosen, page = answers.paged(ranked, limit, cursor)
    rows = [_leak_row(entry, page["first"] + place) for place, entry in enumerate(chosen)]
    facts = {"verdict": found["verdict"], "steps": found["steps"], "judged_by": found["basis"],
             "lines": frames.lines_of(ranked), "rows": rows,
             "alive_at_end": [{"site": entry["site"], "bytes": entry["bytes"]} for entry in found["live_at_exit"][:3]]}
    cites = [desks.cite(log, entry["first_step"], desk.allocation(log, entry["example"])) for entry in chosen[:3]]
    return answers.answer(facts, _leak_trust(found), cites or [desks.cite(log)], _after_leaks(log, ranked, found), page)


def _leak_row(entry, place):
    return {"leak": place, "site": entry["site"], "line": frames.line_of(entry), "tier": entry["tier"],
            "score": entry["score"], "bytes": entry["bytes"], "blocks": entry["blocks"],
            "bytes_per_step": entry["bytes_per_step"], "bytes_per_second": entry.get("bytes_per_second"),
            "steps_to_oom": entry["steps_to_oom"], "layer": entry["layer"], "device": entry["device"],
            "first_step": entry["first_step"], "why": entry["why"], "doubt": entry["disproof"],
            "own_stack": frames.own_stack(entry),
            "holders": [holder["path"] for holder in frames.alike(entry.get("holders") or [])[:2]]}


def _leak_trust(found):
    if found["leaks"]:
        worst = found["leaks"][0]
        return answers.sure(_LEVELS.get(worst["tier"], "low"),
                            f"{worst['tier']}, score {worst['score']:.0f} of 100, by {worst['basis']}")
    if found["horizon_too_short"]:
        return answers.sure("none", "the run is too short to judge growth: record more steps")
    if found["rising"]:
        return answers.sure("low", f"borderline: best score {found['rising'][0]['score']:.0f} of 100")
    return answers.sure("high", "no growth")


def _after_leaks(log, ranked, found):
    if not ranked:
        return [answers.ask("peak", "nothing grows: what the peak was made of", log=log)]
    following = []
    if any(entry.get("holders") for entry in ranked):
        following.append(answers.ask("holders", "which variable keeps it alive", log=log, leak=0))
    line = frames.line_of(ranked[0])
    if line:
        following.append(answers.ask("source_lines", "the code that allocates what stays", log=log, file=line["file"],
                                     line=line["line"]))
    if found["leaks"]:
        following.append(answers.ask("oom", "whether it filled the device", log=log))
    return following


def holders(desk, log, leak, limit, cursor):
    entries = desk.kept(log)
    if leak is not None:
        if not 0 <= leak < len(entries):
            raise McpError(f"there is no leak {leak}: 'leaks' lists {len(entries)}, from 0" if entries
                           else "this log has no leak and nothing that was alive at the end")
    chosen = range(len(entries)) if leak is None else [leak]
    pairs = [(number, holder) for number in chosen for holder in frames.alike(entries[number].get("holders") or [])]
    if not pairs:
        return answers.answer({"rows": [], "missing": RECORD_HOLDERS}, answers.sure("none", "not recorded"),
                              [desks.cite(log)], [answers.ask("leaks", "the lines that allocate", log=log)],
                              {"first": 0, "total": 0})
    shown, page = answers.paged(pairs, limit, cursor)
    rows = [{"path": holder["path"], "kind": holder["kind"], "bytes": holder["bytes"], "blocks": holder["blocks"],
             "alike": holder["alike"], "chain": holder["chain"][-6:], "of_site": entries[number]["site"]}
            for number, holder in shown]
    number, first = pairs[0]
    entry = entries[number]
    share = min(1, first["bytes"] / entry["bytes"]) if entry["bytes"] else 0
    lines = ranking.of_kept(desk, log, number)[:3]
    trust = answers.sure("high" if share >= 0.9 else "medium" if share >= 0.5 else "low",
                         f"the first holder has {share:.0%} of the {entry['bytes']} bytes that stay "
                         f"({entry['tier']}, score {entry['score']:.0f} of 100)")
    following = [answers.ask("source_lines", "the lines that store it and that made it", log=log, file=lines[0]["file"],
                             leak=number)] if lines else []
    return answers.answer({"lines": lines, "rows": rows}, trust,
                          [desks.cite(log, entry["first_step"], desk.allocation(log, entry["example"]))], following, page)


def oom(desk, log, event, limit, cursor):
    found = desk.ask("oom", log, *([] if event is None else [f"--event={event}"]))
    if not found["failures"]:
        return answers.answer({"verdict": "no request for memory failed", "headroom": found["headroom"][:8]},
                              answers.sure("high", "every failed request is recorded"), [desks.cite(log)],
                              [answers.ask("peak", "what the device held at most", log=log)])
    explained = [each for each in found["failures"] if "cause" in each] or found["failures"]
    fatal = [each for each in explained if not each["recovered"]]
    failure = (fatal or explained)[-1]
    sites, page = answers.paged(failure.get("sites") or [], limit, cursor)
    growth, larger = failure.get("growth"), failure.get("larger_step")
    facts = {
        "why": failure.get("why"), "cause": failure.get("cause"), "bytes": failure["bytes"], "step": failure["step"],
        "recovered": failure["recovered"], "missing_bytes": failure.get("missing_bytes"), "requested_at": failure["site"],
        "own_stack": frames.own_stack(failure), "lines": frames.lines_of(_suspects(failure)),
        "failures": found["failures_total"], "growth": _figures(growth), "larger_step": _figures(larger),
        "first_step": failure.get("first_step"), "space": _figures(failure.get("space")),
        "remedies": [{"fits": each["fits"], "words": each["words"]} for each in (failure.get("remedies") or [])[:5]],
        "rows": [{"site": site["site"], "bytes": site["bytes"], "blocks": site["blocks"]} for site in sites],
        "holders": [{"path": holder["path"], "bytes": holder["bytes"]}
                    for holder in (failure.get("holders") or [])[:3]],
    }
    sampled = (failure.get("space") or {}).get("sampled")
    trust = answers.sure("none", "the cause is not known") if failure.get("cause") in (None, "unknown") else \
        answers.sure("high", "where every byte was is known from a sample of the driver") if sampled else \
        answers.sure("medium", "no sample of the device's free memory: the space is as far as the log shows")
    return answers.answer(facts, trust, [desks.cite(log, failure["step"], failure["event"])],
                          _after_oom(log, failure), page)


def _figures(value):
    """Of an object, what is no list and no stack."""
    return None if value is None else {name: each for name, each in value.items() if not isinstance(each, list)}


def _suspects(failure):
    """What filled the device, then what asked: the other way round if the request alone is larger than all else."""
    sites = failure.get("sites") or []
    request = [failure]
    if failure.get("growth"):
        return [failure["growth"], *request]
    if failure.get("cause") == "too_large" or not sites or failure["bytes"] > sites[0]["bytes"]:
        return [*request, *sites]
    larger = [failure["larger_step"]] if failure.get("larger_step") else []
    return [*larger, sites[0], *request, *sites[1:]]


def _after_oom(log, failure):
    following = []
    if failure.get("growth"):
        following.append(answers.ask("leaks", "memory grew until it failed: what, with evidence", log=log))
    lines = frames.lines_of(_suspects(failure))
    if lines:
        following.append(answers.ask("source_lines", "the code that holds most or asked for most", log=log,
                                     file=lines[0]["file"], line=lines[0]["line"]))
    following.append(answers.ask("peak", "all that was live when it failed", log=log, at="oom"))
    following.append(answers.ask("advice", "what could be saved", log=log))
    return following
