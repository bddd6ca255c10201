"""How long a look takes, and its memory, with many objects. Not a test: docs/holders.md has its figures.

usage: time_look.py BUILD [OBJECTS]
"""

import gc
import os
import statistics
import sys
import time

BUILD = os.path.abspath(sys.argv[1])
COUNT = int(sys.argv[2]) if len(sys.argv) > 2 else 1000000
_PER_NODE = 4  # objects that the collector knows
sys.path.insert(0, os.path.join(BUILD, "lib", "memprof", "python"))
from memprof._holders import look as looks  # noqa: E402


class Node:
    def __init__(self, number):
        self.number = number
        self.name = str(number)
        self.next = None
        self.kids = [number]
        self.entries = {"a": number, "b": (number, self.kids)}


class Target:
    pass


world = [Node(number) for number in range(COUNT // _PER_NODE)]
for number, node in enumerate(world):
    node.next = world[number * 7919 % len(world)]
world[len(world) // 2].kids.append(Target())


def main():
    library = looks.Library(os.path.join(BUILD, "lib", "memprof", "libmemprof_holders.so"))
    gc.disable()
    times = []
    for _ in range(5):
        begin = time.process_time()
        look = looks.take(library, Target)
        times.append(time.process_time() - begin)
    print("Python %d.%d: %d objects, %d edges: median %.0f ms of CPU time, %.1f bytes an object" % (
        *sys.version_info[:2], look.examined, look.edges, statistics.median(times) * 1e3, look.bytes / look.examined))


main()
