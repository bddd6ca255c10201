"""The memory of a device by the stand-in of NVML: that of cuMemGetInfo, without starting CUDA."""
import os
import subprocess
import sys
import unittest

SIMCUDA = os.path.join(os.path.abspath(sys.argv.pop(1)), "simcuda")
GUEST = """
import ctypes, sys
nvml = ctypes.CDLL(sys.argv[1] + "/libraries/libnvidia-ml.so")
class Memory(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]
def memory(index):
    device, found = ctypes.c_void_p(), Memory()
    assert nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device)) == 0
    return nvml.nvmlDeviceGetMemoryInfo(device, ctypes.byref(found)), found.total, found.used
print(*memory(0))
cuda = ctypes.CDLL(sys.argv[1] + "/libcuda.so.1", ctypes.RTLD_GLOBAL)
context, address = ctypes.c_void_p(), ctypes.c_uint64()
assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 1) == 0
assert cuda.cuCtxSetCurrent(context) == 0 and cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(6 << 20)) == 0
print(*memory(0))
print(*memory(1))
"""


class NvmlTest(unittest.TestCase):
    def test_the_memory_of_each_device(self):
        done = subprocess.run([sys.executable, "-c", GUEST, SIMCUDA], capture_output=True, text=True, check=False,
                              env={**os.environ, "SIMCUDA": "devices=2,memory=64MiB,overhead=10MiB"})
        self.assertEqual(done.stderr, "")
        lines = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
        self.assertEqual(lines, [(3, 0, 0), (0, 64 << 20, 0), (0, 64 << 20, 16 << 20)])


if __name__ == "__main__":
    unittest.main()
