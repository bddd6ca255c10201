"""The sections of scripts/gpu-check: each runs its guests and hands what they said to verdicts.py."""
import json
import os
import re
import shutil
import sys
import time
from pathlib import Path

import verdicts
from machine import GuestFailed
from verdicts import SKIPPED, Section

HERE = Path(__file__).resolve().parent
# Where stacks do not matter: reading a log is then ten times faster.
NO_STACKS = {"MEMPROF_STACK_DEPTH": "0"}
# PyTorch brings CUDA libraries of its own, before which none of the toolkit's may come.
OWN_LIBRARIES = {"LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", "")}


# Pointers -----------------------------------------------------------------------------------------

def pointers(machine, options):
    bare = machine.answer(machine.run(machine.guest("pointers")))
    if "skipped" in bare:
        raise GuestFailed(bare["skipped"])
    recorded, _ = machine.record(machine.guest("pointers"))
    return [verdicts.judge_pointers(bare), verdicts.judge_wrapped(bare, machine.answer(recorded))]


def intercepted_names(machine):
    return {symbol["name"] for symbol in machine.answer(machine.run(machine.guest("pointers")))["symbols"]}


# Runtime map --------------------------------------------------------------------------------------

def functions_by_mark(events):
    """{snapshot's name: functions of the events after it}, without what memprof samples by itself."""
    result, mark = {}, None
    for event in events:
        if event["op"] == "snapshot":
            mark = event["name"]
        elif mark is not None and event.get("api"):
            result.setdefault(mark, []).append(event["api"])
    return result


def runtime_map(machine, options):
    traced = machine.answer(machine.run(machine.guest("runtime_calls", "trace")))
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
        except (GuestFailed, KeyError) as error:
            told, live = {"failed": str(error)}, {}
        judged.append(verdicts.judge_family(name, told, live, options.blocks))
    return verdicts.totals_section(judged)


# Sources ------------------------------------------------------------------------------------------

def one_source(machine, command, source):
    """Events of a run in which that source alone reports allocations, or why there was none."""
    output, log = machine.record(command, {"MEMPROF_SOURCE": source, **NO_STACKS})
    if output.startswith("{\"skipped\""):
        return json.loads(output)["skipped"]
    states = {one["name"]: one for one in machine.report(log)["source_states"]}
    if source not in states or states[source]["state"] != "on":
        return f"the source {source} was not on: {states.get(source, {}).get('detail', 'not named')}"
    return machine.events(log)


def sources(machine, options):
    runs = {}
    programs = {"runtime calls": machine.guest("runtime_calls")}
    for name in verdicts.FAMILIES:
        programs[name] = machine.guest("families", name, options.blocks, options.block_bytes)
    for program, command in programs.items():
        told = [one_source(machine, command, source) for source in ("driver", "cupti")]
        words = [one for one in told if isinstance(one, str)]
        runs[program] = words[0] if words else tuple(told)
    return verdicts.judge_sources(runs)


# Coexistence --------------------------------------------------------------------------------------

def foreign_subscriber(machine, options):
    _, alone = machine.record(machine.guest("runtime_calls"))
    output, beside = machine.record(machine.guest("runtime_calls", "trace"), {"MEMPROF_CUPTI": "1"})
    states = {one["name"]: (one["state"], one["detail"]) for one in machine.report(beside)["source_states"]}
    section = verdicts.judge_foreign_subscriber(verdicts.comparable(machine.events(alone)),
                                                verdicts.comparable(machine.events(beside)), states)
    refused = machine.answer(output)["trace"]
    section.notes.append(f"The other subscriber: {'it was served' if refused == '' else refused}.")
    return section


def torch_python(machine):
    """A Python that has a torch with a usable GPU."""
    for python in ("python3", sys.executable):
        path = shutil.which(python)
        if path is None:
            continue
        try:
            told = machine.run([path, "-c", "import torch; print(torch.cuda.is_available(), torch.__version__)"],
                               OWN_LIBRARIES)
        except GuestFailed:
            continue
        if told.startswith("True"):
            return path, told.split()[-1]
    return None, ""


def profiler(machine, options):
    python = None if machine.stand_in else torch_python(machine)[0]
    if python is None:
        return Section("Beside torch.profiler", SKIPPED, "the stand-in is checked" if machine.stand_in
                       else "there is no PyTorch with a GPU")
    runs = {}
    for way, extra in (("without memprof", None), ("memprof", {}), ("memprof with CUPTI", {"MEMPROF_CUPTI": "1"})):
        command = [python, HERE / "torch_profile.py"]
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
    output, log = machine.record([program, "--tool", "memcheck", "--error-exitcode", "9", *command], most_s=90)
    told = machine.answer(next(line for line in output.splitlines() if line.startswith("{")))
    live = machine.live(log, "linear")
    verdict, why, row = verdicts.judge_family("linear", told, live, options.blocks)
    # The tool takes memory of its own.
    verdict = verdicts.OK if verdict == verdicts.DIFFERS else verdict
    return Section(title, verdict, f"memcheck reports no error and memprof records every block: {why}",
                   [["family", "asked for", "recorded", "taken by cuMemGetInfo", "not given back", "verdict"], row])


# Overhead -----------------------------------------------------------------------------------------

def _timed(run):
    begin = time.monotonic()
    run()
    return time.monotonic() - begin


def trainer_overhead(machine, options):
    title = "Overhead on the demo trainer"
    trainer = machine.build / "bin/demo_trainer"
    if not trainer.exists():
        return Section(title, SKIPPED, "the demo trainer was not built")
    command = [trainer, "--quiet", "--steps", options.steps, *options.trainer.split()]
    bare, recorded = [], []
    machine.run(command, most_s=120)  # compiles the kernels for this GPU, into the driver's cache
    for _ in range(options.rounds):
        if bare and machine.left_s() < 2 * (bare[-1] + recorded[-1]) + 60:
            break
        bare.append(_timed(lambda: machine.run(command, most_s=120)))
        recorded.append(_timed(lambda: machine.record(command, most_s=120)))
    section = verdicts.judge_overhead(title, bare, recorded, 1.0, judged=not machine.stand_in)
    _, log = machine.record(command, most_s=120)
    report = machine.report(log)
    section.notes.append(f"{report['events']['total']:,} events, {report['events']['lost']} lost, "
                         f"{log.stat().st_size:,} bytes of log; start and end of the process included.")
    return section


def torch_overhead(machine, options):
    title = "Overhead on a PyTorch step"
    python, version = (None, "") if machine.stand_in else torch_python(machine)
    if python is None:
        return Section(title, SKIPPED, "the stand-in is checked" if machine.stand_in
                       else "there is no PyTorch with a GPU")
    command = [python, HERE / "torch_step.py", 60]
    bare, recorded = [], []
    for _ in range(options.rounds):
        if bare and machine.left_s() < 60:
            break
        bare.append(machine.answer(machine.run(command, OWN_LIBRARIES, most_s=90).splitlines()[-1])["seconds_per_step"])
        output, _ = machine.record(command, OWN_LIBRARIES, most_s=90)
        recorded.append(machine.answer(output.splitlines()[-1])["seconds_per_step"])
    section = verdicts.judge_overhead(title, bare, recorded, 1.0)
    section.notes.append(f"PyTorch {version}; median time of 60 steps of a small transformer, per round.")
    return section


# Ways in ------------------------------------------------------------------------------------------

_OWN = re.compile(r"RunAction|_FUN|operator\(\)|main$")


def program_frames(events):
    """How many allocations have a function of the guest in their stack."""
    return sum(any(_OWN.search(frame.get("function") or "") for frame in event["stack"])
               for event in events if event["op"] == "alloc")


def ways_in(machine, options):
    _, log = machine.record(machine.guest("runtime_calls"))
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
            except GuestFailed as error:
                # The stand-in's driver may not know how to inject.
                ways[way] = (f"{error}" if machine.stand_in else [], 0)

    attempt("preloaded, static runtime", "runtime_calls_static")
    attempt("injected by the driver, shared runtime", "runtime_calls", injected=True)
    attempt("injected by the driver, static runtime", "runtime_calls_static", injected=True)
    return verdicts.judge_ways_in(verdicts.comparable(reference), ways)


# What a context takes -----------------------------------------------------------------------------

def untracked(machine, options):
    """No verdict but a figure: how much of the device is explained by no event."""
    output, log = machine.record(machine.guest("families", "linear", options.blocks, options.block_bytes))
    machine.answer(output)
    device = machine.report(log)["devices"][0]
    return Section("Untracked", verdicts.OK,
                   f"after a run that gave everything back, {device['untracked_bytes']:,} bytes of "
                   f"{device['name']} ({device['capacity_bytes']:,} bytes) are in use and in no event: context, "
                   f"code, other processes")


SECTIONS = [pointers, runtime_map, totals, sources, foreign_subscriber, profiler, sanitizer, trainer_overhead,
            torch_overhead, ways_in, untracked]
TITLES = {pointers: "Pointer identity", runtime_map: "Runtime to driver", totals: "Totals against cuMemGetInfo",
          sources: "CUPTI alone against interposition alone", foreign_subscriber: "Beside another CUPTI subscriber",
          profiler: "Beside torch.profiler", sanitizer: "Under compute-sanitizer",
          trainer_overhead: "Overhead on the demo trainer", torch_overhead: "Overhead on a PyTorch step",
          ways_in: "Ways in", untracked: "Untracked"}
