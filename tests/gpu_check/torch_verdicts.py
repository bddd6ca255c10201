"""Verdicts of scripts/gpu-check on PyTorch's figures and the log's: figures in, verdicts out."""
from verdicts import DIFFERS, FAILED, OK, Section, worst

# PyTorch requests its segments from the driver in pieces; memory of libraries is added.
_LEAKS = ("definite", "suspected")


def _not_run(seen, scripts):
    left = scripts - len(seen)
    return f"; no time was left for {left} more" if left else ""


def judge_totals(title, version, seen, scripts):
    """`seen`: {script: (PyTorch's figures or why there are none, devices of the report)}, of so many scripts."""
    rows, found = [["script", "max allocated", "recorded", "max reserved", "recorded", "verdict"]], []
    for script, (told, devices) in seen.items():
        framework = devices[0].get("framework") if devices else None
        if isinstance(told, str) or framework is None:
            verdict, words = FAILED, told if isinstance(told, str) else "its allocator was not seen"
            rows.append([script, "", "", "", "", f"{verdict}: {words}"])
        else:
            pairs = [(told["allocated"], framework["peak_bytes"]),
                     (told["reserved"], framework["peak_reserved_bytes"])]
            verdict = OK if all(theirs == ours for theirs, ours in pairs) else FAILED
            # Other users of memory in the process can only add to it.
            if verdict == OK and devices[0]["peak_bytes"] < told["reserved"]:
                verdict = DIFFERS
            rows.append([script, *(f"{figure:,}" for pair in pairs for figure in pair), verdict])
        found.append(verdict)
    same = sum(verdict == OK for verdict in found)
    return Section(title, worst(found), f"the peaks of blocks and segments are PyTorch {version}'s own, to the byte, "
                                        f"in {same} of {len(found)} scripts{_not_run(seen, scripts)}", rows)


def judge_history(title, version, seen, scripts):
    """`seen`: {script: (events compared, differences)}, of so many scripts."""
    rows, found = [["script", "events", "differences", "the first", "verdict"]], []
    for script, (events, differences) in seen.items():
        verdict = OK if events >= 5 and not differences else FAILED
        first = differences[0] if differences else "" if events >= 5 else "hardly anything was compared"
        rows.append([script, f"{events:,}", len(differences), first[:120], verdict])
        found.append(verdict)
    same = sum(verdict == OK for verdict in found)
    return Section(title, worst(found), f"every block and segment of PyTorch {version}'s history is in the log, with "
                                        f"address, size, order and Python stack, in {same} of {len(found)} scripts"
                                        f"{_not_run(seen, scripts)}", rows)


def judge_leak(title, told, script):
    """`told`: memprof leaks --json. The leak must be attributed to a line of the script, and no other leak
    reported."""
    leaks = [leak for leak in told["leaks"] if leak["tier"] in _LEAKS]
    named = [leak for leak in leaks if f"({script}:" in leak["site"]]
    rows = [["tier", "bytes a step", "site"]] + [[leak["tier"], f"{leak['bytes_per_step']:,.0f}", leak["site"]]
                                                 for leak in leaks]
    if not leaks:
        return Section(title, FAILED, f"none was found: {told['verdict']}", rows)
    if not named:
        return Section(title, FAILED, f"found, but not at a line of {script}", rows)
    return Section(title, OK, f"named by its line: {named[0]['site']}", rows)
