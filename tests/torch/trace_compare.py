"""Compares the events of PyTorch's allocator in a log with PyTorch's own memory history: event by event, and
segment by segment at the end. Every function returns its findings as sentences; none means that both are equal.

Sizes: PyTorch's history has the bytes that a tensor requested, a log the bytes of the block that it got,
as PyTorch's figures count them. `BlockSizes` computes the second from the first by the allocator's rule,
and the sum of its blocks is compared with PyTorch's own total, so that sizes are compared to the byte.
Frees have no call stack in a log; all other events are compared with their whole Python stack."""
import dataclasses
import difflib
import operator

UNIT = 512  # CUDACachingAllocator: kMinBlockSize, to a multiple of which requests are rounded up
SMALL = 1 << 20  # kSmallSize: above it, a remainder of at most this much stays with its block


@dataclasses.dataclass(frozen=True)
class Event:
    what: str
    address: int
    size: int
    stack: tuple = None  # of (file, line, function), Python frames only, innermost first; None: not known

    def __str__(self):
        return f"{self.what} of {self.size} bytes at {self.address:#x}"


def rounded(size):
    return max(UNIT, -(-size // UNIT) * UNIT)


class BlockSizes:
    """The sizes of blocks, from PyTorch's history: the start of a block identifies the free block it was taken
    from."""

    def __init__(self):
        self.free, self.free_ends, self.live, self.segments = {}, {}, {}, {}
        self.handed_out = 0
        self.expandable = False

    def _add(self, address, size):
        if address not in self.segments and address in self.free_ends:
            before = self.free_ends[address]
            size += self._take(before)
            address = before
        if address + size not in self.segments and address + size in self.free:
            size += self._take(address + size)
        self.free[address], self.free_ends[address + size] = size, address

    def _take(self, address):
        size = self.free.pop(address)
        del self.free_ends[address + size]
        return size

    def begin_segment(self, address, size):
        self.segments[address] = size
        self._add(address, size)

    def end_segment(self, address):
        self._take(address)
        del self.segments[address]

    def map_pages(self, address, size):
        """Segments of expandable segments, which need not be distinguished: their ranges of addresses are never
        adjacent."""
        self.expandable = True
        self._add(address, size)

    def unmap_pages(self, address, size):
        begin = next((a for a, free in self.free.items() if a <= address and address + size <= a + free), None)
        if begin is None:
            raise ValueError(f"{size} bytes at {address:#x} are not free, where PyTorch's history unmaps them")
        end = begin + self._take(begin)
        for piece, piece_end in ((begin, address), (address + size, end)):
            if piece_end > piece:
                self.free[piece], self.free_ends[piece_end] = piece_end - piece, piece

    def allocate(self, address, asked):
        size = rounded(asked)
        if address not in self.free:
            raise ValueError(f"no free block begins at {address:#x}, where PyTorch's history has an alloc")
        available = self._take(address)
        rest = available - size
        if rest < 0:
            raise ValueError(f"{size} bytes at {address:#x} do not fit in the free block there")
        if rest >= UNIT if size <= SMALL or self.expandable else rest > SMALL:
            self._add(address + size, rest)
        else:
            size = available
        self.live[address] = size
        self.handed_out += size
        return size

    def release(self, address):
        self._add(address, self.live.pop(address))


def as_recorded(frames, name, file):
    """The original stack, without the forward frames that memprof adds to stacks of autograd's threads
    (docs/python-stacks.md). These are outermost and begin with a frame that says so."""
    for frame in frames:
        words = frame[name]
        if words.startswith(("backward of ", "backward within ", "backward: ")) or (
                words == "backward" and not frame[file]):
            return
        yield frame


def python_stack(frames):
    """The Python frames of a snapshot, in one form for both writers."""
    return tuple((f["filename"], f["line"], f["name"].rsplit(".", 1)[-1])
                 for f in as_recorded(frames, "name", "filename") if f["filename"].endswith(".py") or f["filename"].startswith("<"))


ENDS = ("free_requested", "free_completed", "segment_free", "segment_unmap")  # without stacks in a log


def history_events(trace, sizes):
    """The rows of PyTorch's history, with the sizes of blocks."""
    row = []
    for entry in trace:
        action, address, size = entry["action"], entry.get("addr", 0), entry["size"]
        if action == "segment_alloc":
            sizes.begin_segment(address, size)
        elif action == "segment_free":
            sizes.end_segment(address)
        elif action == "segment_map":
            sizes.map_pages(address, size)
        elif action == "segment_unmap":
            sizes.unmap_pages(address, size)
        elif action == "alloc":
            size = sizes.allocate(address, size)
        elif action in ("free_requested", "free_completed"):
            size = sizes.live[address]
            if action == "free_completed":
                sizes.release(address)
        elif action == "snapshot":
            continue
        stack = None if action in ENDS else python_stack(entry["frames"])
        row.append(Event(action, address, size, stack))
    return row


def exported_events(trace):
    """The rows of an exported snapshot, whose sizes are already those of blocks."""
    return [Event(e["action"], e.get("addr", 0), e["size"],
                  None if e["action"] in ENDS else python_stack(e["frames"])) for e in trace]


def of_libraries(dumped, history):
    """The addresses of memory that others than PyTorch's allocator took from the driver, as cuBLAS does for itself on a
    GPU. An exported snapshot has it as segments of its own."""
    taken = {int(event["address"], 16) for event in dumped if event["op"] == "alloc" and
             event["layer"] not in ("block", "segment")}
    return taken - {event.address for event in history}


LOGGED = {("alloc", "block"): "alloc", ("free", "block"): "free_requested",
          ("alloc", "segment"): "segment_alloc", ("free", "segment"): "segment_free",
          ("framework_oom", "block"): "oom"}


def logged_events(dumped):
    """The rows of `memprof dump --json`, given as parsed lines, with the action names of PyTorch's history."""
    row = []
    for event in dumped:
        what = LOGGED.get((event["op"], event["layer"]))
        if what is None:
            continue
        stack = None
        if "free" not in what:
            stack = tuple((f["file"], f["line"], f["function"].rsplit(".", 1)[-1])
                          for f in as_recorded(event.get("stack", []), "function", "file")
                          if f["module"] == "python")
        row.append(Event(what, int(event["address"], 16), event["bytes"], stack))
    return row


PAGES = {"segment_map": "segment_alloc", "segment_unmap": "segment_free"}


def joined_pages(row):
    """Rows of expandable segments: adjacent pieces mapped or unmapped together become one event. PyTorch reports
    ranges, the log reports each piece of physical memory."""
    joined = []
    for event in row:
        event = dataclasses.replace(event, what=PAGES.get(event.what, event.what))
        before = joined[-1] if joined else None
        adjoins = before is not None and (before.address + before.size == event.address or
                                          event.address + event.size == before.address)
        if adjoins and event.what in PAGES.values() and (event.what, event.stack) == (before.what, before.stack):
            joined[-1] = dataclasses.replace(before, address=min(before.address, event.address),
                                             size=before.size + event.size)
        else:
            joined.append(event)
    return joined


def place(frame):
    return "none" if frame is None else f"{frame[0]}:{frame[1]} ({frame[2]})"


def user_frame(stack, script):
    return next((frame for frame in stack if frame[0] == script), None)


def compare_stacks(what, theirs, ours, script):
    if theirs == ours or theirs is None or ours is None:
        return []
    if not ours and theirs:
        return [f"{what}: PyTorch has a Python stack of {len(theirs)} frames, innermost "
                f"{place(theirs[0])}, the log none"]
    found = []
    if user_frame(theirs, script) != user_frame(ours, script):
        found.append(f"{what}: line of the script: PyTorch {place(user_frame(theirs, script))}, "
                     f"the log {place(user_frame(ours, script))}")
    if theirs[:1] != ours[:1]:
        found.append(f"{what}: innermost line: PyTorch {place(theirs[0] if theirs else None)}, "
                     f"the log {place(ours[0])}")
    if not found:
        depth = next((i for i, (a, b) in enumerate(zip(theirs, ours)) if a != b),
                     min(len(theirs), len(ours)))
        one, other = (stack[depth] if depth < len(stack) else None for stack in (theirs, ours))
        found.append(f"{what}: Python frame {depth}: PyTorch {place(one)}, the log {place(other)}")
    return found


def compare_rows(theirs, ours, script):
    """Events that only one of both lists contains, and events that differ."""
    found = []
    keys = [[(event.what, event.address) for event in row] for row in (theirs, ours)]
    matcher = difflib.SequenceMatcher(None, *keys, autojunk=False)
    for tag, i, i_end, j, j_end in matcher.get_opcodes():
        if tag != "equal":
            found += [f"event {n}: PyTorch lists {theirs[n]}, the log does not (here)" for n in range(i, i_end)]
            found += [f"event {n}: the log lists {ours[n]}, PyTorch does not (here)" for n in range(j, j_end)]
            continue
        for n, (one, other) in enumerate(zip(theirs[i:i_end], ours[j:j_end]), i):
            if one.size != other.size:
                found.append(f"event {n}, {one}: the log says {other.size} bytes")
            found += compare_stacks(f"event {n}, {one}", one.stack, other.stack, script)
    return found


SEGMENT_FIELDS = ("total_size", "allocated_size", "active_size", "stream", "segment_type",
                  "segment_pool_id", "is_expandable")


def only_in(theirs):
    return "the exported" if theirs is None else "PyTorch's own"


def compare_blocks(where, theirs, ours, script):
    """PyTorch's `requested_size` is compared rounded up to the unit, which is a block's requested size in a log.
    Free blocks are not compared: PyTorch keeps the size that the last tensor there requested."""
    found = []
    for address in sorted(theirs.keys() | ours.keys()):
        one, other = theirs.get(address), ours.get(address)
        what = f"block {address:#x} of {where}"
        if one is None or other is None:
            found.append(f"{what}: only in {only_in(one)} snapshot")
            continue
        for field in ("size", "state"):
            if one[field] != other[field]:
                found.append(f"{what}: {field}: PyTorch {one[field]}, the export {other[field]}")
        if one["state"] == "inactive":
            continue
        if not rounded(one["requested_size"]) <= rounded(other["requested_size"]) <= one["size"]:
            found.append(f"{what}: requested_size: PyTorch {one['requested_size']}, "
                         f"the export {other['requested_size']}")
        found += compare_stacks(what, python_stack(one["frames"]), python_stack(other["frames"]), script)
    return found


class PoolNames:
    """Matches pools: PyTorch and memprof number private pools differently."""

    def __init__(self):
        self.ours, self.theirs = {(0, 0): (0, 0)}, {(0, 0): (0, 0)}

    def same(self, theirs, ours):
        return self.ours.setdefault(theirs, ours) == ours and self.theirs.setdefault(ours, theirs) == theirs


def compare_segments(theirs, ours, script):
    """Segments and blocks that differ between two snapshots: one sentence for each."""
    found, pools = [], PoolNames()
    rows = [{(s["device"], s["address"]): s for s in side} for side in (theirs, ours)]
    for key in sorted(rows[0].keys() | rows[1].keys()):
        one, other = rows[0].get(key), rows[1].get(key)
        what = f"segment {key[1]:#x} of device {key[0]}"
        if one is None or other is None:
            found.append(f"{what}: only in {only_in(one)} snapshot")
            continue
        for field in SEGMENT_FIELDS:
            equal = pools.same if field == "segment_pool_id" else operator.eq
            if not equal(one[field], other[field]):
                found.append(f"{what}: {field}: PyTorch {one[field]}, the export {other[field]}")
        blocks = [{block["address"]: block for block in side["blocks"]} for side in (one, other)]
        found += compare_blocks(what, *blocks, script)
    return found
