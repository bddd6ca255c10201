"""Calls a function once a module has been imported."""

import sys


class _Watch:
    """Finds the watched modules as the other finders do, and calls their functions after their import."""

    def __init__(self, wanted):
        self._wanted = wanted  # by name
        self._asking = False

    def find_spec(self, name, path=None, target=None):
        if name not in self._wanted or self._asking:
            return None
        self._asking = True  # the other finders may call all finders, including this one
        try:
            return self._watched(name, path, target)
        except Exception:  # pylint: disable=broad-except
            return None
        finally:
            self._asking = False

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
            execute(module)
            self._wanted.pop(name)(module)

        loader.exec_module = exec_module  # an error for loaders that are not written in Python
        return spec


def watch(wanted):
    """`wanted`: functions that take the module, by its name; they must not raise. Modules that are there already are
    passed at once."""
    wanted = dict(wanted)
    for name in [name for name in wanted if name in sys.modules]:
        wanted.pop(name)(sys.modules[name])
    if wanted:
        sys.meta_path.insert(0, _Watch(wanted))
