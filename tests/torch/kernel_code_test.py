"""The first kernel of a stand-in of a library loads its code, once on each device."""
import os
import subprocess
import sys
import unittest

SIMCUDA = os.path.join(os.path.abspath(sys.argv.pop(1)), "simcuda")
GUEST = """
import ctypes, sys
cuda = ctypes.CDLL(sys.argv[1] + "/libcuda.so.1", ctypes.RTLD_GLOBAL)
blas = ctypes.CDLL(sys.argv[1] + "/libraries/libcublas.so")
NAMES = "size capacity free context linear array managed pool vmm live graph other code".split()
class Memory(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in NAMES]
def use(device):
    context = ctypes.c_void_p()
    assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0 and cuda.cuCtxSetCurrent(context) == 0
def code(device):
    memory = Memory(ctypes.sizeof(Memory))
    assert cuda.simcuda_get_memory(device, ctypes.byref(memory)) == 0
    return memory.code >> 20
handle = ctypes.c_void_p()
assert cuda.cuInit(0) == 0
use(0)
assert blas.cublasCreate_v2(ctypes.byref(handle)) == 0
print(code(0))
for _ in range(100):
    assert blas.cublasSgemm_v2(handle) == 0
print(code(0), code(1))
use(1)
assert blas.cublasSgemm_v2(handle) == 0
print(code(0), code(1))
"""


def run(simcuda):
    done = subprocess.run([sys.executable, "-c", GUEST, SIMCUDA], env={**os.environ, "SIMCUDA": simcuda},
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [int(word) for word in done.stdout.split()]


class KernelCodeTest(unittest.TestCase):
    def test_once_on_each_device(self):
        self.assertEqual(run("devices=2,gpu=H100-80GB"), [0, 50, 0, 50, 50])

    def test_not_without_a_named_gpu(self):
        self.assertEqual(run("devices=2"), [0] * 5)


if __name__ == "__main__":
    unittest.main()
