"""A module of a user, with targets in further kinds of variables (tests/python/holders/guest.py has the usual ones)."""
import collections
import functools
import threading
import types


class Target:
    pass


class Base:
    def __init__(self):
        self.kept = Target()

    def run(self, look):
        mine = Target()
        look()
        return mine


class Derived(Base):
    __slots__ = ("slot",)
    shared = [Target()]

    def fill(self):
        self.slot = Target()

    @functools.lru_cache(None)
    def cached(self, _):
        return Target()


class Local(threading.local):
    def __init__(self):
        self.inner = {"key": Target()}


class Names(collections.namedtuple("Names", "first second")):
    pass


class MyList(list):
    pass


class Layer:
    """As a torch.nn.Module is."""

    def __init__(self, **modules):
        self._parameters, self._modules = {"weight": Target()}, modules


def function(first, second, *, third=None):
    return first, second, third


@functools.lru_cache(4)
def limited(_):
    return [Target()]


def generate(argument):
    inside = [Target()]
    yield argument, inside


def decorated(wrapped):
    @functools.wraps(wrapped)
    def wrapper(*arguments):
        return wrapped(*arguments)
    wrapper.memo = {1: Target()}
    return wrapper


def failed():
    try:
        try:
            raise KeyError("first")
        except KeyError as error:
            error.note = Target()
            raise ValueError("second") from error
    except ValueError as second:
        return second


derived = Derived()
derived.fill()
derived.later = Target()  # no class assigns it
derived.cached(1)
of_function = functools.partial(function, 1, Target(), third=Target())
of_method = functools.partial(Derived.run.__get__(derived), Target())
of_class = functools.partial(MyList, Target())
of_partial = functools.partial(functools.partial(function, [Target()]), Target())
of_rest = functools.partial(lambda first, *rest, last=None: None, 1, Target(), Target())
of_closure = functools.partial((lambda kept: lambda: kept)([Target()]))
of_closure.note = Target()
limited(1)
limited(2)
limited((Target(), 3))
local = Local()
local.own = Target()
texts = {"k" * 60: Target(), "é" * 50: Target(), "it's": Target(), 'a"b': Target(), "\"'": Target(), "t\tb\\\x01\n": Target()}
values = {-3: Target(), None: Target(), (1, 2): Target(), True: Target(), 1 << 59: Target(), 0: Target()}
bound = types.MethodType(len, [Target()])
bound_closure = types.MethodType((lambda kept: lambda _: kept)([Target()]), 1)
bound_twice = types.MethodType(bound, Target())
failure = failed()
generator = generate(Target())
next(generator)
wrapper = decorated(function)
pair = (1, Target())
row = (Target(), Target(), 1, 2, 3)
nested = [[Target(), [Target()]], {"a": (Target(),)}]
ordered = collections.OrderedDict([(1, Target()), ("b", [Target()])])
default = collections.defaultdict(list, a=[Target()])
my_list = MyList([Target()])
my_list.attribute = Target()
names = Names(Target(), [Target()])
space = types.SimpleNamespace(value=Target())
layer = Layer(**{"0": Layer(), "head": Layer()})
layer.extra = [layer, Target()]
