"""A module of a user, with a target in every kind of variable. Each is named after the line that is expected."""

import collections
import contextvars
import dataclasses
import functools
import gc
import threading


class Target:
    """What is looked for; `expected` is how a look should name it."""

    def __init__(self, expected):
        self.expected = expected


class Metrics:
    registry = {"best": Target("`Metrics.registry['best']` (global `Metrics`, guest.py:N)")}

    def __init__(self):
        self.predictions = [Target("list `metrics.predictions` of `Metrics`, assigned at guest.py:N (global `metrics`, guest.py:N)")
                            for _ in range(46)]
        self.inner = {"a": [{"loss": Target("`metrics.inner['a'][0]['loss']` of `Metrics`, assigned at guest.py:N (global `metrics`, guest.py:N)")}]}


class Slots:
    __slots__ = ("buffer",)

    def __init__(self):
        self.buffer = Target("`slots.buffer` of `Slots`, assigned at guest.py:N (global `slots`, guest.py:N)")


@dataclasses.dataclass
class Record:
    data: object


class Bound:
    def __init__(self):
        self.held = Target("`self.held`, `self` of the bound method Bound.run(), assigned at guest.py:N, "
                           "held by `bound` (global `bound`, guest.py:N)")

    def run(self):
        return self.held


def save(sample, path):
    return sample, path


class HostileMeta(type):
    """Its classes and their instances run code of the program whenever they are asked something."""

    def __getattribute__(cls, name):
        raise AssertionError("code of the program was run")

    __eq__ = __hash__ = __call__ = __instancecheck__ = __subclasscheck__ = __repr__ = __getattribute__


class HostileText(str):
    def __str__(self):
        raise AssertionError("code of the program was run")

    __eq__ = __repr__ = __format__ = __str__
    __hash__ = str.__hash__


class Hostile(metaclass=HostileMeta):
    def __getattribute__(self, name):
        raise AssertionError("code of the program was run")

    __eq__ = __hash__ = __repr__ = __len__ = __iter__ = __bool__ = __getattribute__


class HostileDict(dict):
    def __getitem__(self, key):
        raise AssertionError("code of the program was run")

    items = keys = values = get = __iter__ = __len__ = __contains__ = __getitem__


Point = collections.namedtuple("Point", "x y")
metrics = Metrics()
slots = Slots()
record = Record(Target("`record.data` (global `record`, guest.py:N)"))
plain = Target("`plain` (global `plain`, guest.py:N)")
queue = collections.deque([Target("deque `queue` (global `queue`, guest.py:N)")])
cache = {number: Target("dict `cache` (global `cache`, guest.py:N)") for number in range(30)}
keys = {Target("dict `keys.keys()` (global `keys`, guest.py:N)"): 1}
group = {Target("set `group` (global `group`, guest.py:N)")}
point = Point(Target("`point.x` (global `point`, guest.py:N)"), 1)
ordered = collections.OrderedDict(k=Target("`ordered['k']` (global `ordered`, guest.py:N)"))
def save_all(first, *others, last=None):
    pass


saver_of_all = functools.partial(save_all, 1, Target(
    "`args[1]`, argument in a partial of save_all(), held by `saver_of_all` (global `saver_of_all`, guest.py:N)"))
failure = ValueError("text", Target("`failure.args[1]` (global `failure`, guest.py:N)"))
failure.__cause__ = KeyError(Target("`failure.__cause__.args[0]` (global `failure`, guest.py:N)"))
failure.__context__ = KeyError(Target("`failure.__context__.args[0]` (global `failure`, guest.py:N)"))
partial = functools.partial(print, Target(
    "`args[0]`, argument in a partial of print(), held by `partial` (global `partial`, guest.py:N)"))
saver = functools.partial(
    save, Target("`sample`, argument in a partial of save(), held by `saver` (global `saver`, guest.py:N)"),
    path=Target("`path`, argument in a partial of save(), held by `saver` (global `saver`, guest.py:N)"))
bound = Bound().run
local = threading.local()
local.value = Target("`local.value` (global `local`, guest.py:N)")
by_hostile_name = Record(None)
vars(by_hostile_name)[HostileText("x")] = Target("dict `by_hostile_name` (global `by_hostile_name`, guest.py:N)")
hostile = object.__new__(Hostile)
object.__setattr__(hostile, "kept", Target("`hostile.kept` (global `hostile`, guest.py:N)"))
hostile_dict = HostileDict(x=Target("`hostile_dict['x']` (global `hostile_dict`, guest.py:N)"))
variable = contextvars.ContextVar("variable")
variable.set(Target("context variable `variable` (the context of a thread)"))


def defaults(a, b=Target("`b`, default argument of defaults(), held by `defaults` (global `defaults`, guest.py:N)"), *,
             c=Target("`c`, default argument of defaults(), held by `defaults` (global `defaults`, guest.py:N)")):
    return a, b, c


defaults.note = Target("`defaults.note` (global `defaults`, guest.py:N)")


def make():
    kept = Target("`kept`, variable of the closure make.hook(), held by `callbacks[0]` (global `callbacks`, guest.py:N)")

    def hook():
        return kept
    return hook


callbacks = [make()]


@functools.lru_cache(None)
def compute(_):
    return Target("cache of `compute()`, held by `compute` (global `compute`, guest.py:N)")


compute(1)
compute(2)


def generate():
    inside = Target("`inside`, local of the generator generate(), held by `generator` (global `generator`, guest.py:N)")
    yield
    print(inside)


generator = generate()
next(generator)


def fail():
    lost = Target("`lost`, local of fail(), at guest.py:N, held by `saved.__traceback__` (global `saved`, guest.py:N)")
    raise ValueError(lost.expected)


try:
    fail()
except ValueError as error:
    saved = error


class Parent:
    pass


def cycle():
    parent, child = Parent(), Parent()
    parent.child, child.parent = child, parent
    child.data = Target("garbage")


def wait_with_a_local(started, go):
    batch = Target("`batch` (local `batch` of wait_with_a_local(), at guest.py:N)")
    started.set()
    go.wait()
    return batch


def main(look):
    """Calls `look` while another thread holds a variable, and garbage waits."""
    mine = Target("`mine` (local `mine` of main(), at guest.py:N)")
    started, go = threading.Event(), threading.Event()
    thread = threading.Thread(target=wait_with_a_local, args=(started, go))
    thread.start()
    started.wait()
    gc.collect()
    gc.disable()
    cycle()
    try:
        look()
    finally:
        gc.enable()
        go.set()
        thread.join()
    return mine
