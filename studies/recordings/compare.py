"""A recording of PyTorch's allocator (torch.cuda.memory._dump_snapshot) beside another of the same script."""
import bisect
import collections
import io
import pickle

ACTIONS = {"alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map",
           "segment_unmap", "oom"}
LIVE = {"active_allocated"}
Event = collections.namedtuple("Event", "action size stream")


class _Plain(pickle.Unpickler):
    """A snapshot has no objects but lists, dictionaries, strings and numbers, so no class is looked up."""

    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"a snapshot with an object of {module}.{name}")


def load(data):
    """The snapshot in these bytes; ValueError if they are none."""
    try:
        snapshot = _Plain(io.BytesIO(data)).load()
        traces, segments = snapshot["device_traces"], snapshot["segments"]
        ok = isinstance(traces, list) and isinstance(segments, list)
    except Exception as error:  # whatever a damaged pickle raises
        raise ValueError(f"no snapshot: {error}") from error
    if not ok:
        raise ValueError("no snapshot: its traces are not lists")
    return snapshot


def trace_of(snapshot, device):
    """The device's events that change memory. Marks ('snapshot', annotations) depend on who looked."""
    traces = snapshot["device_traces"]
    return [event for event in (traces[device] if device < len(traces) else []) if event["action"] in ACTIONS]


def devices(snapshot):
    return [device for device in range(len(snapshot["device_traces"])) if trace_of(snapshot, device)]


def events_of(trace):
    """Action, requested bytes and stream of each event; streams by order of appearance, as they are pointers."""
    streams = {}
    return [Event(event["action"], event["size"], streams.setdefault(event.get("stream", 0), len(streams)))
            for event in trace]


def peaks(snapshot, device):
    """The most that was allocated and reserved while events were recorded, in bytes: what the snapshot says of its
    end, and back from there. Allocated bytes are as requested, since events do not say how they were rounded."""
    segments = [one for one in snapshot["segments"] if one.get("device", 0) == device]
    allocated = sum(block.get("requested_size", block["size"]) for segment in segments for block in segment["blocks"]
                    if block["state"] in LIVE)
    reserved = sum(segment["total_size"] for segment in segments)
    most = [allocated, reserved]
    for event in reversed(trace_of(snapshot, device)):
        allocated -= {"alloc": 1, "free_requested": -1}.get(event["action"], 0) * event["size"]
        reserved -= {"segment_alloc": 1, "segment_map": 1, "segment_free": -1,
                     "segment_unmap": -1}.get(event["action"], 0) * event["size"]
        most = [max(most[0], allocated), max(most[1], reserved)]
    return tuple(most)


def places(snapshot, device):
    """(segment, offset) of each event; a segment's name is the event where it appeared. An address means nothing
    elsewhere, and a segment that is requested again at the same address is another one."""
    trace = trace_of(snapshot, device)
    sizes = {one["address"]: one["total_size"] for one in snapshot["segments"] if one.get("device", 0) == device}
    for event in reversed(trace):  # back to the segments when the trace begins
        if event["action"] in ("segment_alloc", "segment_map"):
            sizes.pop(event["addr"], None)
        elif event["action"] in ("segment_free", "segment_unmap"):
            sizes[event["addr"]] = event["size"]
    bases, names, found = sorted(sizes), {}, []
    for event in trace:
        address = event["addr"]
        at = bisect.bisect_right(bases, address)
        if event["action"] in ("segment_alloc", "segment_map"):
            if at == 0 or bases[at - 1] != address:
                bases.insert(at, address)
            names.pop(address, None)
        base = bases[bisect.bisect_right(bases, address) - 1] if bases and bases[0] <= address else 0
        found.append((names.setdefault(base, len(found)), address - base))
        if event["action"] in ("segment_free", "segment_unmap") and base == address:
            bases.remove(address)
    return found


def first_difference(a, b):
    """The first index at which two lists differ; None if they do not."""
    shorter = min(len(a), len(b))
    at = next((i for i in range(shorter) if a[i] != b[i]), shorter)
    return None if at == len(a) == len(b) else at


def with_frees_in_order(events):
    """The same events, frees sorted that follow each other: the order in which a hash table drops its tensors (as
    autocast's cache does) depends on addresses of the host."""
    found, frees = [], []
    for event in [*events, None]:
        if event is not None and event.action.startswith("free"):
            frees.append(event)
            continue
        found += sorted(frees)
        frees = []
        found += [event] if event is not None else []
    return found


def user_line(event):
    """File and line of the innermost frame of Python, for a difference."""
    for frame in event.get("frames", ()):
        if frame["filename"].endswith(".py"):
            return f"{frame['filename'].replace(chr(92), '/').rsplit('/', 1)[-1]}:{frame['line']}"
    return ""


def compare(real, here):
    """What differs, as a dictionary for JSON; of several devices the sums, and the first difference of all."""
    result = {"events": 0, "events_here": 0, "differs_at": None, "only_real": 0, "only_here": 0, "same_places": True,
              "same_but_for_frees": True,
              "allocated": 0, "reserved": 0, "allocated_here": 0, "reserved_here": 0}
    for device in sorted({*devices(real), *devices(here)}):
        traces = trace_of(real, device), trace_of(here, device)
        events = [events_of(trace) for trace in traces]
        result["events"] += len(events[0])
        result["events_here"] += len(events[1])
        at = first_difference(*events)
        if at is not None and result["differs_at"] is None:
            result["differs_at"] = at
            result["difference"] = [_describe(trace, some, at) for trace, some in zip(traces, events)]
        ordered = [with_frees_in_order(some) for some in events]
        result["same_but_for_frees"] &= ordered[0] == ordered[1]
        counts = [collections.Counter(some) for some in events]
        result["only_real"] += (counts[0] - counts[1]).total()
        result["only_here"] += (counts[1] - counts[0]).total()
        result["same_places"] &= at is None and places(real, device) == places(here, device)
        for snapshot, suffix in ((real, ""), (here, "_here")):
            for name, most in zip(("allocated", "reserved"), peaks(snapshot, device)):
                result[name + suffix] += most
    return result


def _describe(trace, events, at):
    if at >= len(events):
        return "the end"
    return f"{events[at].action} {events[at].size} stream {events[at].stream} {user_line(trace[at])}".rstrip()
