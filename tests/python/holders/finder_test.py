"""Who holds the memory of tensors, with a small torch in place of PyTorch's (studies/holders has the real one).

usage: finder_test.py BUILD
"""

import atexit
import collections
import contextlib
import ctypes
import functools
import gc
import io
import os
import sys
import types
import unittest
import weakref

BUILD = os.path.abspath(sys.argv.pop(1))
sys.path.insert(0, os.path.join(BUILD, "lib", "memprof", "python"))
from small_torch import (AUTOCAST, MODES, TORCH, AccumulateGrad, FreedBackward0, Guard, Hidden, MulBackward0, Node,  # noqa: E402
                         Saved, StorageBase, TensorBase)
from memprof import holders  # noqa: E402
from memprof._holders import ask, watch  # noqa: E402
from memprof._holders.finder import Finder  # noqa: E402
from memprof._holders.look import Library  # noqa: E402
from memprof._holders.saved_memory import SavedMemory  # noqa: E402
from memprof._holders.shield import shielded  # noqa: E402

world = types.SimpleNamespace()


class Numbered(unittest.TestCase):
    def test_not_each_dictionary_with_numbers_has_hooks(self):
        kept = collections.OrderedDict({7: TensorBase(0xf000)})
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
        identity = id(kept)
        self.addCleanup(lambda: ctypes.pythonapi.Py_DecRef(ctypes.cast(identity, ctypes.py_object)))
        del kept
        found = Finder(Library(ask._library_path()), TORCH).find()
        self.assertEqual([[holder.kind for holder in held.holders] for held in found if held.address == 0xf000], [["c++"]])


class HiddenState(dict):
    """Of a tensor whose gradient only native code has."""

    def __init__(self, gradient):
        super().__init__(TensorBase(0x1000).state)
        self.gradient = gradient

    def __getitem__(self, key):
        return Hidden.shown(self.gradient) if key == "grad" else dict.__getitem__(self, key)


class Finds(unittest.TestCase):
    def setUp(self):
        gc.collect()
        self.addCleanup(world.__dict__.clear)

    def told(self, tensor):
        told = [(holder["kind"], holder["path"].split(" (")[0]) for holder in holders(tensor)]
        return [each for each in told if each != ("python", "`tensor`")]  # of this function

    def test_every_variable_of_a_storage(self):
        world.a = {"x": TensorBase(0x1000)}
        world.b = TensorBase(0x1000, offset=16)
        told = self.told(world.b)
        self.assertIn(("python", "`world.b`"), told)
        self.assertIn(("python", "`world.a['x']`"), told)

    def test_what_has_no_memory_on_a_gpu_is_an_error(self):
        for tensor in (TensorBase(0x1000, cuda=False), TensorBase(0)):
            with self.assertRaises(ValueError):
                holders(tensor)

    def test_a_gradient_is_held_by_its_parameter(self):
        world.weight = TensorBase(0x1000)
        gradient = TensorBase(0x2000)
        world.weight.state["grad"] = gradient
        self.assertIn(("python", "`world.weight.grad`"), self.told(gradient))

    def test_a_gradient_that_a_tensor_was_told_to_keep(self):
        world.h = [TensorBase(0x1000)]
        world.h[0].state.update(grad_fn=MulBackward0(), grad=Hidden(lambda: TensorBase(0x2000)))
        for retains, expected in ((True, ["`world.h[0].grad`"]), (False, [])):
            world.h[0].state["retains"] = retains
            found = Finder(Library(ask._library_path()), TORCH).find()
            self.assertEqual([holder.line.split(" (")[0] for held in found if held.address == 0x2000
                              for holder in held.holders], expected)

    def test_a_leaf_that_only_a_graph_keeps(self):
        """And its gradient; a variable of the user's says more."""
        leaf, gradient = TensorBase(0x1000), TensorBase(0x2000)
        leaf.mine = TensorBase(0x5000)
        held = [self.natively_held(each) for each in (leaf, gradient)]
        at, leaf.state["grad"] = [Hidden(lambda each=each: ctypes.cast(each, ctypes.py_object).value) for each in held]
        world.weight = TensorBase(0x3000)
        world.losses = [TensorBase(0x4000 + i) for i in range(6)]
        nodes = [AccumulateGrad(at), AccumulateGrad(Hidden(lambda: world.weight))]
        world.losses[5].state["grad_fn"] = MulBackward0(following=nodes)
        del leaf, gradient, nodes
        finder = Finder(Library(ask._library_path()), TORCH)
        finder._torch.accumulates = AccumulateGrad
        told = {held.address: [(holder.kind, holder.line.split(" (")[0]) for holder in held.holders]
                for held in finder.find()}
        graph = " for the graph of list `world.losses`"
        self.assertEqual(told[0x1000], [("autograd", "kept by AccumulateGrad" + graph)])
        self.assertEqual(told[0x2000], [("autograd", "gradient of what is kept by AccumulateGrad" + graph)])
        self.assertEqual(told[0x3000], [("python", "`world.weight`")])
        self.assertEqual(told[0x5000], [("autograd", "`TensorBase.mine`" + graph)])

    def test_the_rest_is_what_no_holder_was_found_of(self):
        def block(address, size, requested, state="active_allocated"):
            return {"address": address, "size": size, "requested_size": requested, "state": state}
        blocks = [block(0x1000, 0x800, 2000), block(0x1800, 0x800, 2000), block(0x2000, 512, 4),
                  block(0x2200, 512, 4, "inactive"), block(0x2400, 512, 4, "active_pending_free")]
        snapshot = [{"device": 0, "blocks": [block(0x1000, 512, 4)]}, {"device": 1, "blocks": blocks}]
        torch = types.SimpleNamespace(**TORCH.__dict__, cuda=types.SimpleNamespace(memory_snapshot=lambda: snapshot))
        world.a, world.b = TensorBase(0x1000), TensorBase(0x1a00)
        finder = Finder(Library(ask._library_path()), torch)
        self.assertEqual(finder.rest(finder.find()), (8, 2))
        self.assertIsNone(Finder(Library(ask._library_path()), TORCH).rest([]), "it cannot tell")
        torch._C = types.SimpleNamespace(**TORCH._C.__dict__, _cuda_isHistoryEnabled=lambda: True)
        self.assertIsNone(Finder(Library(ask._library_path()), torch).rest([]), "it would tell all that happened")

    def test_ipython_names_of_a_result_are_left_out_beside_out(self):
        cells = types.ModuleType("__main__")
        self.addCleanup(sys.modules.__setitem__, "__main__", sys.modules["__main__"])
        sys.modules["__main__"] = cells
        cells.Out = cells._oh = {number: TensorBase(0x1000 * number) for number in range(2, 22)}
        cells.__dict__.update(_2=cells.Out[2], _3=cells.Out[3], _=TensorBase(0xf0000), __=cells.Out[3])
        del cells
        told = {held.address: [holder.line.split(" (")[0] for holder in held.holders]
                for held in Finder(Library(ask._library_path()), TORCH).find() if held.address}
        self.assertEqual([told[0x2000], told[0x3000], told[0x4000]], [["dict `Out`"]] * 3)
        self.assertEqual(told[0xf0000], ["`_`"])

    def test_a_variable_comes_before_what_only_repeats_it(self):
        class Kept(list):
            def run(self):
                pass
        world.zoo = {"a": {"b": {"c": Kept([TensorBase(0x1000)])}}}
        world.calls = [world.zoo["a"]["b"]["c"].run]
        lines = [holder.line.split(" (")[0] for held in Finder(Library(ask._library_path()), TORCH).find()
                 if held.address == 0x1000 for holder in held.holders]
        self.assertEqual(len(lines), 2, lines)
        self.assertIn("`world.zoo['a']['b']['c'][…]`", lines[0])
        self.assertIn("bound method", lines[1])

    def test_a_gradient_of_what_native_code_holds_has_no_name_either(self):
        def make():
            weight = TensorBase(0x1000)
            weight.state = None  # replaced below: its gradient is not for the collector to see
            return weight
        weight, gradient = make(), Hidden(lambda: TensorBase(0x2000))
        weight.state = HiddenState(gradient)
        self.natively_held(weight)
        del weight
        found = Finder(Library(ask._library_path()), TORCH).find()
        self.assertEqual([[holder.kind for holder in held.holders] for held in found if held.address == 0x2000], [["c++"]])

    def test_a_graph_holds_what_its_nodes_save(self):
        inner = TensorBase(0x3000)
        world.losses = [TensorBase(0x4000) for _ in range(6)]
        world.losses[5].state["grad_fn"] = MulBackward0(following=[FreedBackward0(), Node(inner)])
        self.assertIn(("autograd", "saved by Node for the graph of list `world.losses`"), self.told(inner))

    def test_a_sparse_tensor_has_memory_in_parts(self):
        world.sparse = TensorBase(0)
        world.sparse.state.update(values=TensorBase(0x1000), indices=TensorBase(0x2000))
        told = self.told(world.sparse.state["values"])
        self.assertIn(("python", "`world.sparse._values()`"), told)

    def test_a_tensor_within_a_layer_of_a_transform(self):
        inner = Hidden(lambda: TensorBase(0x1000))
        world.outer = TensorBase(0)
        world.outer.state["inside"] = inner
        world.loss = TensorBase(0)
        world.loss.state.update(inside=Hidden(lambda: TensorBase(0x2000)), grad_fn=MulBackward0(Saved(inner)))
        found = Finder(Library(ask._library_path()), TORCH).find()
        told = [(holder.kind, holder.line.split(" (")[0]) for held in found if held.address == 0x1000
                for holder in held.holders]
        self.assertIn(("python", "`world.outer`"), told)
        self.assertIn(("autograd", "saved by MulBackward0 for the graph of `world.loss`"), told)

    def test_a_tangent_while_a_level_is_open(self):
        world.dual = TensorBase(0x1000)
        tangent = Hidden(lambda: TensorBase(0x2000))
        forward = types.SimpleNamespace(_current_level=0)
        torch = types.SimpleNamespace(**TORCH.__dict__, autograd=types.SimpleNamespace(forward_ad=forward),
                                      _VF=types.SimpleNamespace(_unpack_dual=lambda tensor, level: (
                                          tensor, Hidden.shown(tangent) if level == 0 else None)))
        for level, expected in ((0, ["`world.dual.tangent`"]), (-1, [])):
            forward._current_level = level
            found = Finder(Library(ask._library_path()), torch).find()
            self.assertEqual([holder.line.split(" (")[0] for held in found if held.address == 0x2000
                              for holder in held.holders if "world" in holder.line], expected)

    def natively_held(self, thing):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
        identity = id(thing)
        self.addCleanup(lambda: ctypes.pythonapi.Py_DecRef(ctypes.cast(identity, ctypes.py_object)))
        return identity

    def test_what_a_hook_packed_is_kept_by_the_graph(self):
        class Box:
            def __init__(self, inside):
                self.inside = inside

        def hooks(frame):
            return lambda: frame, lambda box: (frame, box)
        box, frame = Box(TensorBase(0x1000)), Box([TensorBase(0x2000)])
        pack, unpack = hooks(frame)
        held = [self.natively_held(each) for each in (box, pack, unpack)]
        at = [Hidden(lambda each=each: ctypes.cast(each, ctypes.py_object).value) for each in (held[0], held[2])]
        del box, pack, unpack, frame
        world.loss = TensorBase(0x9000)
        world.loss.state["grad_fn"] = MulBackward0(Saved(*at))
        found = Finder(Library(ask._library_path()), TORCH).find()
        told = {held.address: [(holder.kind, holder.line.split(" (")[0]) for holder in held.holders] for held in found}
        (kind, line), = told[0x1000]
        self.assertEqual(kind, "autograd")
        self.assertRegex(line, r"^`Box.inside`, assigned at .* for the graph of `world.loss`$")
        (kind, line), = told[0x2000]
        self.assertEqual(kind, "autograd")
        self.assertRegex(line, r"^`frame.inside\[0\]`, variable of the closure .* for the graph of `world.loss`$")

    def test_a_mode_that_was_not_left(self):
        class Log:
            def __init__(self):
                self.results = [TensorBase(0x1000)]
        MODES.append(Log())
        self.natively_held(MODES[0])
        self.addCleanup(MODES.clear)
        modes, MODES[:] = list(map(id, MODES)), []
        torch = types.SimpleNamespace(**{**TORCH.__dict__, "_C": types.SimpleNamespace(**{
            **TORCH._C.__dict__, "_len_torch_dispatch_stack": lambda: 1,
            "_get_dispatch_stack_at": lambda index: ctypes.cast(modes[index], ctypes.py_object).value})})
        found = Finder(Library(ask._library_path()), torch).find()
        told = [holder[:3] for held in found if held.address == 0x1000 for holder in held.holders]
        self.assertEqual([(kind, line.split(",")[0]) for kind, line, _ in told], [("python", "`Log.results[0]`")])
        self.assertEqual(told[0][2], "a mode of PyTorch that was entered and not left")

    def test_modes_of_the_program_do_not_see_the_questions(self):
        seen = []
        storage = TORCH._C.TensorBase.data_ptr
        self.addCleanup(setattr, TensorBase, "data_ptr", storage)
        TensorBase.data_ptr = lambda tensor: seen.append(Guard.entered) or storage(tensor)
        world.a = TensorBase(0x1000)
        Finder(Library(ask._library_path()), TORCH).find()
        self.assertEqual(set(seen), {1})
        self.assertEqual(Guard.entered, 0)

    def test_a_hook_that_a_node_keeps(self):
        """Its dictionary belongs to native code."""
        def make(kept):
            def hook(*_):
                return kept
            return hook
        hooks = collections.OrderedDict({7: make(TensorBase(0xc000))})
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(hooks))
        identity = id(hooks)
        del hooks
        found = Finder(Library(ask._library_path()), TORCH).find()
        told = [holder[:3] for held in found if held.address == 0xc000 for holder in held.holders]
        ctypes.pythonapi.Py_DecRef(ctypes.cast(identity, ctypes.py_object))
        name = "Finds.test_a_hook_that_a_node_keeps.make.hook()"
        root = "hooks of a graph of autograd"
        self.assertEqual(told, [("autograd", "`kept`, variable of the closure %s (%s)" % (name, root), root)])

    def test_a_storage_may_be_kept_without_a_tensor(self):
        world.storages = [StorageBase(0x8000) for _ in range(6)] + [StorageBase(0x9000, "cpu")]
        world.view = TensorBase(0x8000)
        told = self.told(world.view)
        self.assertEqual(told, [("python", "`world.view`"), ("python", "list `world.storages`")])
        found = Finder(Library(ask._library_path()), TORCH).find()
        self.assertEqual([held.bytes for held in found if held.address in (0x8000, 0x9000)], [1024])

    def test_a_packed_object_is_no_tensor(self):
        world.loss = TensorBase(0x4000)
        world.loss.state["grad_fn"] = MulBackward0("packed", ("also", "packed"))
        self.assertEqual(self.told(world.loss), [("python", "`world.loss`")])

    def test_what_only_native_code_refers_to(self):
        tensor = ctypes.py_object(TensorBase(0x6000))
        ctypes.pythonapi.Py_IncRef(tensor)
        world.probe = TensorBase(0x6000)
        identity = id(tensor.value)
        del tensor
        self.assertEqual(self.told(world.probe), [("python", "`world.probe`")])
        del world.probe
        found = Finder(Library(ask._library_path()), TORCH).find()
        self.assertEqual([held.holders[0][:2] for held in found if held.address == 0x6000],
                         [("c++", "only native code holds this `TensorBase`")])
        self.addCleanup(AUTOCAST.clear)
        AUTOCAST.append("cuda")
        found = Finder(Library(ask._library_path()), TORCH).find()
        self.assertEqual([held.holders[0].line for held in found if held.address == 0x6000],
                         ["only native code holds this `TensorBase`, probably the cache of autocast, which is on"])
        ctypes.pythonapi.Py_DecRef(ctypes.cast(identity, ctypes.py_object))

    def test_what_atexit_will_call(self):
        def save(sample, path, *, again=None):
            pass

        def known():
            pass
        library = Library(ask._library_path())
        library.known_at_exit = atexit.register(known)
        atexit.register(print)
        atexit.register(save, [TensorBase(0x3000)], "x", again=TensorBase(0x3100))
        atexit.unregister(print)  # leaves a gap in the table
        self.addCleanup(atexit.unregister, known)
        self.addCleanup(atexit.unregister, save)
        lines = {held.address: held.holders[0][:2] for held in Finder(library, TORCH).find()}
        function = "Finds.test_what_atexit_will_call.save()"
        self.assertEqual(lines[0x3000], ("python", "`sample[0]`, argument of %s (callback of atexit)" % function))
        self.assertEqual(lines[0x3100], ("python", "`again`, argument of %s (callback of atexit)" % function))
        library.known_at_exit = lambda: None  # which is not registered
        lines = {held.address: held.holders[0].kind for held in Finder(library, TORCH).find()}
        self.assertEqual(lines[0x3000], "c++")

    def test_garbage_is_a_cycle_unless_native_code_holds_it_too(self):
        for uses, kind in ((1, "cycle"), (2, "c++")):
            gc.disable()
            cycle = [TensorBase(0x7000)]
            cycle.append(cycle)
            cycle[0].state["uses"] = uses
            del cycle
            found = Finder(Library(ask._library_path()), TORCH).find()
            gc.enable()
            self.assertEqual([held.holders[0][0] for held in found if held.address == 0x7000], [kind])
            del found
            gc.collect()


class Base:
    def told(self):
        found = Finder(Library(ask._library_path()), TORCH).find()
        return [holder.root for held in found if held.address == 0xe000 for holder in held.holders]


class Derived(Base):
    def __init__(self):
        self.kept = TensorBase(0xe000)


class Selves(unittest.TestCase):
    def test_self_is_told_with_its_class_if_the_method_is_anothers(self):
        root, = Derived().told()
        self.assertRegex(root, r"^local `self`, a `Derived`, of (Base\.)?told\(\), at finder_test.py:\d+$")


class GivesBack(unittest.TestCase):
    def test_nothing_is_kept_until_the_collector_runs(self):
        """Also no cycle of our own, which would keep the objects of the program for a while."""
        world.a = {"x": [TensorBase(0x1000)], "loss": TensorBase(0x2000)}
        world.a["loss"].state["grad_fn"] = MulBackward0(world.a["x"][0])
        alive = weakref.ref(world.a["x"][0]), weakref.ref(world.a["loss"])
        gc.collect()
        gc.disable()
        self.addCleanup(gc.enable)
        finder = Finder(Library(ask._library_path()), TORCH)
        self.assertGreater(len(finder.find()), 1)
        before = len(gc.get_objects())
        self.assertGreater(len(finder.find()), 1)
        self.assertLess(len(gc.get_objects()) - before, 5)
        world.__dict__.clear()
        self.assertEqual([each() for each in alive], [None, None])


class Watches(unittest.TestCase):
    def setUp(self):
        self.events = []
        for name, word in (("_held", "held"), ("_end", "end")):
            self.addCleanup(setattr, watch, name, getattr(watch, name))
            setattr(watch, name, lambda *figures, word=word: self.events.append((word, *figures)))
        torch = types.SimpleNamespace(_C=TORCH._C, cuda=types.SimpleNamespace(is_initialized=lambda: False))
        self.watch = watch.Watch(Library(ask._library_path()), torch)

    def ends(self):
        return [event for event in self.events if event[0] == "end"]

    def test_looks_at_steps_that_double(self):
        self.watch._next_time = float("inf")
        looked = []
        for step in range(40):
            before = len(self.ends())
            self.watch.step(step)
            self.watch._next_time = float("inf")
            looked += [step] * (len(self.ends()) - before)
        self.assertEqual(looked, [4, 8, 16, 32])

    def test_looks_in_between_when_the_cost_allows(self):
        self.watch.step(4)
        self.watch._next_time = 0
        self.watch.step(5)
        self.assertEqual(len(self.ends()), 2)

    def without_steps(self):
        """Ticks while a program allocates; the numbers of allocations at which it was looked at."""
        self.allocations = 0
        self.watch._torch._C._cuda_memoryStats = lambda device: {"allocation": {"all": {"allocated": self.allocations}}}
        self.watch._cuda.device_count = lambda: 1
        self.addCleanup(delattr, TORCH._C, "_cuda_memoryStats")
        looked = []
        for self.allocations in range(100):
            before = len(self.ends())
            self.assertGreater(self.watch.tick(), 0)
            looked += [self.allocations] * (len(self.ends()) - before)
        return looked

    def test_without_steps_it_looks_when_there_are_half_as_many_allocations_more(self):
        self.assertEqual(self.without_steps(), [8, 16, 24, 36, 54, 81])
        for step in range(4):
            self.watch.step(step)
        self.assertIsNone(self.watch.tick())

    def test_without_steps_and_figures_of_the_allocator_the_time_counts(self):
        def fails(_):
            raise RuntimeError("CUDAPluggableAllocator does not yet support getDeviceStats")
        TORCH._C._cuda_memoryStats = fails
        self.addCleanup(delattr, TORCH._C, "_cuda_memoryStats")
        self.watch._cuda.device_count = lambda: 1
        self.watch._begin -= 0.05
        self.assertGreater(self.watch.tick(), 0)
        self.assertEqual(len(self.ends()), 0)
        self.watch._begin -= 0.05
        self.assertGreater(self.watch.tick(), 0)
        self.assertEqual(len(self.ends()), 1)

    def test_without_allocations_of_its_own_the_time_counts(self):
        self.allocations = 0
        self.watch._torch._C._cuda_memoryStats = lambda device: {"allocation": {"all": {"allocated": 0}}}
        self.watch._cuda.device_count = lambda: 1
        self.addCleanup(delattr, TORCH._C, "_cuda_memoryStats")
        self.watch._begin -= 0.1
        self.assertGreater(self.watch.tick(), 0)
        self.assertEqual(len(self.ends()), 1)

    def test_no_look_while_the_program_is_traced(self):
        TORCH._C._get_tracing_state = object
        self.addCleanup(lambda: TORCH._C.__dict__.pop("_get_tracing_state", None))
        self.watch.look()
        self.watch.look(anywhere=True)
        self.assertEqual(self.without_steps(), [])
        with self.assertRaisesRegex(ValueError, "torch.jit.trace"):
            ask._holders_of(TORCH, TensorBase(0x1000))
        TORCH._C._get_tracing_state = lambda: None
        self.watch.look()
        self.assertEqual(len(self.ends()), 1)

    def test_without_steps_looks_have_a_limit(self):
        self.watch._spent = 1.5
        self.assertEqual(self.without_steps(), [])
        self.watch._begin -= 11
        self.assertGreater(self.watch.tick(), 0.3)
        self.assertEqual(len(self.ends()), 1)

    def test_without_steps_a_backward_pass_is_waited_for_but_not_the_frame_that_has_left_it(self):
        def _engine_run_backward(hook):
            if hook is not None:  # as the engine calls it
                (lambda: self.watch.tick())()
            else:
                self.watch.tick()
        self.without_steps()
        for hook, looks in ((True, 0), (None, 1)):
            self.allocations *= 2
            before = len(self.ends())
            _engine_run_backward(hook)
            self.assertEqual(len(self.ends()) - before, looks, hook)

    def test_garbage_counts_once_however_many_ways_lead_to_it(self):
        gc.collect()
        gc.disable()
        cycle = [TensorBase(0xa000), TensorBase(0xa000)]
        cycle.append(cycle)
        del cycle
        self.watch.look()
        gc.enable()
        held = [event for event in self.events if event[0] == "held" and event[2] == 0xa000]
        self.assertEqual({event[4] for event in held}, {4})
        self.assertEqual(self.ends()[0][1], 1024)

    def test_a_holder_is_a_line_each_for_path_root_and_chain(self):
        world.a = types.SimpleNamespace()
        setattr(world.a, "two\nlines\0", TensorBase(0xb000))
        self.addCleanup(world.__dict__.clear)
        self.watch.look()
        text = next(event[5] for event in self.events if event[0] == "held" and event[2] == 0xb000).decode()
        lines = text.split("\n")
        self.assertEqual(lines[0].split(" (")[0], "`world.a.two lines`")
        self.assertEqual(lines[1].split(",")[0], "global `world`")
        self.assertEqual(lines[2:], ["SimpleNamespace `world`", "SimpleNamespace `world.a`",
                                     "TensorBase `world.a.two lines`"])

    def test_the_smallest_of_very_many_are_left_out_and_that_is_told(self):
        self.addCleanup(world.__dict__.clear)
        self.addCleanup(setattr, watch, "_MOST_STORAGES", watch._MOST_STORAGES)
        self.addCleanup(setattr, watch, "_told", watch._told)
        world.a = [TensorBase(0xd00000 + i * 0x1000, count=10000 + i) for i in range(9)]
        watch._MOST_STORAGES = 4
        watch._told = False
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.watch.look()
            self.watch.look()
        held = {event[2] for event in self.events if event[0] == "held" and event[2] >= 0xd00000}
        self.assertEqual(held, {0xd00000 + i * 0x1000 for i in range(5, 9)})
        self.assertRegex(said.getvalue(), r"^memprof: holders of the 4 largest of \d+ storages are in the log\n$")

    def test_an_error_of_the_program_is_not_swallowed(self):
        """As of a handler of a signal that comes during a look."""
        def handler():
            raise TimeoutError
        self.watch._finder.find = handler
        with self.assertRaises(TimeoutError):
            self.watch.look()
        self.assertFalse(self.watch._looking)

    def test_nothing_of_a_look_is_compiled(self):
        """TorchDynamo has a callback for each frame of a thread."""
        calls = []

        def set_eval_frame(callback):
            calls.append(callback)
            return "before"
        frames = types.SimpleNamespace(set_eval_frame=set_eval_frame, skip_code=lambda code: calls.append(code.co_name))
        torch = types.SimpleNamespace(_C=types.SimpleNamespace(_dynamo=types.SimpleNamespace(eval_frame=frames)))
        function = shielded(torch, lambda *arguments, **named: calls.append((arguments, named)))
        function(1, two=2)
        with self.assertRaises(ZeroDivisionError):
            shielded(torch, lambda: 1 / 0)()
        self.assertEqual(calls, ["call", None, ((1,), {"two": 2}), "before", "call", None, "before"])

    def test_no_look_while_a_thread_is_in_a_backward_pass(self):
        def _engine_run_backward():
            self.watch.look()
            looked.append(len(self.ends()))
            self.watch.look(anywhere=True)
        looked = []
        _engine_run_backward()
        self.assertEqual((looked, len(self.ends())), ([0], 1))

    def test_a_failure_is_told_and_harms_nothing(self):
        self.watch._finder.find = functools.partial(divmod, 1, 0)
        watch._told = True  # said already
        self.addCleanup(setattr, watch, "_told", False)
        self.watch.look()
        self.assertEqual(self.events, [])


class SavedWithoutUnpacking(unittest.TestCase):
    """Structures as in PyTorch 2.6. A ctypes.c_void_p is like pybind11's object: at 16, a pointer to the value."""

    def setUp(self):
        self.storages = [(ctypes.c_uint64 * 8)() for _ in range(3)]
        self.tensors = [(ctypes.c_uint64 * 16)() for _ in range(3)]
        for number, (storage, tensor) in enumerate(zip(self.storages, self.tensors)):
            tensor[3] = ctypes.addressof(storage)
            storage[2] = 0x70000000 + number * 0x1000  # the address
            storage[5] = 1 | number << 8  # CUDA, device
        self.memory = SavedMemory()

    def saved(self, number):
        return ctypes.c_void_p(ctypes.addressof(self.tensors[number]))

    def learn(self, device=0, address=0x70000000):
        self.memory.learn(ctypes.addressof(self.tensors[0]), device, address)

    def test_is_found_by_what_is_known_of_another_tensor(self):
        self.assertIsNone(self.memory.where(self.saved(1)), "nothing is known yet")
        self.learn()
        self.assertEqual([self.memory.where(self.saved(number)) for number in range(3)],
                         [(0, 0x70000000), (1, 0x70001000), (2, 0x70002000)])

    def test_what_does_not_fit_is_never_guessed(self):
        self.learn(address=0x70000008)
        self.learn()  # too late: this release is not understood
        self.assertIsNone(self.memory.where(self.saved(0)))

    def test_memory_of_the_host_and_nothing_are_none(self):
        self.learn()
        self.storages[1][5] = 0
        self.tensors[2][3] = 0
        self.assertIsNone(self.memory.where(self.saved(1)))
        self.assertIsNone(self.memory.where(self.saved(2)))

    def test_pointers_into_nowhere_are_survived(self):
        self.learn()
        self.tensors[1][3] = 0x123456789000
        self.assertIsNone(self.memory.where(self.saved(1)))
        self.assertIsNone(self.memory.where(ctypes.c_void_p(0xdead0000beef0000)))
        self.assertIsNone(self.memory.where(ctypes.c_void_p(None)))


if __name__ == "__main__":
    unittest.main()
