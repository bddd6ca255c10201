"""The device memory that the stand-in of NCCL takes, beside what communicators of real GPUs took; and what its ranks
send each other."""
import os
import subprocess
import sys
import tempfile
import unittest

SIMCUDA = os.path.join(os.path.abspath(sys.argv.pop(1)), "simcuda")
MIB = 1 << 20
GUEST = """
import ctypes, sys
cuda = ctypes.CDLL(sys.argv[1] + "/libcuda.so.1", ctypes.RTLD_GLOBAL)
nccl = ctypes.CDLL(sys.argv[1] + "/libraries/libnccl.so")
cuda.cuInit(0)
class Memory(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("capacity", ctypes.c_uint64), ("free", ctypes.c_uint64),
                ("context", ctypes.c_uint64), ("linear", ctypes.c_uint64)]
class Id(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 128)]
def used():
    memory = Memory(ctypes.sizeof(Memory))
    assert cuda.simcuda_get_memory(0, ctypes.byref(memory)) == 0
    return memory.linear
def create(ranks, rank=0):
    made = ctypes.c_void_p()
    status = nccl.ncclCommInitRank(ctypes.byref(made), ranks, Id(), rank)
    return made if status == 0 else status
def all_reduce(comm):
    return nccl.ncclAllReduce(None, None, ctypes.c_size_t(0), 7, 0, comm, None)
def all_to_all(comm):
    return nccl.ncclAlltoAll(None, None, ctypes.c_size_t(0), 7, comm, None)
def send(comm, peer):
    return nccl.ncclSend(None, ctypes.c_size_t(0), 7, peer, comm, None)
"""
# One of several processes.
RANK = GUEST + """
import os, threading, time
rank, ranks = int(os.environ["RANK"]), int(os.environ["RANKS"])
def read_id(path):
    identifier = Id()
    if rank == 0:
        assert nccl.ncclGetUniqueId(ctypes.byref(identifier)) == 0
        with open(path + ".new", "wb") as out:
            out.write(bytes(identifier))
        os.rename(path + ".new", path)
    while not os.path.exists(path):
        time.sleep(0.01)
    with open(path, "rb") as made:
        return Id.from_buffer_copy(made.read())
def create_shared(path=os.environ["ID"]):
    made = ctypes.c_void_p()
    assert nccl.ncclCommInitRank(ctypes.byref(made), ranks, read_id(path), rank) == 0
    return made
context = ctypes.c_void_p()
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == cuda.cuCtxSetCurrent(context) == 0
def put(*values):
    place = ctypes.c_uint64()
    assert cuda.cuMemAlloc_v2(ctypes.byref(place), ctypes.c_size_t(8 * len(values))) == 0
    assert cuda.cuMemcpyHtoD_v2(place, (ctypes.c_int64 * len(values))(*values), ctypes.c_size_t(8 * len(values))) == 0
    return place
def get(place, count):
    values = (ctypes.c_int64 * count)()
    assert cuda.cuMemcpyDtoH_v2(values, place, ctypes.c_size_t(8 * count)) == 0
    return list(values)
def call(name, *arguments):
    return getattr(nccl, name)(*(ctypes.c_size_t(one) if isinstance(one, int) else one for one in arguments))
INT64 = 4
def reduced(comm, values, operation):
    there = put(*values)
    assert call("ncclAllReduce", there, there, len(values), INT64, operation, comm, None) == 0
    return get(there, len(values))
def members(comm):
    numbers = []
    for name in ("ncclCommCount", "ncclCommUserRank"):
        number = ctypes.c_int()
        assert getattr(nccl, name)(comm, ctypes.byref(number)) == 0
        numbers.append(number.value)
    return numbers
"""
COLLECTIVES = """
comm = create_shared()
own, three, one = put(10 * rank, 10 * rank + 1, 10 * rank + 2), put(7, 7, 7), put(7)
for operation in range(5):
    print(*reduced(comm, [rank + 1], operation))
call("ncclAllGather", own, three, 1, INT64, comm, None); print(*get(three, 3))
call("ncclReduceScatter", own, one, 1, INT64, 0, comm, None); print(*get(one, 1))
call("ncclAlltoAll", own, three, 1, INT64, comm, None); print(*get(three, 3))
call("ncclBroadcast", own, three, 3, INT64, 1, comm, None); print(*get(three, 3))
call("ncclGather", own, three, 1, INT64, 2, comm, None); print(*get(three, 3))
call("ncclScatter", own, one, 1, INT64, 1, comm, None); print(*get(one, 1))
call("ncclReduce", own, one, 1, INT64, 0, 0, comm, None); print(*get(one, 1))
"""


def run_ranks(count, code, statuses=None, **environment):
    """The numbers that each rank prints."""
    with tempfile.TemporaryDirectory() as folder:
        started = [subprocess.Popen([sys.executable, "-c", RANK + code, SIMCUDA], stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True,
                                    env={**os.environ, "SIMCUDA": "memory=8GiB", "RANK": str(rank), "RANKS": str(count),
                                         "ID": folder + "/id", "SIMCUDA_NCCL_MIB": "1", **environment})
                   for rank in range(count)]
        printed = []
        for rank, one in enumerate(started):
            out, errors = one.communicate(timeout=60)
            assert one.returncode == (statuses or {}).get(rank, 0), errors
            printed.append([int(word) for word in out.split()])
        return printed


def run(code, gpu="A100-40GB", **environment):
    """The numbers that the code prints; the library has no version here, so it is as before 2.22."""
    done = subprocess.run([sys.executable, "-c", GUEST + code, SIMCUDA], capture_output=True, text=True, check=False,
                          env={**os.environ, "SIMCUDA": f"gpu={gpu}", **environment})
    assert done.returncode == 0, done.stderr
    return [int(word) for word in done.stdout.split()]


class NcclTest(unittest.TestCase):
    def test_two_and_four_a100(self):
        """544 and 688 MiB: github.com/NVIDIA/nccl/issues/964."""
        for ranks, mib in ((2, 544), (4, 688)):
            self.assertEqual(run(f"comm = create({ranks}); all_reduce(comm); print(used())"), [mib * MIB])

    def test_an_all_to_all_of_eight_h100(self):
        """3.28 GB, here 2.82: github.com/NVIDIA/nccl/issues/1685."""
        before, after = run("comm = create(8); print(used()); all_to_all(comm); print(used())", gpu="H100-80GB")
        self.assertEqual(after - before, 7 * 32 * 12 * MIB)

    def test_peers_are_connected_once(self):
        found = run("comm = create(4); a = used(); send(comm, 1); b = used(); send(comm, 1); send(comm, 0)\n"
                    "print(b - a, used() - a)")
        self.assertEqual(found, [32 * 12 * MIB] * 2)

    def test_cards_have_two_channels(self):
        self.assertEqual(run("comm = create(2); all_reduce(comm); print(used())", gpu="RTX3090"),
                         [(256 + 2 * 12) * MIB])

    def test_settings_of_nccl(self):
        code = "comm = create(2); print(used())"
        self.assertEqual(run(code, NCCL_MAX_NCHANNELS="4"), [(256 + 4 * 12) * MIB])
        self.assertEqual(run(code, NCCL_BUFFSIZE=str(16 * MIB)), [(256 + 24 * 24) * MIB])
        self.assertEqual(run(code, NCCL_BUFFSIZE="many"), [544 * MIB])

    def test_one_rank_and_a_fixed_size(self):
        self.assertEqual(run("comm = create(1); all_reduce(comm); print(used())"), [4 * MIB])
        self.assertEqual(run("comm = create(2); all_reduce(comm); print(used())", SIMCUDA_NCCL_MIB="64"), [64 * MIB])

    def test_all_of_it_is_freed(self):
        self.assertEqual(run("comm = create(4); all_to_all(comm); nccl.ncclCommDestroy(comm); print(used())"), [0])

    def test_a_full_device_is_an_error(self):
        self.assertEqual(run("print(create(2), used())", SIMCUDA="gpu=A100-40GB,memory=800MiB"), [1, 0])


class RanksTest(unittest.TestCase):
    def test_every_collective_operation(self):
        reductions = [6, 6, 3, 1, 2]  # sum, product, largest, smallest, average
        expected = [
            [*reductions, 0, 10, 20, 30, 0, 10, 20, 10, 11, 12, 10, 11, 12, 10, 30],
            [*reductions, 0, 10, 20, 33, 1, 11, 21, 10, 11, 12, 10, 11, 12, 11, 11],
            [*reductions, 0, 10, 20, 36, 2, 12, 22, 10, 11, 12, 0, 10, 20, 12, 12],
        ]
        for contents in ("kept", "none"):
            with self.subTest(contents):
                self.assertEqual(run_ranks(3, COLLECTIVES, SIMCUDA=f"memory=8GiB,contents={contents}"), expected)

    def test_a_group_may_receive_before_it_sends(self):
        code = """
comm, own, other = create_shared(), put(rank + 5), put(0)
for turn in range(3):
    nccl.ncclGroupStart()
    call("ncclRecv", other, 1, INT64, (rank - 1) % ranks, comm, None)
    call("ncclSend", own, 1, INT64, (rank + 1) % ranks, comm, None)
    nccl.ncclGroupEnd()
    own, other = other, own
    print(*get(own, 1))
"""
        self.assertEqual(run_ranks(3, code), [[7, 6, 5], [5, 7, 6], [6, 5, 7]])

    def test_sends_do_not_wait_and_keep_their_order(self):
        code = """
comm, there = create_shared(), put(0)
for i in range(20):
    if rank == 0: call("ncclSend", put(i), 1, INT64, 1, comm, None)
print(*reduced(comm, [rank], 0))
for i in range(20 * rank):
    call("ncclRecv", there, 1, INT64, 0, comm, None); print(*get(there, 1))
"""
        self.assertEqual(run_ranks(2, code), [[1], [1, *range(20)]])

    def test_a_split_has_the_ranks_of_one_color_in_the_order_of_their_keys(self):
        code = """
comm, child = create_shared(), ctypes.c_void_p(1)
assert nccl.ncclCommSplit(comm, -1 if rank == 4 else rank % 2, 7 if rank < 2 else -rank, ctypes.byref(child), None) == 0
print(*(members(child) + reduced(child, [rank], 0)) if child else ())
"""
        self.assertEqual(run_ranks(6, code), [[2, 1, 2], [3, 2, 9], [2, 0, 2], [3, 1, 9], [], [3, 0, 9]])

    def test_equal_keys_keep_the_order(self):
        code = """
comm, child, deeper = create_shared(), ctypes.c_void_p(), ctypes.c_void_p()
assert nccl.ncclCommSplit(comm, rank // 2, 0, ctypes.byref(child), None) == 0
assert nccl.ncclCommSplit(child, rank, 0, ctypes.byref(deeper), None) == 0
print(*members(child), *reduced(child, [rank], 0), *members(deeper), *reduced(deeper, [rank], 0))
nccl.ncclCommDestroy(child)
print(*reduced(comm, [rank], 0))
"""
        self.assertEqual(run_ranks(4, code), [[2, rank % 2, 1 + rank // 2 * 4, 1, 0, rank, 6] for rank in range(4)])

    def test_a_shrunk_communicator_closes_the_gap(self):
        code = """
comm, child = create_shared(), ctypes.c_void_p()
excluded = (ctypes.c_int * 2)(1, 1)
print(nccl.ncclCommShrink(comm, excluded, 2, ctypes.byref(child), None, 0))
if child: print(*members(child), *reduced(child, [rank], 0))
"""
        self.assertEqual(run_ranks(4, code), [[0, 3, 0, 5], [4], [0, 3, 1, 5], [0, 3, 2, 5]])

    def test_a_large_message_does_not_travel(self):
        code = """
comm, values = create_shared(), [rank] * (1 << 17)
print(reduced(comm, values, 2)[5], reduced(comm, values + [1], 2)[5])
"""
        self.assertEqual(run_ranks(2, code), [[1, 0], [1, 1]])

    def test_the_end_of_a_rank_ends_the_wait_for_it(self):
        code = """
comm, there = create_shared(), put(1)
reduced(comm, [rank], 0)
if rank == 1: os._exit(3)
status = ctypes.c_int()
print(call("ncclAllReduce", there, there, 1, INT64, 0, comm, None))
nccl.ncclCommGetAsyncError(comm, ctypes.byref(status)); print(status.value)
"""
        self.assertEqual(run_ranks(2, code, statuses={1: 3}), [[6, 6], []])

    def test_a_rank_that_never_comes_is_waited_for_with_patience(self):
        code = """
if rank == 0:
    comm, there = create_shared(), put(1)
    print(call("ncclAllReduce", there, there, 1, INT64, 0, comm, None))
"""
        self.assertEqual(run_ranks(2, code, SIMCUDA_NCCL_SECONDS="0.2"), [[6], []])

    def test_an_abort_ends_the_wait_of_another_thread(self):
        code = """
comm, there = create_shared(), put(1)
if rank == 0:
    threading.Timer(0.3, lambda: nccl.ncclCommAbort(comm)).start()
    print(call("ncclAllReduce", there, there, 1, INT64, 0, comm, None))
    open(os.environ["ID"] + ".done", "w").close()
while not os.path.exists(os.environ["ID"] + ".done"): time.sleep(0.01)
"""
        self.assertEqual(run_ranks(2, code)[0], [3])

    def test_after_a_revocation_it_can_be_shrunk(self):
        code = """
comm, there, child = create_shared(), put(1), ctypes.c_void_p()
print(nccl.ncclCommRevoke(comm, 0), call("ncclAllReduce", there, there, 1, INT64, 0, comm, None))
if rank < 2:
    print(nccl.ncclCommShrink(comm, (ctypes.c_int * 1)(2), 1, ctypes.byref(child), None, 1), *reduced(child, [rank], 0))
"""
        self.assertEqual(run_ranks(3, code), [[0, 5, 0, 1], [0, 5, 0, 1], [0, 5]])

    def test_all_ranks_in_one_process(self):
        code = """
comms, device = (ctypes.c_void_p * 2)(), ctypes.c_int()
assert nccl.ncclCommInitAll(comms, 2, (ctypes.c_int * 2)(1, 0)) == 0
comms = [ctypes.c_void_p(one) for one in comms]
data = [put(1), put(2)]
nccl.ncclGroupStart()
for comm, there in zip(comms, data):
    call("ncclAllReduce", there, there, 1, INT64, 0, comm, None)
print(nccl.ncclGroupEnd(), *get(data[0], 1), *get(data[1], 1))
for comm in comms:
    nccl.ncclCommCuDevice(comm, ctypes.byref(device)); print(device.value)
cuda.cuCtxGetDevice(ctypes.byref(device)); print(device.value)
"""
        self.assertEqual(run_ranks(1, code, SIMCUDA="devices=2,memory=8GiB"), [[0, 3, 3, 1, 0, 0]])

    def test_no_communicator_is_an_error(self):
        code = """
number = ctypes.c_int()
for name in ("ncclCommCount", "ncclCommUserRank", "ncclCommCuDevice", "ncclCommGetAsyncError"):
    print(getattr(nccl, name)(None, ctypes.byref(number)))
print(call("ncclAllReduce", None, None, 1, INT64, 0, None, None), nccl.ncclGroupEnd())
"""
        self.assertEqual(run_ranks(1, code), [[4, 4, 4, 4, 4, 5]])


if __name__ == "__main__":
    unittest.main()
