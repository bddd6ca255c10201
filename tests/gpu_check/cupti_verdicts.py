"""Verdicts on CUPTI: the cost of its callbacks, its memory records, and other tools that use it. Figures in,
verdicts out."""
import statistics

from verdicts import DIFFERS, FAILED, OK, SKIPPED, Section, compare_events, worst

CALLBACK_LIMIT_NS = 1_000
IDLE_LIMIT_NS = 25


def _loops(told):
    return {(loop["loop"], loop["variant"]): loop for loop in told["loops"]}


def judge_callback_cost(told):
    """`told`: the guest's timings without CUPTI, subscribed, and with memprof's callbacks enabled."""
    loops = _loops(told)
    rows = [["loop", "without CUPTI, ns", "subscribed, ns", "enabled, ns", "callbacks", "ns a callback"]]
    wrong, other, costs = [], [], []
    for name in dict.fromkeys(name for name, _ in loops):
        bare, idle, enabled = (loops.get((name, variant)) for variant in ("without CUPTI", "subscribed", "enabled"))
        if bare is None or idle is None or enabled is None:
            wrong.append(f"{name}: not measured in every way")
            continue
        ns = [statistics.median(loop["ns"]) for loop in (bare, idle, enabled)]
        calls = name.count(",") + 1
        expected = 0 if name == "cuCtxGetCurrent" else 2 * calls
        if bare["callbacks"] or idle["callbacks"]:
            wrong.append(f"{name}: callbacks that nobody enabled")
        each = None
        if expected and round(enabled["callbacks"]) != expected:
            text = f"{name}: {enabled['callbacks']:.2f} callbacks, {expected} were to come"
            # memprof uses this call to check whether its subscription is alive; without its callback it omits the
            # check.
            (other if name == "cuDriverGetVersion" else wrong).append(text)
        elif expected:
            each = (ns[2] - ns[0]) / expected
            costs.append(each)
            if each > CALLBACK_LIMIT_NS:
                other.append(f"{name}: {each:,.0f} ns a callback")
        elif ns[2] - ns[0] > IDLE_LIMIT_NS:
            other.append(f"{name}, which is not enabled, takes {ns[2] - ns[0]:,.0f} ns longer")
        rows.append([name, *(f"{one:,.1f}" for one in ns), f"{enabled['callbacks']:.2f}",
                     "" if each is None else f"{each:,.1f}"])
    if not costs and not wrong:
        wrong.append("no callback arrived")
    found = f"{min(costs):,.0f} to {max(costs):,.0f} ns a callback, {told['enabled']} functions enabled" if costs else ""
    return Section("Cost of CUPTI's callbacks", FAILED if wrong else DIFFERS if other else OK,
                   "; ".join(wrong + other + ([found] if found else [])), rows)


# CUpti_ActivityMemoryKind, and whether asynchronous, of each family's records, as CUPTI 13.0 wrote them on an H200. Its
# documentation does not speak of mapped and registered memory and of graphs.
RECORD_KINDS = {"linear": {(3, 0)}, "pitched": {(3, 0)}, "array": {(4, 0)}, "managed": {(5, 0)}, "pinned": {(2, 0)},
                "registered": {(2, 0)}, "stream-ordered": {(3, 1)}, "pool": {(3, 1)}, "vmm": {(3, 0)},
                "graph": {(3, 0), (3, 1)}, "module": {(6, 0)}}
ENDLESS = {"module"}  # no record says that a module's memory was given back


def _clock(family):
    """The clock with readings before and after all the records."""
    times = [record["time"] for record in family["records"]]
    return next((name for name, (begin, end) in family["clocks"].items()
                 if all(begin <= time <= end for time in times)), "none of the system's clocks") if times else ""


def judge_activity(told):
    """CUPTI's MEMORY2 records of one block of each family. memprof does not need them, so this fails only if the
    check saw nothing."""
    title = "CUPTI's records of memory"
    rows, verdicts, clocks = [["family", "records", "kind, async", "bytes", "clock", "verdict"]], [], set()
    for family in told["families"]:
        name = family["family"]
        if "skipped" in family:
            verdicts.append(SKIPPED)
            rows.append([name, "", "", "", "", f"skipped: {family['skipped']}"])
            continue
        taken = [one for one in family["records"] if one["operation"] == 1]
        given = [one for one in family["records"] if one["operation"] == 2]
        clock = _clock(family)
        clocks |= {clock} - {""}
        expected = RECORD_KINDS[name]
        if not taken:
            words = "no record"
        elif not given and name not in ENDLESS:
            words = "no record of its end"
        elif any((one["kind"], one["async"]) not in expected for one in taken):
            words = "of another kind"
        elif not any(one["bytes"] >= family["asked"] for one in taken):
            words = "of fewer bytes"
        elif clock != "CLOCK_REALTIME":
            words = "on another clock than CLOCK_REALTIME"
        else:
            words = "ok"
        verdicts.append(OK if words.startswith("ok") else DIFFERS)
        kinds = sorted({f"{one['kind']}, {one['async']}" for one in taken})
        rows.append([name, f"{len(taken)} + {len(given)}", "; ".join(kinds),
                     "; ".join(f"{one['bytes']:,}" for one in taken), clock, words])
    seen = sum(len(family.get("records", [])) for family in told["families"])
    if not seen:
        return Section(title, DIFFERS, "CUPTI wrote no record of memory at all", rows)
    return Section(title, worst(verdicts), f"{verdicts.count(OK)} of {len(verdicts)} families as documented; "
                                           f"times on {', '.join(sorted(clocks))}; CUPTI {told['version']}", rows)


def judge_foreign_subscriber(alone, runs):
    """Other tools use CUPTI in the same process. `alone`: comparable events of memprof without another tool;
    `runs`: {how: (events, (state, detail) at the end of memprof's CUPTI source, how often it was lost, callbacks of
    the other tool)}. With "finalised" the subscription is removed during the run, which must be detected; no event
    may be missing in any run."""
    rows, verdicts = [["the other one", "it was told", "memprof's CUPTI source", "lost", "events", "verdict"]], []
    differences = []
    for how, (events, (state, detail), lost, told) in runs.items():
        missing = compare_events(alone, events)
        if missing or not alone:
            verdict, words = FAILED, "other events than alone"
            differences += [[how, *row] for row in missing[:10]]
        elif state == "":
            verdict, words = FAILED, "memprof says nothing of it"
        elif how == "finalised" and told != "":
            verdict, words = SKIPPED, f"skipped: {told}"
        elif how == "finalised" and state == "on" and not lost:
            verdict, words = DIFFERS, "the loss was not noticed"
        elif how == "finalised" and state != "on" and lost:
            verdict, words = DIFFERS, "it was not taken up again"
        elif how == "first" and told == "" and state == "on":
            verdict, words = DIFFERS, "both are served"
        else:
            verdict, words = OK, "ok"
        verdicts.append(verdict)
        rows.append([how, told or "it was served", f"{state} {detail}".strip() or "absent", lost, len(events), words])
    section = Section("Beside another CUPTI subscriber", worst(verdicts),
                      f"{verdicts.count(OK)} of {len(runs)} ways of meeting another one leave every event recorded",
                      rows)
    section.notes += [f"{how}: event {number}: alone {one}, beside it {other}."
                      for how, number, one, other in differences]
    return section
