"""A process whose variables the agent names, and which waits to be read.

usage: both_guest.py BUILD

Prints "ready PID", waits for a line, then prints what the agent says: "ADDRESS<tab>PATH<tab>CHAIN…" of each target."""
import os
import sys

BUILD = os.path.join(sys.argv[1], "lib", "memprof")
sys.path.insert(0, os.path.join(BUILD, "python"))
import variables  # noqa: E402
from memprof._holders import look as looks  # noqa: E402
from memprof._holders.paths import Namer  # noqa: E402
from memprof._holders.source import Sources  # noqa: E402

LIBRARY = looks.Library(os.path.join(BUILD, "libmemprof_holders.so"))


def both():
    look = looks.take(LIBRARY, variables.Target)
    namer = Namer(look, LIBRARY, Sources())
    lines = []
    for place, _ in look.targets:
        way = namer.describe(look.path(place))
        lines.append("\t".join(["%x" % id(look.objects[place]), way.line] + way.chain))
    del look, namer
    print("ready", os.getpid(), flush=True)
    sys.stdin.readline()
    print("\n".join(lines))


variables.derived.run(both)
