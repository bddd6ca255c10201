"""A process that holds a target in every kind of variable (tests/python/holders/guest.py), and waits to be read.

usage: known_guest.py FOLDER_OF_GUEST

Prints "ready PID", waits for a line, then prints "ADDRESS EXPECTED" of each target."""
import gc
import os
import sys

sys.path.insert(0, sys.argv[1])
import guest  # noqa: E402  pylint: disable=wrong-import-position


def wait():
    print("ready", os.getpid(), flush=True)
    sys.stdin.readline()


def main():
    targets = []

    def look():
        wait()
        targets.extend(each for each in gc.get_objects() if type(each) is guest.Target)
    guest.main(look)
    for target in targets:
        print("%x %s" % (id(target), target.expected))


main()
