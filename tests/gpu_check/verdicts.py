"""Verdicts of scripts/gpu-check: figures in, verdicts out. Nothing here runs anything, so every verdict can be
tested with made-up figures.

A section is
  ok       as memprof assumes
  differs  the machine behaves differently than memprof's documents describe; nothing was recorded wrongly
  failed   memprof recorded something wrongly, or an expected observation was not possible
  skipped  it cannot be tested here, for the stated reason
"""
import difflib
import statistics

OK, DIFFERS, FAILED, SKIPPED = "ok", "differs", "failed", "skipped"
_SEVERITY = {SKIPPED: 0, OK: 1, DIFFERS: 2, FAILED: 3}
MIB = 1 << 20


class Section:
    def __init__(self, title, verdict, summary, table=(), notes=()):
        self.title, self.verdict, self.summary = title, verdict, summary
        self.table, self.notes = [list(map(str, row)) for row in table], list(notes)
        self.seconds = 0.0


def worst(verdicts):
    """The worst of several verdicts; skipped if all are skipped."""
    return max(verdicts, key=_SEVERITY.__getitem__, default=SKIPPED)


# Pointers -----------------------------------------------------------------------------------------

def expected_name(symbols, base, version, flags):
    """The exported name that cuGetProcAddress should return: among the variants of the base name for the stream
    flags, the one with the highest threshold that the version reaches."""
    flavours = ("kAny", "kPerThread") if flags == 2 else ("kAny", "kLegacy")
    fitting = [s for s in symbols if s["base"] == base and s["since"] <= version and s["streams"] in flavours]
    return max(fitting, key=lambda s: s["since"])["name"] if fitting else None


def as_expected(symbols, base, version, flags, address):
    """Whether the address is as expected. A version older than a stream variant may have it or not: some drivers
    return the variant as soon as they have the base name."""
    name = expected_name(symbols, base, version, flags)
    if name is not None:
        return address == next(s["address"] for s in symbols if s["name"] == name)
    return flags == 2 and any(s["base"] == base and s["streams"] == "kPerThread" and s["address"] == address
                              and any(other["base"] == base and other["since"] <= version for other in symbols)
                              for s in symbols)


def _name_of(symbols, address):
    return "/".join(s["name"] for s in symbols if s["address"] == address) or "a function of no exported name"


def judge_pointers(bare):
    """Whether cuGetProcAddress and dlsym return the same addresses."""
    symbols = bare["symbols"]
    by_name = {s["name"]: s["address"] for s in symbols}
    absent = [s["name"] for s in symbols if s["address"] == "0x0"]
    same, nothing, others, refused = 0, 0, [], []
    for answer in bare["answers"]:
        name = expected_name(symbols, answer["base"], answer["version"], answer["flags"])
        way = f"{answer['through']}, {answer['version']}, flags {answer['flags']}"
        if answer["address"] == "0x0" or answer["result"] != 0:
            if name is not None and by_name[name] != "0x0":
                refused.append([answer["base"], way, name, f"nothing (result {answer['result']})"])
            else:
                nothing += 1
        elif as_expected(symbols, answer["base"], answer["version"], answer["flags"], answer["address"]):
            same += 1
        else:
            others.append([answer["base"], way, name, _name_of(symbols, answer["address"])])
    unknown = [row for row in others if row[3].startswith("a function of no")]
    verdict = DIFFERS if others or refused else OK if same else FAILED
    summary = (f"driver {bare['driver_version']}: {len(symbols) - len(absent)} of {len(symbols)} names exported; "
               f"{same} of {len(bare['answers'])} answers are the address that dlsym gives for the expected name, "
               f"{len(others)} another one ({len(unknown)} of them no exported function at all), "
               f"{len(refused)} nothing where something was expected, {nothing} rightly nothing")
    table = [["base name", "asked", "expected", "got"]] + (others + refused)[:60] if others or refused else []
    return Section("Pointer identity", verdict, summary, table,
                   [f"Not exported by this driver: {', '.join(absent)}."] if absent else [])


def judge_wrapped(bare, recorded):
    """Whether every function of the table is returned as memprof's own under memprof."""
    escaped, total = [], 0
    for kind, key in (("symbols", "name"), ("answers", "base")):
        for before, now in zip(bare[kind], recorded[kind]):
            if before["address"] == "0x0":
                continue
            total += 1
            if not now["object"].startswith("libmemprof"):
                way = "dlsym" if kind == "symbols" else f"{now['through']}, {now['version']}, flags {now['flags']}"
                escaped.append([now[key], way, now["object"] or "nothing"])
    verdict = FAILED if escaped or not total else OK
    return Section("Pointers under memprof", verdict,
                   f"{total - len(escaped)} of {total} look-ups give memprof's function",
                   [["name", "asked", "got a function of"]] + escaped[:60] if escaped else [])


# Runtime to driver --------------------------------------------------------------------------------

# The names found in runtimes of CUDA 12 and 13. This section determines which of them the runtimes call.
RUNTIME_MAP = {
    "first call": ["cuDevicePrimaryCtxRetain", "cuMemFree_v2"],
    "cudaMalloc": ["cuMemAlloc_v2"],
    "cudaMallocPitch": ["cuMemAllocPitch_v2"],
    "cudaMalloc3D": ["cuMemAllocPitch_v2"],
    "cudaMallocManaged": ["cuMemAllocManaged"],
    "cudaMallocHost": ["cuMemHostAlloc"],
    "cudaHostAlloc": ["cuMemHostAlloc"],
    "cudaHostRegister": ["cuMemHostRegister_v2"],
    "cudaMallocArray": ["cuArray3DCreate_v2"],
    "cudaMalloc3DArray": ["cuArray3DCreate_v2"],
    "cudaMallocMipmappedArray": ["cuMipmappedArrayCreate"],
    "cudaMallocAsync": ["cuMemAllocAsync"],
    "cudaMemPoolCreate": ["cuMemPoolCreate"],
    "cudaMallocFromPoolAsync": ["cuMemAllocFromPoolAsync"],
    "cudaMallocAsync_ptsz": ["cuMemAllocAsync_ptsz"],
    "cudaFreeAsync_ptsz": ["cuMemFreeAsync_ptsz"],
    "cudaFreeAsync": ["cuMemFreeAsync"],
    "cudaFreeAsync (pool)": ["cuMemFreeAsync"],
    "cudaMemPoolTrimTo": ["cuMemPoolTrimTo"],
    "cudaMemPoolDestroy": ["cuMemPoolDestroy"],
    "cudaFreeMipmappedArray": ["cuMipmappedArrayDestroy"],
    "cudaFreeArray (3D)": ["cuArrayDestroy"],
    "cudaFreeArray": ["cuArrayDestroy"],
    "cudaHostUnregister": ["cuMemHostUnregister"],
    "cudaFreeHost (host)": ["cuMemFreeHost"],
    "cudaFreeHost": ["cuMemFreeHost"],
    "cudaFree (managed)": ["cuMemFree_v2"],
    "cudaFree (3D)": ["cuMemFree_v2"],
    "cudaFree (pitched)": ["cuMemFree_v2"],
    "cudaFree": ["cuMemFree_v2"],
    "cudaDeviceReset": ["cuDevicePrimaryCtxReset"],
}
# Actions that cause no event with a function's name.
_UNLABELLED = {"first call", "cudaDeviceReset"}


def judge_runtime_map(traced, recorded, intercepted):
    """`traced`: the guest's answer when CUPTI is subscribed. `recorded`: {action: functions in memprof's log} of
    another run. `intercepted`: the names of memprof's table."""
    title = "Runtime to driver"
    if traced["trace"]:
        return Section(title, SKIPPED, f"CUPTI could not watch: {traced['trace']}")
    rows, verdicts = [["runtime", "driver, as CUPTI saw it", "expected", "recorded", "verdict"]], []
    for action in traced["actions"]:
        name = action["runtime"]
        seen = [function for function in action["driver"] if function in intercepted
                and not function.startswith("cuGetProcAddress") and function != "cuInit"]
        expected = RUNTIME_MAP[name]
        logged = recorded.get(name, [])
        if action["result"] != 0:
            verdict, said = DIFFERS, f"returned {action['result']}"
        elif name not in _UNLABELLED and logged != seen:
            verdict, said = FAILED, "recorded something else"
        else:
            verdict, said = (OK, "ok") if seen == expected else (DIFFERS, "another function")
        verdicts.append(verdict)
        others = [function for function in action["driver"] if function not in intercepted]
        rows.append([name, ", ".join(seen) + (f" (and {len(others)} not of the table)" if others else ""),
                     ", ".join(expected), ", ".join(logged), said])
    good = verdicts.count(OK)
    return Section(title, worst(verdicts), f"{good} of {len(verdicts)} runtime calls as expected", rows)


# Totals -------------------------------------------------------------------------------------------

class Family:
    """`layer` in the log; `place` of the memory: device; host; elsewhere (of another owner: handles are counted,
    bytes are not); nowhere (no separate memory); context (part of a separate context); code (part of device code,
    whose bytes only the driver needs to know). `handles`: of each block."""

    def __init__(self, layer, place="device", slack=0, handles=1):
        self.layer, self.place, self.slack, self.handles = layer, place, slack, handles


FAMILIES = {
    "linear": Family("linear"), "pitched": Family("pitched"), "volume": Family("pitched"),
    "array": Family("array"), "mipmap": Family("array", slack=2 * MIB), "managed": Family("managed"),
    "pinned": Family("pinned", "host"), "registered": Family("registered", "host"),
    "stream-ordered": Family("stream-ordered", slack=32 * MIB), "pool": Family("stream-ordered", slack=32 * MIB),
    "per-thread-stream": Family("stream-ordered", slack=32 * MIB),
    "vmm": Family("vmm"), "vmm-imported": Family("vmm"), "ipc": Family("imported", "elsewhere"),
    "graph": Family("graph", slack=32 * MIB), "graph-captured": Family("graph", slack=32 * MIB),
    "module": Family("module", "code", slack=8 * MIB),
    "multicast": Family("multicast", "nowhere"), "external": Family("imported", "elsewhere", handles=2),
    "context": Family("linear", "context"),
}


def judge_family(name, told, live, blocks):
    """`told`: the guest's figures. `live`: {mark: (blocks, bytes)} of the family's layer, from the log. Returns
    (verdict, why, row)."""
    if "skipped" in told:
        return SKIPPED, told["skipped"], [name, "", "", "", "", f"skipped: {told['skipped']}"]
    if "failed" in told:
        return FAILED, told["failed"], [name, "", "", "", "", f"failed: {told['failed']}"]
    family = FAMILIES[name]
    asked = told["asked"]
    taken = told["free_before"] - told["free_held"]
    kept = told["free_before"] - told["free_after"]
    held = [now - before for now, before in zip(live["held"], live["before"])]
    left = [now - before for now, before in zip(live["after"], live["before"])]
    slack = 2 * MIB * blocks + 4 * MIB + family.slack
    wrong, other = [], []
    if held[0] != blocks * family.handles:
        wrong.append(f"{held[0]} blocks recorded, {blocks * family.handles} were taken")
    if family.place == "code" and held[1] == 0:
        other.append("recorded without its size, so that its bytes are untracked")
    elif family.place not in ("elsewhere", "nowhere"):
        room = slack if family.place == "code" else 0
        if not asked <= held[1] <= asked + room:
            wrong.append(f"{held[1]:,} bytes recorded, {asked:,} were asked for")
    if left != [0, 0]:
        wrong.append(f"{left[0]} blocks of {left[1]:,} bytes still live after they were given back")
    on_device = asked if family.place in ("device", "context", "code") else 0
    elsewhere = family.place == "elsewhere"  # on this device if its owner, another process, uses it too
    if not elsewhere and (taken < on_device - MIB or (family.place != "context" and taken > on_device + slack)):
        other.append(f"the device gave {taken:,} bytes for {on_device:,}")
    if abs(kept) > slack and family.place != "context" and not elsewhere:
        other.append(f"{kept:,} bytes did not come back")
    if "sampled" in told:
        pool = tuple(next(told[key] for key in (f"pool_{which}", f"graph_{which}") if key in told)
                     for which in ("reserved", "used"))
        if tuple(told["sampled"]) != pool:
            wrong.append("the pool's samples say {:,} bytes reserved, {:,} used; ".format(*told["sampled"])
                         + "the driver {:,} and {:,}".format(*pool))
    verdict = FAILED if wrong else DIFFERS if other else OK
    why = "; ".join(wrong + other) or "ok"
    return verdict, why, [name, f"{asked:,}", f"{held[1]:,}", f"{taken:,}", f"{kept:,}", why]


def totals_section(judged):
    """`judged`: (verdict, why, row) of each family."""
    verdicts = [verdict for verdict, _, _ in judged]
    count = {verdict: verdicts.count(verdict) for verdict in (OK, DIFFERS, FAILED, SKIPPED)}
    table = [["family", "asked for", "recorded", "taken by cuMemGetInfo", "not given back", "verdict"]]
    return Section("Totals against cuMemGetInfo", worst(verdicts),
                   ", ".join(f"{number} {verdict}" for verdict, number in count.items() if number),
                   table + [row for _, _, row in judged])


# Sources ------------------------------------------------------------------------------------------

_COMPARED = {"alloc", "free", "alloc_failed", "free_failed", "map", "unmap", "pool_create", "pool_destroy", "pool_trim"}


def comparable(events):
    """Events in a form that must not depend on their source. Addresses are numbered in the order of their first
    use, because two runs need not get the same addresses, nor reuse them in the same way."""
    numbers, last, result = {}, 0, []
    for event in events:
        if event["op"] in ("module_load", "module_unload"):
            # One source identifies a module by its handle, the other by a number of CUPTI.
            result.append((event["op"], event["layer"], event["device"], 0, "", 0, 0))
        elif event["op"] in _COMPARED:
            if event["op"] in ("alloc", "pool_create") or event["address"] not in numbers:
                last += 1
                numbers[event["address"]] = last
            number = numbers[event["address"]]
            result.append((event["op"], event["layer"], event["device"], event["bytes"], event.get("api", ""),
                           event.get("result", 0), number))
    return result


def compare_events(driver, cupti):
    """Differences of two lists of `comparable` events, as rows; the first thirty."""
    rows = []
    for op, i1, i2, j1, j2 in difflib.SequenceMatcher(None, driver, cupti, autojunk=False).get_opcodes():
        if op == "equal":
            continue
        for k in range(max(i2 - i1, j2 - j1)):
            one = driver[i1 + k] if i1 + k < i2 else "-"
            other = cupti[j1 + k] if j1 + k < j2 else "-"
            rows.append([i1 + k, one, other])
    return rows[:30]


def judge_sources(runs):
    """`runs`: {program: (driver's events, cupti's events), a reason why it cannot be tested, or how it failed}."""
    table, verdicts = [["program", "event", "by the driver's functions", "by CUPTI"]], []
    compared = 0
    for program, told in runs.items():
        if isinstance(told, str):
            verdicts.append(SKIPPED)
            table.append([program, "", f"skipped: {told}", ""])
            continue
        if isinstance(told, Exception):
            verdicts.append(FAILED)
            table.append([program, "", f"failed: {told}", ""])
            continue
        driver, cupti = comparable(told[0]), comparable(told[1])
        differences = compare_events(driver, cupti)
        compared += len(driver)
        verdicts.append(FAILED if not driver else DIFFERS if differences else OK)
        table += [[program, *row] for row in differences]
        if not driver:
            table.append([program, "", "nothing was recorded", ""])
    return Section("CUPTI alone against interposition alone", worst(verdicts),
                   f"{verdicts.count(OK)} of {len(runs)} programs event by event the same, {compared} events",
                   table if len(table) > 1 else [])


# Coexistence --------------------------------------------------------------------------------------

def judge_profiler(runs):
    """`runs`: {way: {"events": CUDA events seen by torch.profiler, "bytes": recorded, "note": text}}."""
    bare = runs["without memprof"]["events"]
    rows = [["run", "CUDA events of torch.profiler", "recorded allocations", "note"]]
    rows += [[way, one["events"], one.get("allocations", ""), one.get("note", "")] for way, one in runs.items()]
    beside = runs["memprof"]
    if bare == 0:
        verdict, words = SKIPPED, "torch.profiler saw no CUDA events even alone"
    elif beside["events"] == 0 or not beside["allocations"]:
        verdict, words = FAILED, "one of the two saw nothing beside the other"
    elif beside["events"] < 0.9 * bare:
        verdict, words = DIFFERS, "torch.profiler sees less beside memprof than alone"
    else:
        verdict, words = OK, "torch.profiler and memprof (interposing) both see what they see alone"
    return Section("Beside torch.profiler", verdict, words, rows)


# Overhead -----------------------------------------------------------------------------------------

def judge_overhead(title, bare, recorded, goal, judged=True):
    """Seconds of steps of repeated runs in alternation. `goal` in percent; not judged where the figure is
    meaningless."""
    nets = [100 * (r / b - 1) for b, r in zip(bare, recorded)]
    median = statistics.median(nets)
    verdict = OK if not judged or median <= goal else DIFFERS
    words = f"{median:+.2f} % [{min(nets):+.2f} .. {max(nets):+.2f}] of {len(nets)} rounds, goal {goal} %"
    return Section(title, verdict, words + ("" if judged else " (not judged: the stand-in's time is no GPU's)"),
                   [["round", "bare, s", "recorded, s", "net, %"]]
                   + [[i + 1, f"{b:.4g}", f"{r:.4g}", f"{n:+.2f}"]
                      for i, (b, r, n) in enumerate(zip(bare, recorded, nets))])


# Injection ----------------------------------------------------------------------------------------

def judge_ways_in(reference, ways):
    """`reference`: comparable events of the guest with preloading; `ways`: {name: (events or a reason, number of
    stacks with functions of the guest)}."""
    rows, verdicts = [["way in", "events", "frames of the program", "verdict"]], []
    for way, (events, frames) in ways.items():
        if isinstance(events, str):
            verdicts.append(SKIPPED)
            rows.append([way, "", "", f"skipped: {events}"])
            continue
        if not events:
            verdict, words = FAILED, "nothing was recorded"
        elif not frames:
            verdict, words = DIFFERS, "no stack reaches the program"
        elif compare_events(reference, events):
            verdict, words = DIFFERS, f"other events: {compare_events(reference, events)[0]}"
        else:
            verdict, words = OK, "ok"
        verdicts.append(verdict)
        rows.append([way, len(events), frames, words])
    return Section("Ways in", worst(verdicts), f"{verdicts.count(OK)} of {len(ways)} ways record every call", rows)
