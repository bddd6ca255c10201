"""What memprof's log says of the time that a snapshot covers."""
import csv
import subprocess

import compare

KINDS = {"alloc": ("alloc", "block"), "free_completed": ("free", "block"), "segment_alloc": ("alloc", "segment"),
         "segment_free": ("free", "segment")}


def read(log, memprof):
    """(operation, layer, address, bytes) of PyTorch's blocks and segments, in order, by device."""
    dump = subprocess.run([memprof, "dump", "--layer=block", "--layer=segment", "--op=alloc", "--op=free", str(log)],
                          capture_output=True, text=True, check=True).stdout
    found = {}
    for row in csv.DictReader(dump.splitlines(), delimiter="\t"):
        found.setdefault(int(row["device"]), []).append(
            (row["op"], row["layer"], int(row["address"], 16), int(row["bytes"])))
    return found


def window(events, trace):
    """Where the snapshot's events are in the log's, which must be the same without a gap; None if they are not."""
    wanted = [(*KINDS[event["action"]], event["addr"]) for event in trace if event["action"] in KINDS]
    names = [event[:3] for event in events]
    for start in range(len(names) - len(wanted), -1, -1):
        if names[start:start + 1] == wanted[:1] and names[start:start + len(wanted)] == wanted:
            return start, start + len(wanted)
    return None


def most(events, start, end):
    """The most bytes of blocks and of segments from event `start` on, before event `end`."""
    live, peak = {"block": 0, "segment": 0}, {"block": 0, "segment": 0}
    for at, (operation, layer, _, size) in enumerate(events[:end]):
        if at == start:
            peak = dict(live)
        live[layer] += size if operation == "alloc" else -size
        peak[layer] = max(peak[layer], live[layer])
    return peak if end > start else live


def peaks(log, snapshot, memprof):
    """log_agrees: whether the log has the snapshot's events. log_allocated, log_reserved: its peaks in that time, of
    blocks as PyTorch rounded them and of segments; of the whole run if it does not agree."""
    events = read(log, memprof)
    result = {"log_agrees": True, "log_allocated": 0, "log_reserved": 0}
    for device in compare.devices(snapshot):
        some = events.get(device, [])
        found = window(some, compare.trace_of(snapshot, device))
        result["log_agrees"] &= found is not None
        peak = most(some, *(found or (0, len(some))))
        result["log_allocated"] += peak["block"]
        result["log_reserved"] += peak["segment"]
    return result
