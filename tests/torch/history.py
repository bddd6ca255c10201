"""Compares the log of an unmodified script with PyTorch's own memory history of the same run.

Every alloc, free, segment and failed request in PyTorch's history must be in the log with the same address,
size (trace_compare.py describes how sizes are compared), order and Python stack, and vice versa. The log's
exported snapshot must have the same events, and the same segments and blocks at the end.

memprof numbers private pools itself: the same segments must share a pool."""
import json
import os
import pickle
import tempfile

import trace_compare
from guest import HERE, fail

SHOWN = 20  # number of differences shown


def run(guest, folder, script, with_agent):
    """(log, PyTorch's history) of a separate run"""
    log, history = os.path.join(folder, "x.mprof"), os.path.join(folder, "theirs.pickle")
    environment = {"PYTHONPATH": os.path.join(HERE, "memory_history"), "MEMORY_HISTORY_SCRIPT": script,
                   "MEMORY_HISTORY_OUTPUT": history}
    (guest.run_with_agent if with_agent else guest.record)(log, script, **environment)
    return log, history


def read(guest, folder, log, history):
    """(PyTorch's output, the log's events, its exported snapshot)"""
    if not os.path.exists(history):
        fail("PyTorch's memory history was not switched on")
    with open(history, "rb") as file:
        told = pickle.load(file)
    exported = os.path.join(folder, "ours.pickle")
    guest.memprof("export", "--to", "pytorch", "-o", exported, log)
    with open(exported, "rb") as file:
        ours = pickle.load(file)
    dumped = [json.loads(line) for line in guest.memprof("dump", "--json", log).splitlines()]
    return told, dumped, ours


def compare(told, dumped, exported, script):
    """(differences, events compared)"""
    sizes = trace_compare.BlockSizes()
    history = trace_compare.history_events(told["snapshot"]["device_traces"][0], sizes)
    total = told["stats"]["allocated_bytes.all.allocated"]
    found = []
    if sizes.handed_out != total:
        found.append(f"the sizes of blocks add up to {sizes.handed_out}, PyTorch's total is {total}")
    row = [event for event in history if event.what != "free_completed"]
    traces = exported["device_traces"]
    others = trace_compare.of_libraries(dumped, history)
    ours = [event for event in trace_compare.exported_events(traces[0] if traces else [])
            if event.address not in others]
    joined = trace_compare.joined_pages if sizes.expandable else list
    for where, theirs, logged in (("dump", row, trace_compare.logged_events(dumped)), ("export", history, ours)):
        found += [f"{where}: {text}" for text in
                  trace_compare.compare_rows(joined(theirs), joined(logged), script)]
    found += ["export: " + text for text in trace_compare.compare_segments(
        told["snapshot"]["segments"],
        [segment for segment in exported["segments"] if segment["address"] not in others], script)]
    return found, row


def check(guest, script, with_agent=False, made=None):
    """PyTorch's figures of the run; fails if log and history differ. `made`: the log and the history of an existing
    run."""
    with tempfile.TemporaryDirectory() as folder:
        log, history = made or run(guest, folder, script, with_agent)
        told, dumped, exported = read(guest, folder, log, history)
    found, row = compare(told, dumped, exported, script)
    allocs = [event for event in row if event.what == "alloc"]
    if len(allocs) < 5 or not any(trace_compare.user_frame(event.stack, script) for event in allocs):
        found.append("the script hardly used PyTorch's allocator")
    if found:
        print("\n".join(found[:SHOWN]))
        fail(f"{len(found)} differences between the log and PyTorch's memory history")
    python = sum(bool(event.stack) for event in allocs)
    print(f"the same: {len(row)} events, {len(allocs)} allocs, {python} of them with a Python stack; "
          f"{len(told['snapshot']['segments'])} segments and their blocks")
    return told["stats"]
