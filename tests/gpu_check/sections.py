"""The sections of scripts/gpu-check: each runs its guests and passes their output to verdicts.py."""
import re
import shutil
from pathlib import Path

import cupti_sections
import recorder_sections
import torch_sections
import verdicts
from machine import CannotStart, GuestFailed, OutOfTime
from recorder_sections import NO_STACKS, rounds
from torch_sections import OWN_LIBRARIES
from verdicts import SKIPPED, Section

HERE = Path(__file__).resolve().parent


# Pointers -----------------------------------------------------------------------------------------

def pointers(machine, options):
    bare = machine.ask_guest("pointers")
    recorded, _ = machine.record(machine.guest("pointers"))
    return [verdicts.judge_pointers(bare), verdicts.judge_wrapped(bare, machine.answer(recorded))]


def intercepted_names(machine):
    return {symbol["name"] for symbol in machine.ask_guest("pointers")["symbols"]}


# Runtime map --------------------------------------------------------------------------------------

def functions_by_mark(events):
    """{snapshot's name: functions of the events after it}, without memprof's own samples."""
    result, mark = {}, None
    for event in events:
        if event["op"] == "snapshot":
            mark = event["name"]
        elif mark is not None and event.get("api"):
            result.setdefault(mark, []).append(event["api"])
    return result


def runtime_map(machine, options):
    traced = machine.ask_guest("runtime_calls", "trace")
    _, log = machine.record(machine.guest("runtime_calls"), NO_STACKS)
    return verdicts.judge_runtime_map(traced, functions_by_mark(machine.events(log)), intercepted_names(machine))


# Totals -------------------------------------------------------------------------------------------

def totals(machine, options):
    judged = []
    for name, family in verdicts.FAMILIES.items():
        command = machine.guest("families", name, options.blocks, options.block_bytes)
        if name == options.seed_wrong:
            command.append("unseen")
        try:
            output, log = machine.record(command, NO_STACKS)
            told = machine.answer(output)
            live = machine.live(log, family.layer) if "asked" in told else {}
            if "pool_reserved" in told or "graph_reserved" in told:
                told["sampled"] = machine.pools(log, family.layer, "held")
        except CannotStart as error:
            told, live = {"skipped": str(error)}, {}
        except OutOfTime:
            told, live = {"skipped": "no time was left"}, {}
        except (GuestFailed, KeyError) as error:
            told, live = {"failed": str(error)}, {}
        judged.append(verdicts.judge_family(name, told, live, options.blocks))
    return verdicts.totals_section(judged)


# Other profilers ----------------------------------------------------------------------------------

def profiler(machine, options):
    torch = None if machine.stand_in else torch_sections.find_torch(machine)
    if torch is None:
        return Section("Beside torch.profiler", SKIPPED, "the stand-in is checked" if machine.stand_in
                       else "there is no PyTorch with a GPU")
    runs = {}
    for way, extra in (("without memprof", None), ("memprof", {}), ("memprof with CUPTI", {"MEMPROF_CUPTI": "1"})):
        command = [torch.python, HERE / "torch_profile.py"]
        if extra is None:
            runs[way] = machine.answer(machine.run(command, OWN_LIBRARIES, most_s=90).splitlines()[-1])
            continue
        output, log = machine.record(command, {**extra, **OWN_LIBRARIES}, most_s=90)
        runs[way] = machine.answer(output.splitlines()[-1])
        report = machine.report(log)
        runs[way]["allocations"] = report["events"]["allocations"]
        runs[way]["note"] = "; ".join(f"{one['name']} {one['state']} {one['detail']}".strip()
                                      for one in report["source_states"])
    return verdicts.judge_profiler(runs)


def sanitizer(machine, options):
    title = "Under compute-sanitizer"
    if machine.stand_in:
        return Section(title, SKIPPED, "the stand-in is checked")
    places = [shutil.which("compute-sanitizer")]
    if machine.toolkit:
        places += [machine.toolkit / "bin/compute-sanitizer", machine.toolkit / "compute-sanitizer/compute-sanitizer"]
    program = next((place for place in places if place and Path(place).exists()), None)
    if program is None:
        return Section(title, SKIPPED, "there is no compute-sanitizer")
    command = machine.guest("families", "linear", options.blocks, options.block_bytes)
    bare = machine.finish([program, "--tool", "memcheck", "--error-exitcode", "9", *command], most_s=40)
    if bare.status != 0:
        said = (bare.output.strip().splitlines() or bare.errors.strip().splitlines() or [""])[0]
        return Section(title, SKIPPED, f"compute-sanitizer cannot run a program here even without memprof: {said}")
    output, log = machine.record([program, "--tool", "memcheck", "--error-exitcode", "9", *command], most_s=90)
    told = machine.answer(next(line for line in output.splitlines() if line.startswith("{")))
    live = machine.live(log, "linear")
    verdict, why, row = verdicts.judge_family("linear", told, live, options.blocks)
    # The tool allocates memory itself.
    verdict = verdicts.OK if verdict == verdicts.DIFFERS else verdict
    words = "memprof records every block" if verdict == verdicts.OK else "memprof's record is wrong"
    return Section(title, verdict, f"memcheck reports no error, and {words}: {why}",
                   [["family", "asked for", "recorded", "taken by cuMemGetInfo", "not given back", "verdict"], row])


# Overhead -----------------------------------------------------------------------------------------

_STEP = re.compile(r"step (\d+):")


def step_seconds(stamped):
    """Seconds of a step, from the lines that the trainer prints between steps; the first line is printed during the
    warm-up. None if there are too few lines, or all came at once."""
    points = [(time_s, int(found.group(1))) for time_s, line in stamped if (found := _STEP.match(line))][1:]
    if len(points) < 2 or points[-1][0] == points[0][0]:
        return None
    return (points[-1][0] - points[0][0]) / (points[-1][1] - points[0][1])


def trainer_overhead(machine, options):
    title = "Overhead on the demo trainer"
    trainer = machine.build / "bin/demo_trainer"
    if not trainer.exists():
        return Section(title, SKIPPED, "the demo trainer was not built")
    command = [trainer, "--print-every", max(1, options.steps // 10), "--steps", options.steps,
               *options.trainer.split()]
    bare, recorded = [], []
    machine.stamped(command, most_s=60)  # compiles the kernels for this GPU, into the driver's cache
    for _ in rounds(machine, options.rounds):
        log = machine.new_log()
        pair = [step_seconds(machine.stamped(command)),
                step_seconds(machine.stamped(command, machine.recording(log)))]
        if None in pair:
            raise CannotStart("the trainer's steps are too few or too short to be timed")
        bare.append(pair[0])
        recorded.append(pair[1])
    section = verdicts.judge_overhead(title, bare, recorded, 1.0, judged=not machine.stand_in)
    report = machine.report(log)
    section.notes.append(f"Times of a step, of {options.steps}; {report['events']['total']:,} events, "
                         f"{report['events']['lost']} lost, {log.stat().st_size:,} bytes of log.")
    return section


# Ways in ------------------------------------------------------------------------------------------

_OWN = re.compile(r"RunAction|_FUN|operator\(\)|main$")


def program_frames(events):
    """The number of allocations that have a function of the guest in their stack."""
    return sum(any(_OWN.search(frame.get("function") or "") for frame in event["stack"])
               for event in events if event["op"] == "alloc")


def ways_in(machine, options):
    output, log = machine.record(machine.guest("runtime_calls"))
    if "skipped" in machine.answer(output):
        raise CannotStart(machine.answer(output)["skipped"])
    reference = machine.events(log)
    ways = {"preloaded, shared runtime": (verdicts.comparable(reference), program_frames(reference))}

    def attempt(way, guest, **how):
        if guest != "runtime_calls" and machine.stand_in:
            ways[way] = ("the vendor's static runtime does not run on the stand-in", 0)
        elif not (machine.guests / guest).exists():
            ways[way] = ("it was not built", 0)
        else:
            try:
                _, log = machine.record(machine.guest(guest), **how)
                events = machine.events(log)
                ways[way] = (verdicts.comparable(events), program_frames(events))
            except CannotStart as error:
                ways[way] = (str(error), 0)
            except GuestFailed as error:
                # The stand-in's driver may not support injection.
                ways[way] = (f"{error}" if machine.stand_in else [], 0)

    attempt("preloaded, static runtime", "runtime_calls_static")
    attempt("injected by the driver, shared runtime", "runtime_calls", injected=True)
    attempt("injected by the driver, static runtime", "runtime_calls_static", injected=True)
    return verdicts.judge_ways_in(verdicts.comparable(reference), ways)


# The most important sections first, in case there is not enough time for all.

class Plan:
    """A section: its name, the function that executes it, its title, and its time limit in seconds."""

    def __init__(self, carry_out, title, limit_s, name=None):
        self.carry_out, self.title, self.limit_s = carry_out, title, limit_s
        self.name = name or carry_out.__name__


SECTIONS = [
    Plan(recorder_sections.device, "The device and its calls", 30),
    Plan(pointers, "Pointer identity", 30),
    Plan(totals, "Totals against cuMemGetInfo", 110),
    Plan(recorder_sections.ledger, "The ledger closes", 25),
    Plan(ways_in, "Ways in", 40),
    Plan(recorder_sections.killed, "Killed with SIGKILL", 50),
    Plan(recorder_sections.late, "Begun late, by a signal", 25),
    Plan(runtime_map, "Runtime to driver", 30),
    Plan(cupti_sections.sources, "CUPTI alone against interposition alone", 90),
    Plan(recorder_sections.pair_cost, "Cost of a pair", 45),
    Plan(cupti_sections.callback_cost, "Cost of CUPTI's callbacks", 25),
    Plan(cupti_sections.activity, "CUPTI's records of memory", 30),
    Plan(cupti_sections.foreign_subscriber, "Beside another CUPTI subscriber", 40),
    Plan(recorder_sections.other_processes, "Other processes' share", 30),
    Plan(trainer_overhead, "Overhead on the demo trainer", 90),
    Plan(profiler, "Beside torch.profiler", 90),
    Plan(sanitizer, "Under compute-sanitizer", 60),
    Plan(torch_sections.totals, "PyTorch's own figures", 75, "torch_totals"),
    Plan(torch_sections.history, "PyTorch's memory history", 75, "torch_history"),
    Plan(torch_sections.leak, "A leak of a PyTorch script", 25, "torch_leak"),
    Plan(torch_sections.overhead, "Overhead on a PyTorch step", 90, "torch_overhead"),
    # Last, because the effects of a process checkpoint on the driver are the least known.
    Plan(recorder_sections.checkpoint, "Checkpoint", 25),
]
