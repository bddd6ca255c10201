"""Who holds the memory of each tensor on a GPU."""

import bisect
import collections
import contextvars
import gc

from . import look as looks
from . import words
from .native import Native
from .paths import AT_EXIT, ENTERED, HOOKS, REPEATED, Namer, Way
from .source import Sources
from .torch_view import Torch

_MOST_HOLDERS = 4  # of one storage


Holder = collections.namedtuple("Holder", "kind line root chain")  # as paths.Way


class Held:
    """Memory of a GPU, and what keeps it."""

    __slots__ = ("device", "address", "bytes", "holders", "leaves", "unseen", "garbage")

    def __init__(self, device, address, size):
        self.device, self.address, self.bytes = device, address, size
        self.holders = []
        # What is said only if nothing else is known, the first of these that there is.
        self.leaves = []  # of graphs: each keeps all parameters that it was made of, which have better names
        self.unseen = []
        self.garbage = []

    def is_garbage(self):
        return any(holder.kind == "cycle" for holder in self.holders)

    def add(self, holder):
        if holder not in self.holders and len(self.holders) < _MOST_HOLDERS:
            self.holders.append(holder)


class Finder:
    def __init__(self, library, torch):
        self._library = library
        self._torch = Torch(torch)
        self._native = Native(torch, self._torch)
        self._sources = Sources()
        self.examined = 0  # objects, by the last look

    def of(self, tensor):
        """Each Holder of one tensor. ValueError if it has no memory on a GPU."""
        with self._torch.no_overrides():
            where = self._torch.storage(tensor)
        if where is None:
            raise ValueError("the tensor has no memory of its own on a GPU")
        return next((held.holders for held in self.find() if (held.device, held.address) == where[:2]), [])

    def rest(self, found):
        """(bytes, blocks) of PyTorch's allocator that none of what find() found lies in; None if it cannot tell."""
        blocks = self._torch.blocks()
        if blocks is None:
            return None
        known = sorted((held.device, held.address) for held in found if held.holders)
        rest = [requested for device, address, size, requested in blocks
                if bisect.bisect_left(known, (device, address)) == bisect.bisect_left(known, (device, address + size))]
        return sum(rest), len(rest)

    def find(self, graphs=True):
        """A list of Held, the largest first. Without `graphs`, neither graphs nor gradients are read: when another
        thread may be changing them."""
        collecting = gc.isenabled()
        gc.disable()
        try:
            with self._torch.no_overrides():
                one = _Round(self._library, self._torch, self._native, self._sources, graphs)
                self.examined = one.examined
                return one.find()
        finally:
            if collecting:
                gc.enable()


def _held_by(kind, way):
    return Holder(kind, way.line, way.root, way.chain)


def _in_graph(way, graph):
    """`way` begins in a graph, and `graph` leads to what keeps that."""
    inner = way.chain or [way.line]
    line = way.line[:-len(way.root) - 3] if way.line.endswith(" (%s)" % way.root) else way.line
    return Way("%s for the graph of %s" % (line, graph.line), graph.root, graph.chain + ["its graph"] + inner, 1)


class _Round:
    """One look, named."""

    def __init__(self, library, torch, native, sources, graphs):
        self._torch = torch
        self._graphs = graphs
        self._asked = native
        kinds = (torch.function,) if torch.function else ()
        self._look = looks.take(library, torch.tensor, torch.bare_storage, *kinds, *native.kinds, leaves=native.leaves,
                                kin=torch.node)
        self.examined = self._look.examined
        self._namer = Namer(self._look, library, sources, torch.entered_modes())
        self._held = {}  # by (device, address)
        self._lines = {}  # by place
        self._nodes = {}  # of graphs, by id
        self._owners = {}  # by id of a node, or of an object that it keeps: the Way to its graph
        self._referrers = {}
        for target, place in self._look.referrers:
            self._referrers.setdefault(target, []).append(place)
        # The best known first: their graphs are named after them.
        places = sorted((place for place, _ in self._look.targets), key=lambda place: self._look.reach[place])
        self._targets = [place for place in places if self._is_a(place, torch.tensor)]
        self._storages = [place for place in places if self._is_a(place, torch.bare_storage)]
        others = (torch.tensor, torch.bare_storage) + native.kinds
        self._functions = [place for place in places if not self._is_a(place, others)]  # nodes of graphs
        self._natives = [place for place in places if self._is_a(place, native.kinds)]
        self._ways_to = {}  # by place of what refers to tensors: paths besides the first

    def _is_a(self, place, kind):
        return issubclass(type(self._look.objects[place]), kind)

    def find(self):
        unnamed = []  # of native code, perhaps of a graph
        for place in self._targets:
            if self._look.reach[place] == looks.UNSEEN:
                unnamed.append(place)
            else:
                self._tensor(place)
        for place in self._storages:
            self._storage(place)
        known = [place for place in self._natives if self._known(place)]
        for place in known:
            self._members(place)
        if self._graphs:
            for place in self._targets:
                self._graph(place)
            for place in self._functions:
                self._function(place)
            for place in set(self._natives).difference(known):
                self._members(place)
            for place in unnamed:
                self._hidden_graph(place)
        for place in unnamed:
            self._tensor(place)
        for held in self._held.values():
            if not held.holders:
                for holder in held.leaves or held.unseen or held.garbage:
                    held.add(holder)
        return sorted(self._held.values(), key=lambda held: -held.bytes)

    def _of(self, tensor):
        where = self._torch.storage(tensor)
        return None if where is None else self._at(where)

    def _at(self, where):
        held = self._held.get(where[:2])
        if held is None:
            held = self._held[where[:2]] = Held(*where)
        held.bytes = max(held.bytes, where[2])
        return held

    def _described(self, place):
        """Each Way in which a tensor is held, the best first."""
        known = self._lines.get(place)
        if known is None:
            paths = [self._look.path(place)]
            if self._known(place):
                paths += self._other_paths(place)
            known = sorted(map(self._namer.describe, paths), key=lambda way: way.rank)
            if known[0].rank < REPEATED:
                known = [way for way in known if way.rank < REPEATED]
            self._lines[place] = known
        return known

    def _other_paths(self, place):
        """By another object that refers to it, or to what refers to it."""
        for other in self._referrers.get(place, ()):
            first = other == self._look.parents[place]
            for path in self._ways(other)[1 if first else 0:]:
                if place not in path:
                    yield path + [place]

    def _ways(self, place):
        """Paths to what refers to tensors, the best first."""
        ways = self._ways_to.get(place)
        if ways is None:
            ways = [self._look.path(place)] if self._known(place) else []
            for other in self._referrers.get(place, ()) if self._has_ways(place) else ():
                if len(ways) < _MOST_HOLDERS and other != self._look.parents[place] and self._known(other):
                    path = self._look.path(other)
                    if place not in path:
                        ways.append(path + [place])
            self._ways_to[place] = ways
        return ways

    def _has_ways(self, place):
        """Not the attributes of an instance, to which only strange objects refer besides it."""
        parent = self._look.parents[place]
        return parent < 0 or type(self._look.objects[place]) is not dict or words.is_container(self._look.objects[parent])

    def _known(self, place):
        return self._look.reach[place] in (looks.USER, looks.OTHERS)

    def _storage(self, place):
        """A storage that a variable keeps. PyTorch itself keeps those of tensors."""
        where = self._torch.of_bare_storage(self._look.objects[place])
        if where is not None and self._known(place):
            for way in self._described(place):
                self._at(where).add(_held_by("python", way))

    def _members(self, place):
        """What an object of native code holds."""
        kind = self._kind(place)
        if kind is None:
            return
        try:
            for member, container, where in self._asked.held_by(self._look.objects[place]):
                self._at(where).add(_held_by(kind, self._way(place, member, container)))
        except (AttributeError, RuntimeError, TypeError, ValueError):
            pass  # this release of PyTorch answers in another way, or the object is not ready

    def _kind(self, place):
        """By what an object is held, if that is known: "python", or "autograd" for what a graph keeps."""
        if self._known(place):
            return "python"
        return "autograd" if self._owner(place) is not None else None

    def _owner(self, place):
        """The Way to the graph that keeps an object, if it is one which Python does not see."""
        if self._look.reach[place] != looks.UNSEEN:
            return None
        owners = (self._owners.get(id(self._look.objects[each])) for each in self._look.path(place))
        return next(filter(None, owners), None)

    def _way(self, place, member="", container=""):
        way = self._namer.describe(self._look.path(place), member, container)
        owner = self._owner(place)
        return way if owner is None else _in_graph(way, owner)

    def _tensor(self, place):
        tensor = self._look.objects[place]
        reach = self._look.reach[place]
        for member, where in self._torch.parts(tensor):
            held = self._at(where)
            path = self._look.path(place)
            for way in [self._namer.describe(path, member)] if member else self._described(place):
                self._is_held(place, held, way)
        gradient = self._torch.gradient(tensor) if self._graphs and reach != looks.GARBAGE else None
        held = self._of(gradient) if gradient is not None else None
        if held is not None:
            self._is_held(place, held, self._namer.describe(self._look.path(place), ".grad"))

    def _is_held(self, place, held, way):
        reach = self._look.reach[place]
        if reach == looks.UNSEEN:
            self._unseen(place, held, way)
        elif reach != looks.GARBAGE:
            held.add(_held_by("python", way))
        elif self._torch.native_holds(self._look.objects[place]):
            held.unseen.append(Holder("c++", "native code holds this tensor", "native code", []))
        else:
            held.garbage.append(_held_by("cycle", way))

    def _unseen(self, place, held, way):
        """Native code has the reference. If it is a graph, then to the context of a function of autograd, or to what a
        hook packed."""
        root = self._look.objects[self._look.path(place)[0]]
        owner = self._owner(place)
        if type(root) is contextvars.Context or way.root in (ENTERED, AT_EXIT):
            held.add(_held_by("python", way))
        elif way.root == HOOKS:
            held.add(_held_by("autograd", way))
        elif owner is not None and len(self._look.path(place)) > 1:
            held.add(_held_by("autograd", _in_graph(way, owner)))
        elif owner is None:
            if self._torch.may_be_cached_by_autocast(self._look.objects[place]):
                way = way._replace(line=way.line + ", probably the cache of autocast, which is on")
            held.unseen.append(_held_by("c++", way))

    def _graph(self, place):
        root = self._torch.graph_of(self._look.objects[place]) if self._known(place) else None
        if root is not None:
            self._nodes_of(root, "autograd", self._described(place)[0])

    def _hidden_graph(self, place):
        """Of a tensor that native code holds: perhaps of a graph, perhaps it is one that a node saves."""
        tensor = self._look.objects[place]
        root = self._torch.graph_of(tensor)
        if root is None:
            self._own_graph(tensor)
            return
        for node in self._torch.nodes(root, self._nodes):
            for where, _ in self._torch.saved(node):
                if where is not None:
                    line = "saved by %s for the graph of a `%s` that native code holds" % (
                        words.class_of(node), words.class_of(tensor))
                    self._at(where).unseen.append(Holder("c++", line, "native code", []))

    def _function(self, place):
        """A node of which the program has the object, or a context."""
        if self._kind(place) is not None:
            self._nodes_of(self._look.objects[place], "autograd", self._way(place))

    def _nodes_of(self, root, kind, graph):
        """`graph`: the Way to what keeps it."""
        for node in self._torch.nodes(root, self._nodes):
            self._owners[id(node)] = graph
            for where, others in self._torch.saved(node):
                for other in others:
                    self._owners.setdefault(id(other), graph)
                    for variable in words.closed_over(other):  # it has packed them by a function beside this one
                        self._owners.setdefault(id(variable), graph)
                if where is not None:
                    self._at(where).add(_held_by(kind, _in_graph(Way("saved by " + words.class_of(node), "", [], 1), graph)))
            leaf = self._torch.accumulated(node)
            if leaf is not None and kind == "autograd":
                self._leaf(leaf, graph)

    def _leaf(self, tensor, graph):
        self._owners.setdefault(id(tensor), graph)
        for what, each in (("kept", tensor), ("gradient of what is kept", self._torch.gradient(tensor))):
            held = self._of(each) if each is not None else None
            if held is not None:
                way = _in_graph(Way(what + " by AccumulateGrad", "", [], 1), graph)
                held.leaves.append(_held_by("autograd", way))

    def _own_graph(self, tensor):
        """A parameter whose gradient has a graph that holds the parameter: a cycle through native code, which the
        collector does not see."""
        root = self._torch.graph_of_gradient(tensor)
        if root is None or not any(self._torch.accumulated(node) is tensor for node in self._torch.nodes(root, {})):
            return
        graph = Way("a gradient that holds its own parameter, a cycle: `parameter.grad` was made by "
                    "backward(create_graph=True)", "cycle", ["parameter", "its gradient"], 1)
        self._nodes_of(root, "cycle", graph)
        for each in (tensor, self._torch.gradient(tensor)):
            held = self._of(each)
            if held is not None:
                held.add(Holder("cycle", "the graph of " + graph.line, "cycle", graph.chain + ["its graph"]))
