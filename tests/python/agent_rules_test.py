#!/usr/bin/env python3
"""The agent's rules without PyTorch: where steps begin, and how modules are named.

usage: agent_rules_test.py SOURCE
"""

import importlib.util
import os
import sys
import types
import unittest
import weakref

SOURCE = os.path.abspath(sys.argv.pop(1))


def load():
    """The package, loaded as sitecustomize.py does."""
    spec = importlib.machinery.ModuleSpec("_memprof", None, is_package=True)
    spec.submodule_search_locations = [os.path.join(SOURCE, "python", "memprof")]
    sys.modules["_memprof"] = importlib.util.module_from_spec(spec)
    from _memprof._agent import calls, guard, paths, pools, steps, streams, tensors
    return calls, guard, paths, pools, steps, streams, tensors


calls, guard, paths, pools, steps, streams, tensors = load()


class Optimizer:
    """Stands in for torch.optim.Optimizer, and for an optimizer."""


class ThePools(unittest.TestCase):
    def setUp(self):
        self.said = []
        self.recording = True
        guard.failures, guard.off = 0, False
        calls.pool_create = lambda *numbers: self.say("make", *numbers)
        calls.pool_begin = lambda *numbers: self.say("begin", *numbers)
        calls.pool_end = lambda *numbers: self.say("end", *numbers)

        class Pool:
            def __init__(self, number):
                self.id = (0, number)

        class Graph:
            def __init__(self, number):
                self.number = number

            def capture_begin(self, pool=None, capture_error_mode="global"):
                return capture_error_mode

            def capture_end(self):
                return "captured"

            def pool(self):
                return self.number, 0

        self.native = types.SimpleNamespace(_cuda_beginAllocateCurrentThreadToPool=lambda device, pool: "begun",
                                            _cuda_endAllocateToPool=lambda device, pool: "ended")
        self.memory = types.SimpleNamespace(MemPool=Pool, **vars(self.native))
        pools._made.clear()
        pools.install(types.SimpleNamespace(_C=self.native, cuda=types.SimpleNamespace(
            memory=self.memory, CUDAGraph=Graph, current_device=lambda: 1)))
        self.pool, self.graph = Pool, Graph

    def say(self, *words):
        self.said.append(words)
        return 0 if self.recording else calls.NOT_RECORDING

    def test_chosen_pools(self):
        self.recording = False
        pool = self.pool(7)  # reported again where it is first chosen
        self.recording = True
        for place in (self.native, self.memory):
            self.assertEqual(place._cuda_beginAllocateCurrentThreadToPool(2, pool.id), "begun")
            self.assertEqual(place._cuda_endAllocateToPool(2, pool.id), "ended")
        chosen = [("begin", 2, 7, 0), ("end", 2, 7)]
        self.assertEqual(self.said, [("make", 7, 0), ("make", 7, 0), *chosen, *chosen])

    def test_captures(self):
        graph = self.graph(3)
        self.assertEqual(graph.capture_begin(capture_error_mode="relaxed"), "relaxed")
        self.assertEqual(graph.capture_end(), "captured")
        number = self.said[0][2]
        self.assertGreaterEqual(number, 1 << 55)
        self.assertEqual(self.said, [("begin", 1, number, 1), ("end", 1, number), ("make", 3 << 32, number)])
        self.said.clear()
        second = self.graph(3)
        second.capture_begin(pool=graph.pool())
        second.capture_end()
        second.capture_end()  # had no begin
        self.assertEqual(self.said, [("begin", 1, 3 << 32, 1), ("end", 1, 3 << 32)])

    def test_failures_stay_here(self):
        calls.pool_begin = lambda *_: 1 // 0
        before, errors, sys.stderr = guard.failures, sys.stderr, open(os.devnull, "w", encoding="utf-8")
        try:
            self.assertEqual(self.native._cuda_beginAllocateCurrentThreadToPool(0, (0, 1)), "begun")
        finally:
            sys.stderr.close()
            sys.stderr = errors
        self.assertEqual(guard.failures, before + 1)


class TheStreams(unittest.TestCase):
    def setUp(self):
        self.said = []
        self.recording = True
        self.active, self.allocated, self.asked = 100, 100, 0
        guard.failures, guard.off = 0, False
        calls.stream_use = lambda *use: self.say("use", *use)
        calls.waiting = lambda *now: self.say("wait", *now)
        self.torch = types.SimpleNamespace(
            _C=types.SimpleNamespace(_cuda_memoryStats=self.stats),
            cuda=types.SimpleNamespace(is_initialized=lambda: True, current_device=lambda: 1),
            Tensor=type("Tensor", (), {"record_stream": lambda self, s: "recorded", "get_device": lambda self: 2,
                                       "untyped_storage": lambda self: types.SimpleNamespace(
                                           data_ptr=lambda: 4096)}))
        self.step = streams.install(self.torch)
        self.stream = types.SimpleNamespace(cuda_stream=7)
        streams._PAUSE = 0

    def stats(self, _):
        self.asked += 1
        blocks = {"all": {"current": 3}}, {"all": {"current": 1}}
        return {"active_bytes": {"all": {"current": self.active, "peak": 500}}, "active": blocks[0],
                "allocated_bytes": {"all": {"current": self.allocated}}, "allocation": blocks[1]}

    def say(self, *words):
        self.said.append(words)
        return 0 if self.recording else calls.NOT_RECORDING

    def test_uses_and_what_waits(self):
        self.step()
        self.assertEqual(self.said, [], "nothing waits, and no stream was named")
        tensor = self.torch.Tensor()
        self.assertEqual(tensor.record_stream(self.stream), "recorded")
        self.allocated = 40
        self.assertEqual(tensor.record_stream(s=self.stream), "recorded")
        tensor.record_stream(self.stream)
        use = ("use", 2, 4096, 7)
        self.assertEqual(self.said, [use, ("wait", 2, 0, 2, 500), use, ("wait", 2, 60, 2, 500), use])
        self.said.clear()
        self.step()
        self.assertEqual(self.said, [("wait", 1, 60, 2, 500)], "the current device too")

    def test_asks_seldom(self):
        streams._PAUSE = 1e9
        for _ in range(5):
            self.torch.Tensor().record_stream(self.stream)
        self.assertEqual(self.asked, 1)

    def test_asks_nothing_while_nothing_is_recorded(self):
        self.recording = False
        self.torch.Tensor().record_stream(self.stream)
        self.assertEqual(self.asked, 0)

    def test_failures_stay_here(self):
        calls.stream_use = lambda *_: 1 // 0
        errors, sys.stderr = sys.stderr, open(os.devnull, "w", encoding="utf-8")
        try:
            self.assertEqual(self.torch.Tensor().record_stream(self.stream), "recorded")
        finally:
            sys.stderr.close()
            sys.stderr = errors
        self.assertEqual(guard.failures, 1)


class TheSteps(unittest.TestCase):
    def setUp(self):
        self.marks = []
        self.recording = True
        self.capturing = False
        self.said = []  # F: a model runs, the name of an optimizer: it steps, |: a step begins
        calls.step = self.mark
        torch = types.SimpleNamespace(
            optim=types.SimpleNamespace(Optimizer=Optimizer),
            cuda=types.SimpleNamespace(is_initialized=lambda: True,
                                       is_current_stream_capturing=lambda: self.capturing))
        self.steps = steps.Steps(torch)
        self.optimizers = {}

    def tearDown(self):
        self.optimizers.clear()  # the next test checks whether there is one

    def mark(self, number):
        if not self.recording:
            return calls.NOT_RECORDING
        self.marks.append(number)
        self.said.append("|")
        return 0

    def play(self, text):
        for what in text:
            if what == "F":
                self.steps.forward()
                self.said.append("F")
                continue
            optimizer = self.optimizers.setdefault(what, Optimizer())
            self.steps.before()
            self.said.append(what)
            self.steps.after(optimizer)
        return "".join(self.said)

    def have(self, *names):
        for name in names:
            self.optimizers[name] = Optimizer()

    def test_one_optimizer(self):
        self.have("a")
        self.assertEqual(self.play("FaFaFa"), "|Fa|Fa|Fa")
        self.assertEqual(self.marks, [0, 1, 2])

    def test_what_follows_the_last_step_is_none(self):
        self.have("a")
        self.assertEqual(self.play("FaFa"), "|Fa|Fa")

    def test_portions_of_a_batch(self):
        self.have("a")
        self.assertEqual(self.play("FFFaFFFa"), "|FFFa|FFFa")

    def test_evaluation_without_an_optimizer_marks_nothing(self):
        self.assertEqual(self.play("FFF"), "FFF")

    def test_an_optimizer_that_is_made_after_the_first_run(self):
        self.play("F")
        self.assertEqual(self.play("FaFa"), "FF|a|Fa")

    def test_functions_in_place_of_modules(self):
        self.assertEqual(self.play("aaa"), "|a|a|a|")

    def test_two_that_take_turns(self):
        self.have("d", "g")
        self.assertEqual(self.play("FdFg" * 3), "|Fd|Fg" + "|FdFg" * 2)

    def test_two_that_step_together(self):
        self.have("d", "g")
        self.assertEqual(self.play("Fdg" * 3), "|Fdg" * 3)

    def test_one_that_steps_now_and_then(self):
        self.have("d", "g")
        self.assertEqual(self.play("FdFdFdFg" * 2), "|Fd|Fd|Fd|Fg" + "Fd|Fd|Fd|Fg")

    def test_an_optimizer_for_each_parameter(self):
        self.have(*"abcdefgh")
        self.assertEqual(self.play("Fabcdefgh" * 2), "|Fabcdefgh" * 2)

    def test_another_one_takes_over(self):
        self.have("a", "b")
        self.play("Fa" * 5)
        self.said.clear()
        self.assertEqual(self.play("Fb" * 5), "|FbFbFb|Fb|Fb")

    def test_a_leader_that_is_gone(self):
        self.have("a", "b")
        self.play("Fa" * 5)
        del self.optimizers["a"]
        self.said.clear()
        self.assertEqual(self.play("FbFb"), "|Fb|Fb")

    def test_not_recording_at_first(self):
        self.have("a")
        self.recording = False
        self.play("FaFa")
        self.recording = True
        self.said.clear()
        self.assertEqual(self.play("FaFa"), "|Fa|Fa")
        self.assertEqual(self.marks[0], 0)

    def test_not_while_a_graph_is_captured(self):
        self.have("a")
        self.capturing = True
        self.assertEqual(self.play("FaFa"), "FaFa")

    def test_not_where_the_program_marks(self):
        self.have("a")
        sys.modules["memprof"] = types.SimpleNamespace(_marks_steps=True)
        self.addCleanup(sys.modules.pop, "memprof")
        self.assertEqual(self.play("FaFa"), "FaFa")

    def test_again_in_a_child(self):
        self.have("a")
        self.play("Fa")
        self.steps.again()
        self.assertEqual(self.play("FaFa"), "|Fa|Fa|Fa")

    def test_keeps_no_optimizer_alive(self):
        self.have("a")
        self.play("FaFa")
        watched = weakref.ref(self.optimizers.pop("a"))
        self.assertIsNone(watched())


class Module:
    """The parts of torch.nn.Module that names are made of."""

    def __init__(self, parameters=0, **parts):
        self._modules = parts
        self.own = [object()] * parameters
        for name, part in parts.items():
            setattr(self, name, part)

    def named_modules(self, prefix=""):
        yield prefix, self
        for name, part in self._modules.items():
            yield from part.named_modules(prefix + "." * bool(prefix) + name)

    def modules(self):
        return (module for _, module in self.named_modules())

    def parameters(self):
        return iter([one for module in self.modules() for one in module.own])


class Loss(Module):
    pass


class OptimizedModule(Module):
    pass


class Paths(unittest.TestCase):
    def setUp(self):
        self.paths = paths.Paths()

    def path(self, module, caller=None):
        place = self.paths.find(module) or self.paths.learn(module, caller)
        return place.path

    def test_of_a_model(self):
        leaf = Module(1)
        model = Module(blocks=Module(**{"0": Module(mlp=leaf)}))
        self.assertEqual(self.path(model), "Module")
        self.assertEqual(self.path(leaf), "blocks.0.mlp")

    def test_wrappers_leave_no_trace(self):
        leaf = Module(1)
        model = OptimizedModule(_orig_mod=Module(block=OptimizedModule(_orig_mod=Module(mlp=leaf))))
        self.assertEqual(self.path(model), "OptimizedModule")
        self.assertEqual(self.path(leaf), "block.mlp")
        self.assertEqual(list(self.paths.roots.values())[0].prefix, "")

    def test_several_models_and_a_loss(self):
        first, second, third, loss = Module(a=Module(1)), Module(a=Module(1)), Module(a=Module(1)), Loss()
        for module in (loss, first, second, third):
            self.path(module)
        self.assertEqual([self.path(module) for module in (loss, first.a, second.a, third.a)],
                         ["Loss", "a", "Module.a", "Module#2.a"])
        del first, module
        fourth = Module(b=Module(1))
        self.path(fourth)
        self.assertEqual(self.path(fourth.b), "b")  # the name without a prefix is free again

    def test_a_part_that_ran_by_itself_first(self):
        model = Module(encoder=Module(a=Module(1)), decoder=Module(1))
        self.assertEqual(self.path(model.encoder.a), "Module")
        self.path(model)
        self.assertEqual(self.path(model.encoder.a), "encoder.a")
        self.assertEqual(len(self.paths.roots), 1)

    def test_parts_that_come_later(self):
        model = Module(1)
        self.path(model)
        place = self.paths.find(model)
        model._modules["late"] = late = Module(1)
        self.assertEqual(self.path(late, place), "late")
        hidden = Module(1)  # for example in a list
        self.assertEqual(self.path(hidden, self.paths.find(late)), "late.Module")

    def test_keeps_nothing_alive_and_forgets(self):
        model = Module(a=Module(1))
        self.path(model)
        watched = weakref.ref(model)
        del model
        self.assertIsNone(watched())
        self.assertEqual((len(self.paths.roots), len(self.paths._places)), (0, 0))

    def test_names_are_bytes_that_c_takes(self):
        place = paths.Place(None, "größe\0\ud800", None)
        self.assertEqual(place.forward, "größe? (forward)".encode())


class Tensors(unittest.TestCase):
    def test_a_wrapper_without_memory_is_no_failure(self):
        """As torch.func makes them."""
        def no_storage():
            raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")
        wrapper = types.SimpleNamespace(is_cuda=True, is_sparse=False, numel=lambda: 4, data_ptr=no_storage)
        self.assertTrue(tensors.say(b"weight", wrapper))
        wrapper.requires_grad = False
        names = tensors.Names(types.SimpleNamespace(Tensor=type(wrapper)), None)
        names.not_inputs(wrapper)
        names.of_inputs((wrapper,))


class Failures(unittest.TestCase):
    def test_said_once_and_off_after_many(self):
        written = []
        self.addCleanup(setattr, sys, "stderr", sys.stderr)
        sys.stderr = types.SimpleNamespace(write=written.append)
        for _ in range(120):
            try:
                raise KeyError("x")
            except KeyError:
                guard.failed("a test")
        self.assertEqual(len(written), 1)
        self.assertIn("a test (KeyError: 'x')", written[0])
        self.assertTrue(guard.off)


if __name__ == "__main__":
    unittest.main()
