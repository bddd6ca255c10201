"""A process with random objects that refer to each other, and with the truth about them.

usage: random_guest.py SEED

Prints "ready PID", waits for a line, then prints the addresses of the objects that were made and, by the module gc,
can be reached from the variable `roots`: "reachable ADDRESS", and of the others "unreachable ADDRESS"."""
import collections
import functools
import gc
import os
import random
import sys
import types

Pair = collections.namedtuple("Pair", "left right")


class Plain:
    pass


class Slotted:
    __slots__ = ("first", "second")


class SlottedToo(Slotted):
    __slots__ = ("third", "__dict__")


class OfDict(dict):
    pass


class OfList(list):
    __slots__ = ("extra",)


class OfTuple(tuple):
    pass


class Marker:
    pass


class Maker:
    """Makes objects of all kinds. `made` has their addresses: numbers keep nothing alive."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.made = []
        self.objects = []
        self.unused = []  # nothing refers to these yet: most objects have one way to them

    def some(self, most=4):
        return [self.one() for _ in range(min(self.random.randrange(most), len(self.unused) // 4))]

    def one(self):
        if len(self.unused) < 20 or self.random.random() < 0.03:
            return self.random.choice(self.objects) if self.objects else None
        return self.unused.pop(self.random.randrange(len(self.unused)))

    def add(self, thing):
        self.made.append(id(thing))
        self.objects.append(thing)
        self.unused.append(thing)
        return thing

    def instance(self):
        thing = Plain()
        for number, value in enumerate(self.some(6)):
            setattr(thing, "value%d" % number, value)
        if self.random.random() < 0.3:
            del thing.__dict__  # it has none any more, or a new one
            if self.random.random() < 0.5:
                thing.again = self.one()
        elif self.random.random() < 0.3:
            vars(thing)["not a name"] = self.one()
        return thing

    def slots(self):
        thing = self.random.choice((Slotted, SlottedToo))()
        thing.second = self.one()
        if type(thing) is SlottedToo:
            thing.third, thing.more = self.one(), self.one()
        return thing

    def dictionary(self):
        entries = {"k%d" % number: value for number, value in enumerate(self.some(40))}
        if self.random.random() < 0.5:
            entries[self.random.randrange(1 << 80)] = self.one()
            entries[Marker()] = self.one()
        if self.random.random() < 0.1:
            entries.update((number, None) for number in range(self.random.choice((300, 70000))))
        for key in list(entries)[::3]:
            del entries[key]
        return entries

    def closure(self):
        one, other, third = self.one(), self.one(), self.one()

        def inner(a, b=other, *, c=third):
            unused = 1
            return one, a, b, c, unused
        inner.attribute = self.one()
        return inner

    def subclass(self):
        kind = self.random.choice((OfDict, OfList, OfTuple))
        thing = kind({"k": self.one()} if kind is OfDict else self.some())
        if kind is not OfList:
            thing.attribute = self.one()
        elif self.random.random() < 0.5:
            thing.extra = self.one()
        return thing

    def generator(self):
        def generate(value):
            local = self_one
            yield value, local
        self_one = self.one()
        thing = generate(self.one())
        for _ in range(self.random.randrange(3)):  # not begun, suspended, ended
            next(thing, None)
        return thing

    def hashable(self, most):
        return [each for each in self.some(most) if type(each) in (Plain, Slotted, Marker, types.FunctionType)]

    def deque(self):
        thing = collections.deque(self.some(300), maxlen=self.random.choice((None, 150)))
        thing.rotate(self.random.randrange(100))
        return thing

    def make(self):
        kinds = (
            lambda: self.some(9), lambda: list(self.some(2000)), lambda: tuple(self.some()) + (Marker(),),
            lambda: Pair(self.one(), self.one()), self.instance, self.slots, self.dictionary, self.closure, self.subclass,
            self.generator, self.deque, lambda: set(self.hashable(30)) | {Marker()},
            lambda: frozenset(self.hashable(5) + [Marker()]),
            lambda: functools.partial(print, self.one(), x=self.one()), lambda: types.MethodType(print, [self.one()]),
            lambda: type("Made", (Plain,), {"attribute": self.one(), "__slots__": ("slot",)}),
            lambda: ValueError(self.one()), lambda: collections.OrderedDict(a=self.one()),
            lambda: collections.defaultdict(list, a=self.one()), Marker)
        return self.add(self.random.choice(kinds)())


def truth(root):
    """The addresses that can be reached, without modules and their names."""
    closed = {id(sys.modules)}
    for module in list(sys.modules.values()):
        closed.update((id(module), id(getattr(module, "__dict__", None))))
    seen, waiting = set(), [root]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or id(thing) in closed or type(thing) is types.ModuleType:
            continue
        seen.add(id(thing))
        waiting.extend(gc.get_referents(thing))
    return seen


def build(seed):
    gc.disable()  # what is unreachable stays, to be taken for reachable by mistake
    maker = Maker(seed)
    for _ in range(8000):
        thing = maker.make()
        if type(thing) in (list, collections.deque) and maker.random.random() < 0.3:
            thing.append(maker.one())  # perhaps a cycle
            thing.append(thing)
    return maker.made, maker.random.sample(maker.unused, len(maker.unused) // 2)


def main():
    global roots  # pylint: disable=global-statement
    made, roots = build(int(sys.argv[1]))
    print("ready", os.getpid(), flush=True)
    sys.stdin.readline()
    reached = truth(roots)
    for address in made:
        print("%s %x" % ("reachable" if address in reached else "unreachable", address))


roots = None
main()
