"""The paths of modules: `blocks.3.attn.qkv`, as in state_dict().

A module that is called while no other one runs is a root. The paths of its descendants begin at the root. Paths
of the first root have no prefix; if several roots live at once (a generator and a discriminator), those of later
ones begin with their class. PyTorch's own wrappers are left out of the paths.
"""

import weakref

# The name of the wrapped module in wrappers of DistributedDataParallel, torch.compile, FSDP and checkpointing.
_ROOT_WRAPPERS = {"DistributedDataParallel": "module", "DataParallel": "module", "OptimizedModule": "_orig_mod",
                  "FullyShardedDataParallel": "_fsdp_wrapped_module"}
_INNER_WRAPPERS = frozenset(("_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"))
_MOST_ROOTS = 1024  # alive at once; further ones are only known by their classes


class Place:
    """The path of a module, and what the hooks need for it."""

    __slots__ = ("module", "path", "forward", "backward", "again", "enter", "root", "__weakref__")

    def __init__(self, module, path, root):
        self.module = module  # a weak reference
        self.path = path
        text = path.encode("utf-8", "replace").replace(b"\0", b"")
        self.forward = text + b" (forward)"
        self.backward = text + b" (backward)"
        self.again = text + b" (recomputed)"
        self.enter = None  # the hook for its nodes in autograd's graph
        self.root = root  # a Root, for a root with parameters


class Root:
    """A module that contains others, and whether its tensors have names."""

    __slots__ = ("module", "prefix", "named", "__weakref__")

    def __init__(self, module, prefix):
        self.module = module
        self.prefix = prefix
        self.named = None  # addresses of its first and last tensor when they were named (tensors.py)


def unwrapped(module):
    """The module inside wrappers, and each of the wrappers."""
    wrappers = []
    while len(wrappers) < 8:
        name = _ROOT_WRAPPERS.get(type(module).__name__)
        inner = getattr(module, "_modules", {}).get(name) if name is not None else None
        if inner is None:
            break
        wrappers.append(module)
        module = inner
    return module, wrappers


def without_wrappers(name):
    """`blocks._orig_mod.3` becomes blocks.3."""
    if "_" not in name:
        return name
    return ".".join(part for part in name.split(".") if part not in _INNER_WRAPPERS)


class Paths:
    """The places of all modules that were called."""

    def __init__(self):
        self._places = {}  # by id of the module
        self.roots = {}  # by id of the unwrapped root

    def find(self, module):
        """The place of a module that was called before, or None."""
        place = self._places.get(id(module))
        return place if place is not None and place.module() is module else None

    def learn(self, module, caller):
        """Adds a module that is called for the first time; `caller`: the place of the module that calls it (None:
        it is a root)."""
        if caller is None:
            return self._learn_root(module)
        root = caller.root.module() if caller.root is not None else None
        if root is not None:  # it may have been added after the root was searched
            self._look_through(root, caller.root)
            place = self.find(module)
            if place is not None:
                return place
        return self._keep(module, "%s.%s" % (caller.path, type(module).__name__), caller.root)

    def _learn_root(self, module):
        inner, wrappers = unwrapped(module)
        has_parameters = next(inner.parameters(), None) is not None
        root = None
        if has_parameters and len(self.roots) < _MOST_ROOTS:
            within = {id(part) for part in inner.modules()}
            for key in [key for key in self.roots if key in within]:
                del self.roots[key]  # a part of this root that was called alone before
            root = Root(weakref.ref(inner, self._forget_root(id(inner))), self._free_prefix(inner))
            self.roots[id(inner)] = root
            self._look_through(inner, root)
        for wrapper in wrappers:
            self._keep(wrapper, type(wrapper).__name__, root)
        if root is None:
            self._keep(inner, type(inner).__name__, None)
        return self.find(module)

    def _free_prefix(self, module):
        taken = {root.prefix for root in self.roots.values()}
        if "" not in taken:
            return ""
        name = prefix = type(module).__name__
        number = 2
        while prefix in taken:
            prefix = "%s#%d" % (name, number)
            number += 1
        return prefix

    def _look_through(self, module, root):
        for name, inner in module.named_modules():
            place = self.find(inner)
            if place is not None and place.root is not None and self._is_root(place.root):
                continue  # already known, in this root or in another live one
            self._keep(inner, self.join(root, name) or type(inner).__name__, root)

    def _is_root(self, root):
        return self.roots.get(id(root.module())) is root

    @staticmethod
    def join(root, name):
        """The full path of `name`, a path within the root."""
        name = without_wrappers(name)
        return ".".join(part for part in (root.prefix, name) if part)

    def _keep(self, module, path, root):
        key = id(module)
        place = Place(weakref.ref(module, lambda _: self._places.pop(key, None)), path, root)
        self._places[key] = place
        return place

    def _forget_root(self, key):
        return lambda _: self.roots.pop(key, None)
