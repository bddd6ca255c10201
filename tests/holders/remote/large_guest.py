"""A process with many objects.

usage: large_guest.py OBJECTS [sleep]

With `sleep` it then sleeps in C, and no other thread can run Python."""
import ctypes
import os
import sys


class Marker:
    pass


class Record:
    def __init__(self, number):
        self.number = number
        self.values = [number, {"marker": Marker()}]


records = [Record(number) for number in range(int(sys.argv[1]) // 4)]
print("ready", os.getpid(), flush=True)
if sys.argv[2:] == ["sleep"]:
    ctypes.PyDLL(None).sleep(100)
sys.stdin.readline()
