"""Allocates with the CUDA runtime by ctypes, and says what it did: for `memprof attach`.

    attach_loop.py [asleep]

"asleep": its main thread waits for six seconds first, and executes nothing meanwhile. Ends when its input ends."""
import ctypes
import sys
import threading
import time

runtime = ctypes.CDLL("libcudart.so.13")
ends = threading.Event()


def allocate_one():
    pointer = ctypes.c_void_p()
    assert runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(4096)) == 0
    return pointer


def loop():
    count = 0
    while not ends.is_set():
        assert runtime.cudaFree(allocate_one()) == 0
        count += 1
        time.sleep(0.001)
    print("ended", count, flush=True)


def wait_for_input():
    sys.stdin.read()
    ends.set()


kept = allocate_one()
print("ready", flush=True)
if len(sys.argv) > 1:
    time.sleep(6)
threading.Thread(target=wait_for_input, daemon=True).start()
loop()
