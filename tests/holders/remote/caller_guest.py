"""A function passes its variable on to another one, which waits."""
import os
import sys


class Marker:
    pass


def called(argument):
    print("ready", os.getpid(), flush=True)
    sys.stdin.readline()
    return argument


def caller():
    variable = [Marker()]
    called(variable)


caller()
