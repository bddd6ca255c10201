"""memprof.holders(): the holders of one tensor, asked by the program."""

import functools
import os
import sys

from .finder import Finder
from .look import Library, is_traced
from .shield import shielded

_HERE = os.path.dirname(os.path.abspath(__file__))
_NAME = "libmemprof_holders.so"

_finder = _ask = None


def _library_path():
    """Of the recorder that runs, beside these files, or in the environment that they are installed in."""
    places = [os.environ.get("MEMPROF_HOLDERS", ""), os.path.join(_HERE, "..", "..", "..", _NAME),
              os.path.join(sys.prefix, "lib", "memprof", _NAME)]
    for place in places:
        if place and os.path.exists(place):
            return place
    raise OSError("memprof: %s is in none of %s" % (_NAME, ", ".join(filter(None, places))))


def _holders_of(torch, tensor):
    global _finder  # pylint: disable=global-statement
    if is_traced(torch):
        raise ValueError("no holders are looked for while torch.jit.trace records")
    if _finder is None:
        _finder = Finder(Library(_library_path()), torch)
    return [{"path": holder.line, "root": holder.root, "chain": holder.chain, "kind": holder.kind}
            for holder in _finder.of(tensor)]


def holders_of(tensor):
    """See memprof.holders."""
    global _ask  # pylint: disable=global-statement
    if _ask is None:
        import torch
        _ask = shielded(torch, functools.partial(_holders_of, torch))
    return _ask(tensor)
