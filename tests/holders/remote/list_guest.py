"""A process with a linked list, each of whose records has a target.

usage: list_guest.py RECORDS"""
import os
import sys


class Marker:
    pass


class Record:
    __slots__ = ("previous", "output")

    def __init__(self, previous):
        self.previous, self.output = previous, Marker()


latest = None
for _ in range(int(sys.argv[1])):
    latest = Record(latest)
print("ready", os.getpid(), flush=True)
sys.stdin.readline()
os._exit(0)  # to free the list takes more stack than there is
