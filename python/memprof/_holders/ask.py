"""memprof.holders(): the holders of one tensor, asked by the program."""

import os
import sys

from .finder import Finder
from .look import Library

_HERE = os.path.dirname(os.path.abspath(__file__))
_NAME = "libmemprof_holders.so"

_finder = None


def _library_path():
    """Of the recorder that runs, beside these files, or in the environment that they are installed in."""
    places = [os.environ.get("MEMPROF_HOLDERS", ""), os.path.join(_HERE, "..", "..", "..", _NAME),
              os.path.join(sys.prefix, "lib", "memprof", _NAME)]
    for place in places:
        if place and os.path.exists(place):
            return place
    raise OSError("memprof: %s is in none of %s" % (_NAME, ", ".join(filter(None, places))))


def holders_of(tensor):
    """See memprof.holders."""
    global _finder  # pylint: disable=global-statement
    import torch
    if _finder is None:
        _finder = Finder(Library(_library_path()), torch)
    return [{"path": holder.line, "root": holder.root, "chain": holder.chain, "kind": holder.kind}
            for holder in _finder.of(tensor)]
