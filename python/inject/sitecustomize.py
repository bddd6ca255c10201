"""Found by Python at its start, because `memprof run --torch` puts this folder in PYTHONPATH: once the
program has imported torch, the agent of memprof is told. Nothing else happens here, and nothing at all in
a Python that never imports torch.

Every Python that the program starts passes through here, also old ones: no syntax that they lack. A
sitecustomize of the user's or the system's, which this one hides, is run as if this one were not there.
"""
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _leave_path():
    """The program sees the path that it would have seen."""
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != _HERE]


def _run_hidden():
    """Puts the sitecustomize that comes next on the path in the place of this one."""
    if sys.version_info < (3, 5):
        import imp
        try:
            found = imp.find_module("sitecustomize", sys.path)
        except ImportError:
            return
        imp.load_module("sitecustomize", *found)
        return
    # What Python has loaded for itself: importlib's own modules take milliseconds, in every process.
    from _frozen_importlib import module_from_spec
    from _frozen_importlib_external import PathFinder
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    hidden = module_from_spec(spec)
    sys.modules["sitecustomize"] = hidden
    spec.loader.exec_module(hidden)


class _AfterTorch(object):
    """Finds torch as it would be found without us, and calls the agent when its import is through."""

    def __init__(self):
        self.asking = False

    def find_spec(self, name, path=None, target=None):
        if name != "torch" or self.asking:
            return None
        self.asking = True  # of others, who ask all finders in turn
        try:
            return self._watched(name, path, target)
        except Exception:
            return None
        finally:
            self.asking = False

    def _watched(self, name, path, target):
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find is not None else None
            if spec is not None:
                break
        else:
            return None
        loader = spec.loader
        execute = loader.exec_module

        def exec_module(module):
            del loader.exec_module  # the class's own is behind it
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            execute(module)
            _start(module)

        loader.exec_module = exec_module  # refused by loaders that are not written in Python
        return spec


def _start(torch):
    try:
        from importlib.machinery import ModuleSpec
        from importlib.util import module_from_spec
        # Under a name of its own: the program may have a module memprof, of whatever origin.
        spec = ModuleSpec("_memprof", None, is_package=True)
        spec.submodule_search_locations = [os.path.join(os.path.dirname(_HERE), "python", "memprof")]
        sys.modules["_memprof"] = module_from_spec(spec)
        from _memprof._agent import start
        start(torch)
    except Exception as error:
        sys.stderr.write("memprof: no module paths and tensor names: %r\n" % (error,))


_leave_path()
try:
    # PyTorch has no such hooks for older ones.
    if sys.version_info >= (3, 8) and os.environ.get("MEMPROF_AGENT") == "torch" \
            and not os.environ.get("MEMPROF_DISABLE"):
        sys.meta_path.insert(0, _AfterTorch())
except Exception:
    pass
_run_hidden()
