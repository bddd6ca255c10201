"""Sections on CUPTI: as the only source, beside other tools, the cost of its callbacks, and its memory records."""
import concurrent.futures
import json

import cupti_verdicts
import verdicts
from machine import CannotStart, GuestFailed, OutOfTime
from recorder_sections import NO_STACKS

# Creating contexts is slow, and these runs measure no times.
_AT_ONCE = 3
_SOURCES_BLOCK_BYTES = 4 << 20


def one_source(machine, command, source):
    """Events of a run in which only the given source reports allocations, or the reason why there are none."""
    try:
        output, log = machine.record(command, {"MEMPROF_SOURCE": source, **NO_STACKS})
        if output.startswith("{\"skipped\""):
            return json.loads(output)["skipped"]
        report = machine.report(log)
        states = {one["name"]: one for one in report["source_states"]}
        if source not in states or states[source]["state"] != "on":
            return f"the source {source} was not on: {states.get(source, {}).get('detail', 'not named')}"
        if lost := report["events"]["lost"]:
            raise GuestFailed(f"{lost} events were lost by the source {source}")
        return machine.events(log)
    except CannotStart as error:
        return str(error)
    except OutOfTime:
        return "no time was left"


def sources(machine, options):
    block_bytes = min(options.block_bytes, _SOURCES_BLOCK_BYTES)
    programs = {"runtime calls": machine.guest("runtime_calls")}
    for name in verdicts.FAMILIES:
        programs[name] = machine.guest("families", name, options.blocks, block_bytes)
    with concurrent.futures.ThreadPoolExecutor(_AT_ONCE) as pool:
        asked = {(program, source): pool.submit(one_source, machine, command, source)
                 for program, command in programs.items() for source in ("driver", "cupti")}
    runs = {}
    for program in programs:
        told = []
        for source in ("driver", "cupti"):
            try:
                told.append(asked[program, source].result())
            except GuestFailed as error:
                told.append(error)
        words = [one for one in told if isinstance(one, str)]
        broken = [one for one in told if isinstance(one, GuestFailed)]
        runs[program] = broken[0] if broken else words[0] if words else tuple(told)
    return verdicts.judge_sources(runs)


def foreign_subscriber(machine, options):
    # The hooks report allocations in both runs; CUPTI adds launches and copies.
    output, log = machine.record(machine.guest("runtime_calls"), NO_STACKS)
    if "skipped" in machine.answer(output):
        raise CannotStart(machine.answer(output)["skipped"])
    alone = verdicts.comparable(machine.events(log))
    runs = {}
    for how, mode in (("first", "trace"), ("second", "trace-late"), ("finalised", "finalize")):
        output, log = machine.record(machine.guest("runtime_calls", mode), {"MEMPROF_CUPTI": "1", **NO_STACKS})
        report = machine.report(log)
        state = next(((one["state"], one["detail"]) for one in report["source_states"] if one["name"] == "cupti"),
                     ("", ""))
        lost = sum(one["count"] for one in report["anomalies"] if one["name"] == "cupti_lost")
        runs[how] = (verdicts.comparable(machine.events(log)), state, lost, machine.answer(output)["trace"])
    return cupti_verdicts.judge_foreign_subscriber(alone, runs)


def callback_cost(machine, options):
    return cupti_verdicts.judge_callback_cost(machine.ask_guest("callback_cost"))


def activity(machine, options):
    return cupti_verdicts.judge_activity(machine.ask_guest("activity", min(options.block_bytes, 16 << 20)))
