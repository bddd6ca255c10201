"""The device memory that the stand-in of NCCL takes, beside what communicators of real GPUs took."""
import os
import subprocess
import sys
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


if __name__ == "__main__":
    unittest.main()
