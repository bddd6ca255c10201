"""Python runs this at its start, because `memprof run --torch` puts this folder in PYTHONPATH. Once the
program has imported torch, it starts the agent of memprof. It does nothing else, and nothing in a Python
that never imports torch.

Every Python that the program starts runs this file, also old versions, so it uses only syntax that they
have. It also runs the sitecustomize of the user or the system, which this one hides.
"""
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _leave_path():
    """The program gets the same path as without memprof."""
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != _HERE]


def _run_hidden():
    """Replaces this sitecustomize by the next one on the path."""
    if sys.version_info < (3, 5):
        import imp
        try:
            found = imp.find_module("sitecustomize", sys.path)
        except ImportError:
            return
        imp.load_module("sitecustomize", *found)
        return
    # Modules that Python has already loaded: importing importlib would take milliseconds in every process.
    from _frozen_importlib import module_from_spec
    from _frozen_importlib_external import PathFinder
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    hidden = module_from_spec(spec)
    sys.modules["sitecustomize"] = hidden
    spec.loader.exec_module(hidden)


class _AfterImport(object):
    """Finds modules as the other finders do, and calls a function for each when its import has ended."""

    def __init__(self, wanted):
        self.wanted = wanted  # functions that take the module, by its name
        self.asking = False

    def find_spec(self, name, path=None, target=None):
        if name not in self.wanted or self.asking:
            return None
        self.asking = True  # the other finders may call all finders, including this one
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
            del loader.exec_module  # from now on, the function of the class is used again
            call = self.wanted.pop(name, None)
            if not self.wanted and self in sys.meta_path:
                sys.meta_path.remove(self)
            execute(module)
            if call is not None:
                call(module)

        loader.exec_module = exec_module  # an error for loaders that are not written in Python
        return spec


def _after_import(wanted):
    """`wanted`: functions that take a module, by its name; they must not raise. Those of modules that are there
    already are called at once."""
    wanted = dict(wanted)
    for name in [name for name in wanted if name in sys.modules]:
        wanted.pop(name)(sys.modules[name])
    if wanted:
        sys.meta_path.insert(0, _AfterImport(wanted))


def _start(torch):
    try:
        from importlib.machinery import ModuleSpec
        from importlib.util import module_from_spec
        # Under another name, because the program may have a module memprof.
        spec = ModuleSpec("_memprof", None, is_package=True)
        spec.submodule_search_locations = [os.path.join(os.path.dirname(_HERE), "python", "memprof")]
        sys.modules["_memprof"] = module_from_spec(spec)
        from _memprof._agent import start
        start(torch, _after_import)
    except Exception as error:
        sys.stderr.write("memprof: no module paths and tensor names: %r\n" % (error,))


_leave_path()
try:
    # PyTorch for older versions of Python does not have these hooks.
    if sys.version_info >= (3, 8) and os.environ.get("MEMPROF_AGENT") == "torch" \
            and not os.environ.get("MEMPROF_DISABLE"):
        _after_import({"torch": _start})
except Exception:
    pass
_run_hidden()
