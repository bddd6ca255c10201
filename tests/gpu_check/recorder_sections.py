"""Sections on the recorder itself: cost of its own calls, its ledger, other processes, ends and starts."""
import json
import os
import subprocess
import time
from pathlib import Path

import recorder_verdicts
from machine import CannotStart, GuestFailed, OutOfTime, end

# Where stacks do not matter: a log without them is read ten times faster.
NO_STACKS = {"MEMPROF_STACK_DEPTH": "0"}


def device(machine, options):
    return recorder_verdicts.judge_device(machine.ask_guest("device"))


def recorded_answer(machine, command, extra=None, most_s=60):
    """The answer of a recorded guest, and its log."""
    output, log = machine.record(command, extra, most_s=most_s)
    told = machine.answer(output)
    if "skipped" in told:
        raise CannotStart(told["skipped"])
    if "failed" in told:
        raise GuestFailed(told["failed"])
    return told, log


def ledger(machine, options):
    command = machine.guest("families", "mixed", options.blocks, options.block_bytes)
    told, log = recorded_answer(machine, command, NO_STACKS)
    return recorder_verdicts.judge_ledger(told, machine.report(log)["devices"][0]["ledger"], options.blocks)


class Holder:
    """A second, unrecorded process that holds memory for the duration of the `with` block."""

    def __init__(self, machine, held_bytes, extra):
        self.command = [str(word) for word in machine.guest("loop", "hold", held_bytes)]
        self.environment = machine.whole_environment(extra)
        self.said = machine.scratch / "holder.txt"
        self.machine = machine

    def __enter__(self):
        with open(self.said, "wb") as said:
            self.child = subprocess.Popen(self.command, env=self.environment, stdin=subprocess.PIPE, stdout=said,
                                          stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            told = self._answer()
        except BaseException:
            self.__exit__()
            raise
        if "held" not in told:
            self.__exit__()
            raise CannotStart(f"a second process cannot hold memory: {told.get('skipped') or told.get('failed')}")
        return self

    def _answer(self):
        # Its first line is all its output before its end.
        while True:
            text = self.said.read_text()
            if "\n" in text:
                return json.loads(text.splitlines()[0])
            if self.machine.left_s() < 2:
                raise OutOfTime
            try:
                self.child.wait(0.05)
                text = self.said.read_text()
                return json.loads(text) if text.strip() else {"failed": f"it ended with {self.child.returncode}"}
            except subprocess.TimeoutExpired:
                continue

    def __exit__(self, *_):
        self.child.stdin.close()
        end(self.child)


def other_processes(machine, options):
    # On the stand-in, processes share a device only if configured to.
    name = f"gpu-check-{os.getpid()}"
    shared = {"SIMCUDA": f"memory=8GiB,shared={name}"} if machine.stand_in else {}
    held = 4 * options.block_bytes
    try:
        with Holder(machine, held, shared):
            command = machine.guest("loop", "beside", options.block_bytes)
            told, log = recorded_answer(machine, command, {**NO_STACKS, **shared})
    finally:
        Path(f"/dev/shm/simcuda.{os.getuid()}.{name}").unlink(missing_ok=True)
    last = machine.report(log)["devices"][0]["ledger"]["last"]
    return recorder_verdicts.judge_others(told, last.get("other_processes_bytes"), held)


def rounds(machine, most):
    """Numbers of rounds, as long as there is time for another one like the last."""
    took = 0.0
    for number in range(most):
        if number and machine.left_s() < 1.5 * took + 3:
            return
        begin = time.monotonic()
        yield number
        took = time.monotonic() - begin


def killed(machine, options):
    """The log is read after the kill: events that were not written are recovered from shared memory."""
    runs = []
    for _ in rounds(machine, options.rounds):
        log = machine.new_log()
        done = machine.finish(machine.guest("loop", "kill", options.kill_events),
                              machine.recording(log, extra=NO_STACKS))
        if done.output.startswith("{"):
            told = json.loads(done.output)
            raise (CannotStart(told["skipped"]) if "skipped" in told else GuestFailed(told.get("failed", done.output)))
        report = machine.report(log)
        runs.append((options.kill_events, done.status, report["events"], report["complete"],
                     [one["name"] for one in report["anomalies"]]))
    return recorder_verdicts.judge_kill(runs)


def late(machine, options):
    count = 20
    told, log = recorded_answer(machine, machine.guest("loop", "signal", count),
                                {**NO_STACKS, "MEMPROF_START": "paused", "MEMPROF_SIGNAL": "USR2"})
    sizes = [event["bytes"] for event in machine.events(log) if event["op"] == "alloc"]
    return recorder_verdicts.judge_late(told, machine.live(log, "linear"), sizes, count)


def _pair_ns(output):
    told = dict(word.split("=") for word in output.split())
    return float(told["thread_ns"])


def pair_cost(machine, options):
    command = machine.guest("pairs", "driver", 20, 1, options.pairs)
    variants = {"bare": None, "interposed": {}, "interposed, without stacks": NO_STACKS,
                "by CUPTI alone": {"MEMPROF_SOURCE": "cupti"}}
    runs = {variant: [] for variant in variants}
    for _ in rounds(machine, options.rounds):
        for variant, extra in variants.items():
            if isinstance(runs[variant], str):
                continue
            if extra is None:
                runs[variant].append(_pair_ns(machine.run(command)))
                continue
            output, log = machine.record(command, extra)
            recorded = machine.report(log)["events"]["allocations"] if not runs[variant] else None
            if recorded == 0:
                runs[variant] = "nothing was recorded this way"
            else:
                runs[variant].append(_pair_ns(output))
    return recorder_verdicts.judge_pairs(runs, judged=not machine.stand_in)


def checkpoint(machine, options):
    try:
        told, log = recorded_answer(machine, machine.guest("checkpoint", options.block_bytes), NO_STACKS, most_s=15)
    except CannotStart:
        raise
    except GuestFailed as error:
        # Few drivers, and even fewer containers, allow a process checkpoint; this does not depend on memprof.
        raise CannotStart(f"a process cannot set its own memory aside here: {error}") from error
    return recorder_verdicts.judge_checkpoint(told, machine.events(log), machine.live(log, "linear"))
