"""The look at all objects, compared with a slow twin that asks the interpreter's own module gc.

usage: graph_test.py BUILD
"""

import collections
import ctypes
import gc
import itertools
import os
import random
import sys
import time
import types
import unittest
import weakref

BUILD = os.path.abspath(sys.argv.pop(1))
sys.path.insert(0, os.path.join(BUILD, "lib", "memprof", "python"))
from memprof._holders import look as looks  # noqa: E402

LIBRARY = looks.Library(os.path.join(BUILD, "lib", "memprof", "libmemprof_holders.so"))


class Target:
    """What is looked for."""

    def __init__(self):
        self.refers_to = []


class Node:
    def __init__(self):
        self.refers_to = []


world = []  # the root of the objects of a test


def random_world(seed):
    """Objects that refer to each other by chance; some are only in cycles, some are not reached at all."""
    chance = random.Random(seed)
    objects = [Target() if chance.random() < 0.3 else Node() for _ in range(chance.randrange(3, 60))]
    for thing in objects:
        for other in chance.choices(objects, k=chance.randrange(4)):
            thing.refers_to.append(chance.choice([other, (other,), {"key": other}, [other, other]]))
    return chance.sample(objects, k=chance.randrange(1, 4)), objects


def distances(root):
    """By breadth first search with gc.get_referents: {id: steps from root}."""
    found, waiting = {id(root): 0}, collections.deque([root])
    while waiting:
        thing = waiting.popleft()
        for other in gc.get_referents(thing):
            if gc.is_tracked(other) and id(other) not in found and not isinstance(other, type):
                found[id(other)] = found[id(thing)] + 1
                waiting.append(other)
    return found


LIBRARY_CODE = """
class Base:
    registry = []
    def method(self, note=registry): pass
def wrap(value):
    def inner(): return value
    return inner
"""


class Roots(unittest.TestCase):
    def test_the_callers_variable_comes_before_the_argument_of_the_called(self):
        def called(argument):
            look = looks.take(LIBRARY, Target)
            place, = [place for place, _ in look.targets if look.objects[place] is argument[0]]
            return look.objects[look.path(place)[0]].f_code.co_name

        def caller():
            variable = [Target()]
            return called(variable)
        self.assertEqual(caller(), "caller")

    def test_kin_of_a_type_are_wanted_too(self):
        world[:] = [collections.OrderedDict(a=1), collections.deque(), Target()]
        self.addCleanup(world.clear)
        for kin, expected in ((None, {2}), (collections.deque, {1, 2})):
            look = looks.take(LIBRARY, Target, kin=kin)
            found = set(map(id, (look.objects[place] for place, _ in look.targets)))
            self.assertEqual({index for index, thing in enumerate(world) if id(thing) in found}, expected)


class Libraries(unittest.TestCase):
    """Variables of the user's do not lead through classes and functions of libraries."""

    def setUp(self):
        self.library = types.ModuleType("alibrary")
        self.library.__file__ = "/usr/lib/python3/site-packages/alibrary.py"
        exec(LIBRARY_CODE, self.library.__dict__)
        sys.modules["alibrary"] = self.library
        self.addCleanup(sys.modules.pop, "alibrary")
        self.addCleanup(world.clear)

    def path(self, place_in):
        """(reach, classes of the objects on the path) of a new target, which `place_in` puts somewhere."""
        target = Target()
        wanted = id(target)
        place_in(target)
        del target
        look = looks.take(LIBRARY, Target)
        place, = [place for place, _ in look.targets if id(look.objects[place]) == wanted]
        return look.reach[place], [type(look.objects[each]).__name__ for each in look.path(place)]

    def test_not_through_a_base_class(self):
        world.append(type("Mine", (self.library.Base,), {"__module__": "__main__"}))
        reach, path = self.path(lambda target: self.library.Base.registry.append(target))
        self.assertEqual(reach, looks.OTHERS)
        self.assertEqual(path[:2], ["dict", "type"])

    def test_but_through_a_class_of_its_own(self):
        reach, path = self.path(lambda target: world.append(
            type("Mine", (), {"__module__": "__main__", "kept": [target]})))
        self.assertEqual(reach, looks.USER)
        self.assertEqual(path[-4:], ["type", "dict", "list", "Target"])

    def test_a_closure_of_a_library_that_only_the_user_has(self):
        reach, path = self.path(lambda target: world.append(self.library.wrap(target)))
        self.assertEqual(reach, looks.USER)
        self.assertEqual(path[-4:], ["function", "tuple", "cell", "Target"])

    def test_a_class_whose_module_has_a_strange_name_is_asked_nothing(self):
        class Strange(str):
            def __hash__(self):
                raise AssertionError("code of the program ran")
            __eq__ = None

        def place_in(target):
            world.append(type("Mine", (), {"kept": target}))
            world[0].__module__ = Strange("x")
        self.assertEqual(self.path(place_in)[0], looks.USER)


class Frozen(unittest.TestCase):
    def tearDown(self):
        world.clear()
        gc.unfreeze()
        gc.enable()
        gc.collect()

    def reach(self, target):
        look = looks.take(LIBRARY, Target)
        return [look.reach[place] for place, _ in look.targets if id(look.objects[place]) == target]

    def test_what_was_frozen_is_looked_at_too(self):
        gc.disable()
        kept, cycle = Target(), Target()
        cycle.refers_to.append(cycle)
        world[:] = [kept]
        garbage, alive = id(cycle), id(kept)
        gc.collect()
        gc.freeze()
        del cycle, kept
        self.assertEqual(self.reach(alive), [looks.USER])
        self.assertEqual(self.reach(garbage), [looks.GARBAGE])
        other = Target()
        other.refers_to.append(other)
        young = id(other)
        del other
        self.assertEqual(self.reach(young), [looks.GARBAGE])
        gc.freeze()  # twice
        self.assertEqual(self.reach(young), [looks.GARBAGE])
        self.assertEqual(self.reach(garbage), [looks.GARBAGE])

    def test_what_was_made_since_the_list_is_not_taken_for_frozen(self):
        """Other threads make objects; they are alone in the ring of the youngest generation, whose head is no object."""
        def objects():
            found = gc.get_objects()
            world[:] = [[[Target()]] for _ in range(3)]
            return found
        for frozen in (0, 3, 6, 7, 10 ** 6):  # however many there are said to be
            world[:] = [Target()]
            self.addCleanup(setattr, looks, "gc", gc)
            gc.collect()
            gc.disable()
            looks.gc = types.SimpleNamespace(get_objects=objects, get_freeze_count=lambda count=frozen: count)
            look = looks.take(LIBRARY, Target)
            looks.gc = gc
            self.assertEqual(len(look.targets), 4)  # one is kept by the list
            del look

    def test_a_wrong_number_of_frozen_ones_costs_no_time(self):
        """As if a thread had frozen more since they were counted."""
        world[:] = [[Target()] for _ in range(200000)]
        gc.collect()
        gc.disable()
        gc.freeze()
        self.addCleanup(setattr, looks, "gc", gc)
        count = gc.get_freeze_count()
        looks.gc = types.SimpleNamespace(get_objects=gc.get_objects, get_freeze_count=lambda: count + 1)
        begin = time.process_time()
        look = looks.take(LIBRARY, Target)
        self.assertLess(time.process_time() - begin, 20)
        self.assertEqual(len(look.targets), 200000)

    def test_examines_as_many_objects_as_before(self):
        gc.collect()
        gc.disable()
        before = looks.take(LIBRARY, Target).examined
        gc.freeze()
        self.assertAlmostEqual(looks.take(LIBRARY, Target).examined, before, delta=before / 20)
        gc.unfreeze()
        self.assertAlmostEqual(looks.take(LIBRARY, Target).examined, before, delta=before / 20)


class Graph(unittest.TestCase):
    def setUp(self):
        gc.collect()
        gc.disable()
        self.addCleanup(gc.enable)

    def test_reaches_what_the_twin_reaches_by_paths_as_short(self):
        for seed in range(60):
            world[:], objects = random_world(seed)
            watched = [weakref.ref(thing) for thing in objects if isinstance(thing, Target)]
            alive = distances(world)
            del objects
            # What is in no cycle has gone now; the rest is garbage or alive.
            known = {id(each()) for each in watched if each() is not None}
            look = looks.take(LIBRARY, Target)
            mine = {id(look.objects[place]): place for place, _ in look.targets if id(look.objects[place]) in known}
            self.assertEqual(mine.keys(), known, f"seed {seed}")
            for identity, place in mine.items():
                expected = looks.USER if identity in alive else looks.GARBAGE
                self.assertEqual(look.reach[place], expected, f"seed {seed}")
                if expected == looks.USER:
                    self.assert_shortest(look, place, alive[identity], seed)
                else:
                    self.assert_begins_with_a_cycle(look, place, seed)
            world.clear()
            del look, mine
            gc.collect()
            self.assertEqual([each() for each in watched if each() is not None], [], "nothing was kept")

    def assert_shortest(self, look, place, steps, seed):
        path = [look.objects[each] for each in look.path(place)]
        at = next(index for index, thing in enumerate(path) if thing is world)
        self.assertEqual(len(path) - 1 - at, steps, f"seed {seed}")
        self.assert_linked(path, seed)

    def assert_begins_with_a_cycle(self, look, place, seed):
        path = [look.objects[each] for each in look.path(place)]
        self.assertTrue(any(thing is path[0] for thing in path[1:]), f"seed {seed}")
        self.assert_linked(path, seed)

    def assert_linked(self, path, seed):
        for thing, other in zip(path, path[1:]):
            self.assertTrue(any(each is other for each in gc.get_referents(thing)), f"seed {seed}: {type(thing)}")

    def test_lists_everything_that_refers_to_a_target(self):
        target = Target()
        world[:] = [[target], {"key": target}, (target,), Node()]
        world[3].refers_to.append(target)
        look = looks.take(LIBRARY, Target)
        place = next(place for place, _ in look.targets if look.objects[place] is target)
        found = {id(look.objects[other]) for at, other in look.referrers if at == place}
        expected = {id(each) for each in (world[0], world[1], world[2], world[3].refers_to)}
        self.assertEqual(expected - found, set())
        world.clear()

    def test_counts_the_references_of_native_code(self):
        kept = itertools.repeat(Target())  # the collector sees this reference
        hidden = ctypes.py_object(Target())
        identity = id(hidden.value)
        ctypes.pythonapi.Py_IncRef(hidden)
        del hidden
        look = looks.take(LIBRARY, Target)
        unseen = {id(look.objects[place]): (look.reach[place], count) for place, count in look.targets}
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(next(each for each in look.objects if id(each) == identity)))
        self.assertEqual(unseen.pop(identity), (looks.UNSEEN, 1))
        self.assertEqual(list(unseen.values()), [(looks.USER, 0)])
        del kept

    def test_many_looks_change_no_count(self):
        world[:], objects = random_world(7)
        counts = [sys.getrefcount(thing) for thing in objects]
        for _ in range(100):
            look = looks.take(LIBRARY, Target)
        del look
        self.assertEqual([sys.getrefcount(thing) for thing in objects], counts)
        world.clear()

    def test_frozen_and_untracked_objects_are_passed_through(self):
        target = Target()
        world[:] = [((((target,),),),)]
        gc.freeze()
        self.addCleanup(gc.unfreeze)
        identity = id(target)
        del target
        look = looks.take(LIBRARY, Target)
        places = [place for place, _ in look.targets if id(look.objects[place]) == identity]
        self.assertEqual([look.reach[place] for place in places], [looks.USER])
        world.clear()


    def test_what_is_found_last_is_followed_too(self):
        target = Target()
        identity = id(target)
        nested = target
        for _ in range(1000):
            nested = (nested,)
        world[:] = [nested]
        del target, nested
        gc.freeze()  # the collector lists nothing, so each is found by the one before
        self.addCleanup(gc.unfreeze)
        look = looks.take(LIBRARY, Target)
        self.assertEqual([look.reach[place] for place, _ in look.targets if id(look.objects[place]) == identity],
                         [looks.USER])
        world.clear()

    def test_paths_of_the_user_do_not_lead_through_modules_of_libraries(self):
        library = types.ModuleType("library_of_test")
        library.__file__ = "/usr/lib/python3/site-packages/library_of_test.py"
        library.kept = Target()
        sys.modules[library.__name__] = library
        self.addCleanup(sys.modules.pop, library.__name__)
        world[:] = [library, types.FunctionType((lambda: None).__code__, library.__dict__)]
        look = looks.take(LIBRARY, Target)
        place = next(place for place, _ in look.targets if look.objects[place] is library.kept)
        self.assertEqual(look.reach[place], looks.OTHERS)
        self.assertIs(look.objects[look.path(place)[0]], library.__dict__)
        world.clear()

    def test_the_list_of_all_objects_is_no_holder(self):
        def listed():
            everything = gc.get_objects()
            world.append(everything)
            return everything
        target = Target()
        looks.gc = types.SimpleNamespace(get_objects=listed, get_freeze_count=lambda: 0)
        self.addCleanup(setattr, looks, "gc", gc)
        look = looks.take(LIBRARY, Target)
        self.assertEqual([count for place, count in look.targets if look.objects[place] is target], [0])
        world.clear()


class Supported(unittest.TestCase):
    def test_other_pythons_are_refused(self):
        self.assertIsNone(looks.unsupported())
        for name, value, told in (("version_info", (3, 15), "CPython 3.15"), ("abiflags", "t", "this build of CPython"),
                                  ("implementation", types.SimpleNamespace(name="pypy"), "pypy")):
            changed = types.SimpleNamespace(version_info=sys.version_info, abiflags=sys.abiflags,
                                            implementation=sys.implementation)
            setattr(changed, name, value)
            looks.sys, was = changed, looks.sys
            try:
                self.assertIn(told, looks.unsupported())
                with self.assertRaises(OSError):
                    looks.Library("/nowhere.so")
            finally:
                looks.sys = was

    def test_an_unknown_layout_is_an_error_and_no_crash(self):
        class Strange(list):
            pass
        looks.gc = types.SimpleNamespace(get_objects=lambda: Strange(gc.get_objects()), get_freeze_count=lambda: 0)
        self.addCleanup(setattr, looks, "gc", gc)
        with self.assertRaises(RuntimeError):
            looks.take(LIBRARY, Target)


class Frames(unittest.TestCase):
    def test_variables_are_read_where_they_are_and_not_copied(self):
        first, second = Target(), None
        third = [first]

        def inner():
            return third
        frame = sys._getframe()
        names = looks.variables_of(frame.f_code)
        found = {name: LIBRARY.slot(frame, index) for index, name in enumerate(names)}
        self.assertEqual(found["first"], id(first))
        self.assertEqual(found["second"], id(second))
        self.assertEqual(found["inner"], id(inner))
        cell = inner.__closure__[0]
        self.assertEqual(found["third"], id(cell))
        self.assertEqual(found["self"], id(self))

    def test_an_argument_that_is_in_a_cell_moves_no_other_variable(self):
        def outer(argument):
            own = Target()

            def inner():
                return argument, own, free
            frame = sys._getframe()
            names = looks.variables_of(frame.f_code)
            slots = {name: LIBRARY.slot(frame, index) for index, name in enumerate(names)}
            return slots, {name: id(cell) for name, cell in zip(inner.__code__.co_freevars, inner.__closure__)}
        free = Target()
        slots, cells = outer(Target())
        if sys.version_info < (3, 11):  # the argument has a second place
            del slots["argument"], cells["argument"]
        self.assertEqual({name: slots.get(name) for name in cells}, cells)


if __name__ == "__main__":
    unittest.main()
