"""Verdicts on the recorder itself: ledger, other processes, ends and starts, cost. Figures in, verdicts out."""
import statistics

from verdicts import DIFFERS, FAILED, MIB, OK, SKIPPED, Section, worst

# Calls that memprof makes itself, and their limits in ns: some for every event, some at a limited rate.
CALL_LIMITS = {"cuCtxGetCurrent": 200, "cuCtxGetDevice": 200, "cuCtxGetId": 200, "cuStreamIsCapturing": 1_000,
               "cuMemGetAddressRange_v2": 2_000, "cuDriverGetVersion": 1_000, "cuMemGetInfo_v2": 1_000_000}
# heaptrack's net cost of a malloc and a free at the same stack depth of 20 (docs/benchmarks.md).
PAIR_LIMIT_NS = 277


def judge_device(told):
    """`told`: the guest's output, with the ns of several loops for each call."""
    rows, slow = [["call of memprof's", "ns", "may cost, ns"]], []
    for call, ns in told["costs"].items():
        median = statistics.median(ns)
        limit = CALL_LIMITS.get(call, 1_000)
        if median > limit:
            slow.append(call)
        rows.append([call, f"{median:,.0f} [{min(ns):,.0f} .. {max(ns):,.0f}]", f"{limit:,}"])
    summary = (f"cuInit took {told['init_ms']:.0f} ms, a context {told['context_ms']:.0f} ms; "
               + (f"slower than assumed: {', '.join(slow)}" if slow else "the calls that memprof makes are cheap"))
    verdict = FAILED if not told["costs"] else DIFFERS if slow else OK
    return Section("The device and its calls", verdict, summary, rows)


def judge_ledger(told, ledger, blocks):
    """Whether the device's used memory is explained by known parts. `told`: the guest's figures with its requests
    in each layer; `ledger`: from the report."""
    title = "The ledger closes"
    wrong, other = [], []
    for name in ("highest", "last"):
        entry = ledger[name]
        known = (sum(entry["by_layer"].values()) + entry["pools_bytes"] + entry["untracked_bytes"]
                 + (entry.get("other_processes_bytes") or 0))
        if entry["used_bytes"] + entry["elsewhere_bytes"] != known:
            wrong.append(f"{name}: {entry['used_bytes']:,} bytes used, {known:,} accounted for")
    highest, last = ledger["highest"], ledger["last"]
    for layer, asked in told["layers"].items():
        recorded = highest["by_layer"].get(layer, 0)
        if recorded != asked:
            wrong.append(f"{layer}: {recorded:,} bytes in the ledger, {asked:,} asked for")
    left = sum(last["by_layer"].values())
    if left:
        wrong.append(f"{left:,} bytes in the ledger after all was given back")
    slack = len(told["layers"]) * (2 * MIB * blocks + 4 * MIB) + 64 * MIB
    taken = told["free_before"] - told["free_held"]
    by_ledger = highest["used_bytes"] - last["used_bytes"]
    if abs(by_ledger - taken) > slack:
        other.append(f"the ledger's samples saw {by_ledger:,} bytes taken, the program {taken:,}")
    moved = highest["untracked_bytes"] - last["untracked_bytes"]
    if abs(moved) > slack:
        other.append(f"the untracked share moved by {moved:,} bytes with what the program took")
    if highest["elsewhere_bytes"] > slack:
        other.append(f"{highest['elsewhere_bytes']:,} bytes are known of and not on the device")
    summary = "; ".join(wrong + other) or (
        f"of {highest['used_bytes']:,} bytes used at the highest, {highest['untracked_bytes']:,} are untracked (context, "
        f"code), and that moved by {moved:,} while {taken:,} bytes of {len(told['layers'])} kinds came and went")
    names = sorted(set(highest["by_layer"]) | set(told["layers"]))
    rows = [["", "asked for", "at the highest use", "at the end"]]
    rows += [[name, f"{told['layers'].get(name, 0):,}", f"{highest['by_layer'].get(name, 0):,}",
              f"{last['by_layer'].get(name, 0):,}"] for name in names]
    for name, key in (("pools beyond that", "pools_bytes"), ("untracked", "untracked_bytes"), ("used", "used_bytes")):
        rows.append([name, "", f"{highest[key]:,}", f"{last[key]:,}"])
    return Section(title, FAILED if wrong else DIFFERS if other else OK, summary, rows)


def judge_others(told, others_bytes, held_bytes):
    """Another process holds `held_bytes`. `others_bytes`: from the ledger, None if it is not known."""
    title = "Other processes' share"
    if others_bytes is None and not told["nvml"]:
        return Section(title, SKIPPED, "there is no NVML (libnvidia-ml.so.1)")
    if others_bytes is None:
        return Section(title, DIFFERS, "NVML is there and does not tell (a container whose process ids are not its own, "
                                       "or MIG): other processes' memory is in the untracked share")
    if others_bytes < held_bytes:
        return Section(title, FAILED, f"{others_bytes:,} bytes said, another process holds {held_bytes:,}")
    summary = f"another process holds {held_bytes:,} bytes and a context; the ledger says {others_bytes:,}"
    # A context takes hundreds of MiB; more than that belongs to another process, or is counted twice.
    return Section(title, OK if others_bytes <= held_bytes + 2048 * MIB else DIFFERS, summary)


def judge_kill(runs):
    """`runs`: (number of allocations, how the guest ended, the report's events, whether it claims a clean end, the
    names of its anomalies)."""
    rows, verdicts = [["run", "made", "recorded", "lost", "anomalies", "verdict"]], []
    for number, (made, status, events, complete, anomalies) in enumerate(runs, 1):
        if status != -9:
            wrong = f"the guest ended with {status}, not by SIGKILL"
        elif events["allocations"] != made:
            wrong = f"{made - events['allocations']:,} allocations are missing"
        elif events["lost"]:
            wrong = f"{events['lost']:,} events were dropped"
        elif complete:
            wrong = "the log claims a clean end"
        else:
            wrong = ""
        verdicts.append(FAILED if wrong else OK)
        rows.append([number, f"{made:,}", f"{events['allocations']:,}", events["lost"], ", ".join(anomalies),
                     wrong or "ok"])
    kept = verdicts.count(OK)
    return Section("Killed with SIGKILL", worst(verdicts), f"{kept} of {len(runs)} runs kept every allocation", rows)


def judge_late(told, live, sizes, count):
    """Recording started and stopped by a signal. `live`: {mark: (blocks, bytes)}; `sizes`: bytes of all allocations
    in the log; `count`: blocks of each kind."""
    wrong = []
    if told["recorded_before"]:
        wrong.append("it recorded before the signal")
    if not told["begun"]:
        wrong.append("the signal did not begin it")
    if not told["stopped"]:
        wrong.append("the second signal did not stop it")
    taken, given = ([now - before for now, before in zip(live.get(mark, (0, 0)), live.get("begun", (0, 0)))]
                    for mark in ("taken", "given back"))
    if taken != [count, count * told["late"]]:
        wrong.append(f"{taken[0]} blocks of {taken[1]:,} bytes recorded, {count} of {count * told['late']:,} were taken")
    if given != [0, 0]:
        wrong.append(f"{given[0]} blocks still live after they were given back")
    unseen = sizes.count(2 * told["late"])
    if unseen:
        wrong.append(f"{unseen} allocations recorded after it was stopped")
    return Section("Begun late, by a signal", FAILED if wrong else OK,
                   "; ".join(wrong) or f"begun and stopped by a signal; {count} of {count} blocks in between recorded, "
                                       f"none from before or after")


def judge_pairs(runs, judged=True):
    """`runs`: {variant: [ns of one allocation and free in each round, in the calling thread]}, including "bare"."""
    rows, nets = [["variant", "ns per pair", "net, ns", "times the bare driver"]], {}
    bare = runs["bare"]
    for variant, ns in runs.items():
        if isinstance(ns, str):
            rows.append([variant, "", "", f"skipped: {ns}"])
            continue
        net = [one - other for one, other in zip(ns, bare)]
        ratio = [one / other for one, other in zip(ns, bare)]
        nets[variant] = statistics.median(net)
        rows.append([variant, f"{statistics.median(ns):,.0f} [{min(ns):,.0f} .. {max(ns):,.0f}]",
                     "" if variant == "bare" else f"{nets[variant]:,.0f}",
                     "" if variant == "bare" else f"{statistics.median(ratio):.2f}"])
    net = nets.get("interposed")
    if net is None:
        return Section("Cost of a pair", FAILED, "nothing was measured", rows)
    verdict = OK if not judged or net <= PAIR_LIMIT_NS else DIFFERS
    return Section("Cost of a pair", verdict,
                   f"recording adds {net:,.0f} ns to the {statistics.median(bare):,.0f} ns of a cuMemAlloc and cuMemFree, 20 "
                   f"calls deep (goal: {PAIR_LIMIT_NS} ns)" + ("" if judged else "; not judged on the stand-in"), rows)


def judge_checkpoint(told, events, live):
    """`events` of the log; `live`: {mark: (blocks, bytes)}."""
    title = "Checkpoint"
    marks = [event.get("aux0") for event in events if event["op"] == "checkpoint"]
    wrong = []
    if marks != [1, 2, 3, 4]:
        wrong.append(f"marks {marks} in the log, [1, 2, 3, 4] (lock, checkpoint, restore, unlock) were to be there")
    if live.get("after") != live.get("before") or live.get("before") != (1, told["asked"]):
        wrong.append(f"live before {live.get('before')}, after {live.get('after')}, {told['asked']:,} bytes were held")
    if wrong:
        return Section(title, FAILED, "; ".join(wrong))
    return Section(title, OK if told["same"] else DIFFERS,
                   "marked in the log, and the memory lives on" if told["same"]
                   else "marked in the log; the memory came back with other contents")
