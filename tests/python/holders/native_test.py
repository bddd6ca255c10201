"""What objects of native code hold, with a small torch, and with capsules and arrays as they are.

usage: native_test.py BUILD
"""

import ctypes
import os
import sys
import threading
import types
import unittest

BUILD = os.path.abspath(sys.argv.pop(1))
sys.path.insert(0, os.path.join(BUILD, "lib", "memprof", "python"))
from small_torch import (TORCH, ConcreteModuleType, Constant, Future, Graph, Hidden,  # noqa: E402
                         NativeModule, Saved, ScriptDict, ScriptFunction, ScriptList, ScriptModule, TensorBase, Work)
from memprof._holders import ask, native  # noqa: E402
from memprof._holders.finder import Finder  # noqa: E402
from memprof._holders.look import Library  # noqa: E402
try:
    import numpy
except ImportError:
    numpy = None

world = types.SimpleNamespace()


def hidden(address):
    return Hidden(lambda: TensorBase(address))


def told(address):
    found = Finder(Library(ask._library_path()), TORCH).find()
    return [(holder.kind, holder.line.split(" (")[0]) for held in found if held.address == address
            for holder in held.holders]


class Asked(unittest.TestCase):
    def setUp(self):
        self.addCleanup(world.__dict__.clear)
        self.addCleanup(Hidden.values.clear)

    def test_a_future_holds_its_value(self):
        world.answers = [Future(hidden(0x1000)) for _ in range(6)]
        world.pair = Future((hidden(0x2000), [TensorBase(0x3000)]))
        self.assertEqual(told(0x1000), [("python", "`world.answers[…].value()`")])
        self.assertIn(("python", "list `world.pair.value()[…]`"), told(0x3000))

    def test_a_future_without_a_value_holds_nothing(self):
        class Strange(BaseException):
            pass
        world.futures = [Future(), Future(error=ValueError("x")), Future(error=Strange())]
        self.assertEqual(told(0x1000), [])

    def test_scripted_collections_hold_their_entries(self):
        world.by_name, world.some = ScriptDict(a=hidden(0x1000)), ScriptList([hidden(0x2000)])
        self.assertEqual(told(0x1000), [("python", "dict `world.by_name`")])
        self.assertEqual(told(0x2000), [("python", "list `world.some`")])

    def test_work_of_a_process_group_holds_its_result(self):
        world.handles = [Work(hidden(0x1000)), Work()]
        self.assertEqual(told(0x1000), [("python", "list `world.handles[0].result()`")])

    def test_a_saved_tensor_that_python_has(self):
        world.kept = [Saved(hidden(0x1000)), Saved("packed")]
        self.assertEqual(told(0x1000), [("python", "`world.kept[0]`")])

    def test_a_module_holds_parameters_buffers_and_attributes(self):
        world.net = ScriptModule(
            NativeModule([("weight", hidden(0x1000))], [("mean", hidden(0x2000))],
                         {"kept": Hidden(lambda: [TensorBase(0x3000)]), "count": Hidden(lambda: 1 / 0)}),
            ConcreteModuleType(kept="List[Tensor]", count="int"))
        self.assertEqual(told(0x1000), [("python", "`world.net.weight`")])
        self.assertEqual(told(0x2000), [("python", "`world.net.mean`")])
        self.assertEqual(told(0x3000), [("python", "list `world.net.kept`")])

    def test_attributes_are_left_alone_while_other_threads_may_change_them(self):
        world.net = ScriptModule(NativeModule([("weight", hidden(0x1000))], (), {"kept": hidden(0x3000)}),
                                 ConcreteModuleType(kept="Tensor"))
        end = threading.Event()
        thread = threading.Thread(target=end.wait)
        thread.start()
        self.assertEqual(told(0x3000), [])
        self.assertEqual(told(0x1000), [("python", "`world.net.weight`")])
        end.set()
        thread.join()
        self.assertEqual(told(0x3000), [("python", "`world.net.kept`")])

    def test_what_is_traced_holds_constants(self):
        world.net = ScriptModule(NativeModule(graph=Graph(Constant(hidden(0x1000)), Constant(None, "i"))))
        world.function = ScriptFunction(Graph(Constant(hidden(0x2000))))
        self.assertEqual(told(0x1000), [("python", "`world.net.forward.graph`")])
        self.assertEqual(told(0x2000), [("python", "`world.function.graph`")])

    def test_what_answers_in_a_strange_way_costs_no_look(self):
        module = ScriptModule(NativeModule([("weight", hidden(0x1000))], ["no pair"]))
        world.all = {"strange": module, "kept": TensorBase(0x2000)}
        self.assertEqual(told(0x2000), [("python", "`world.all['kept']`")])

    def test_a_module_that_is_not_made_yet(self):
        world.net = ScriptModule.__new__(ScriptModule)
        world.other = ScriptModule("strange")
        self.assertEqual(told(0x1000), [])


class _Versioned(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint64), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("tensor", native._DLTensor)]


class Capsules(unittest.TestCase):
    def setUp(self):
        self.addCleanup(world.__dict__.clear)
        self.kept = []

    def capsule(self, name=b"dltensor", device_type=2, data=0x1000, versioned=False):
        shape = (ctypes.c_int64 * 2)(4, 8)
        tensor = native._DLTensor(data, device_type, 3, 2, 2, 32, 1, shape, None, 0)
        holder = _Versioned(1, None, None, 0, tensor) if versioned else tensor
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        self.kept += [shape, holder, name]
        return make(ctypes.addressof(holder), name, None)

    def test_a_capsule_holds_its_tensor(self):
        for versioned, name in ((False, b"dltensor"), (True, b"dltensor_versioned")):
            world.capsules = [self.capsule(name, versioned=versioned) for _ in range(6)]
            self.assertEqual(told(0x1000), [("python", "list `world.capsules`")])
        found = Finder(Library(ask._library_path()), TORCH).find()
        self.assertEqual([(held.device, held.bytes) for held in found if held.address == 0x1000], [(3, 128)])

    def test_others_do_not(self):
        world.capsules = [self.capsule(b"used_dltensor"), self.capsule(device_type=1), self.capsule(data=0),
                          self.capsule(b"other.api")]
        self.assertEqual(told(0x1000), [])


@unittest.skipUnless(numpy, "needs NumPy")
class Arrays(unittest.TestCase):
    def setUp(self):
        self.addCleanup(world.__dict__.clear)

    def test_an_array_of_objects_holds_its_elements(self):
        world.table = numpy.empty((3, 2), object)
        world.table[1, 1] = TensorBase(0x1000)
        self.assertEqual(told(0x1000), [("python", "ndarray `world.table`")])

    def test_a_view_holds_its_array(self):
        table = numpy.empty(8, object)
        table[1] = TensorBase(0x1000)
        world.view = table[::2]
        del table
        self.assertEqual(told(0x1000), [("python", "ndarray `world.view.base`")])

    def test_arrays_of_numbers_hold_nothing(self):
        world.arrays = [numpy.zeros(1000), numpy.zeros((0, 3)), numpy.empty((), object), numpy.array(5),
                        numpy.zeros(4, [("a", "i4"), ("b", "O")])]
        self.assertEqual(told(0x1000), [])


if __name__ == "__main__":
    unittest.main()
