"""The socket on which a program says who holds its memory.

usage: answer_test.py BUILD
"""

import _thread
import ctypes
import functools
import json
import os
import signal
import socket
import sys
import threading
import time
import types
import unittest

BUILD = os.path.abspath(sys.argv.pop(1))
sys.path.insert(0, os.path.join(BUILD, "lib", "memprof", "python"))
from small_torch import TORCH, StorageBase, TensorBase  # noqa: E402
from memprof._holders import answer, ask  # noqa: E402
from memprof._holders.look import Library  # noqa: E402

world = types.SimpleNamespace()
NAME = "\0memprof-holders-%d" % os.getpid()


def connected():
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(10)
    connection.connect(NAME)
    return connection


def asked_later():
    """By another thread, while this one executes Python."""
    told = []
    thread = threading.Thread(target=lambda: told.append(asked()))
    thread.start()
    while thread.is_alive():
        pass
    return told[0]


def asked():
    with connected() as connection:
        return json.loads(b"".join(iter(lambda: connection.recv(1 << 16), b"")))


class Answers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = answer.Server(Library(ask._library_path()), TORCH)

    def setUp(self):
        self.addCleanup(world.__dict__.clear)

    def test_says_who_holds_what(self):
        world.a = [TensorBase(0x1000) for _ in range(6)]
        told = asked_later()
        self.assertEqual(sorted(told), ["garbage_bytes", "holders", "objects", "pause_ns"])
        self.assertGreater(told["objects"], 1000)
        self.assertGreater(told["pause_ns"], 0)
        one, = [each for each in told["holders"] if each["address"] == 0x1000]
        self.assertEqual((one["device"], one["bytes"], one["kind"]), (1, 1024, "python"))
        self.assertTrue(one["path"].startswith("list `world.a` ("), one)
        self.assertEqual(one["chain"][-2:], ["list `world.a`", "TensorBase `world.a[…]`"])

    def asked_while(self, busy, begun=lambda: time.sleep(0.2)):
        """The main thread does `busy(until)` meanwhile, which returns when `until()` is true. Asked once `begun()` has
        returned."""
        told = []
        thread = threading.Thread(target=lambda: begun() and False or told.append(asked()))
        thread.start()
        busy(lambda: bool(told))
        thread.join(10)
        return told[0]

    @staticmethod
    def execute(until):
        while not until():
            pass

    def test_the_main_thread_looks_when_it_executes_python(self):
        looked_in = []
        find = self.server._finder.find
        self.addCleanup(setattr, self.server._finder, "find", find)
        self.server._finder.find = lambda *graphs: looked_in.append((_thread.get_ident(), *graphs)) or find(*graphs)
        self.assertNotIn("limits", self.asked_while(self.execute))
        self.assertEqual(looked_in, [(threading.main_thread().ident, True)])

    def test_a_main_thread_that_waits_is_not_waited_for(self):
        world.weight = TensorBase(0x1000)
        world.weight.state["grad"] = TensorBase(0x2000)
        told = self.asked_while(lambda until: ctypes.CDLL(None).sleep(4))
        self.assertIn("gradients", told["limits"][0])
        self.assertFalse(any(each["path"].startswith("`world.weight.grad`") for each in told["holders"]))
        self.execute(lambda: True)

    def test_a_backward_pass_is_waited_for(self):
        def _engine_run_backward(hook, until):
            hook(until)  # as the engine calls it

        entered = threading.Event()

        def hook(until):
            entered.set()
            end = time.monotonic() + 0.8
            while time.monotonic() < end:
                pass
            ends.append(until())  # afterwards, it may come at once
        ends = []

        def busy(until):
            _engine_run_backward(hook, until)
            self.execute(until)
        self.assertNotIn("limits", self.asked_while(busy, entered.wait))
        self.assertEqual(ends, [False])

    def test_what_a_handler_raises_within_a_look_is_the_programs(self):
        class Alarm(Exception):
            pass

        def find(*_):
            os.kill(os.getpid(), signal.SIGALRM)
            return []

        def handler(*_):
            raise Alarm
        self.addCleanup(setattr, self.server._finder, "find", self.server._finder.find)
        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, handler))
        self.server._finder.find = find
        with self.assertRaises(Alarm):
            self.asked_while(self.execute)
        self.server._finder.find = lambda *_: []
        self.assertEqual(asked_later()["holders"], [])

    def test_the_program_sees_no_thread_and_no_low_descriptor(self):
        self.assertEqual(threading.active_count(), 1)
        self.assertGreaterEqual(self.server._socket.fileno(), 512)

    def test_signals_are_for_the_program(self):
        def ours():
            tasks = os.listdir("/proc/self/task")
            return [task for task in tasks if int(task) != threading.main_thread().native_id]
        end = time.monotonic() + 5
        while len(ours()) > 1 and time.monotonic() < end:  # threads of tests before end a little later than they say
            time.sleep(0.02)
        masks = []
        for task in ours():
            with open("/proc/self/task/%s/status" % task, encoding="ascii") as status:
                masks += [int(line.split()[1], 16) for line in status if line.startswith("SigBlk")]
        self.assertEqual(len(masks), 1)
        self.assertTrue(all(masks[0] >> (number - 1) & 1 for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)))

    def test_names_that_are_no_text(self):
        setattr(world, "a\udc80", TensorBase(0x1000))
        one, = [each for each in asked_later()["holders"] if each["address"] == 0x1000]
        self.assertTrue(one["path"].startswith("`world.a?` ("), one)

    def test_who_goes_away_harms_nothing(self):
        world.a = {number: TensorBase(0x100000 + number * 0x1000) for number in range(3000)}
        for _ in range(3):
            connected().close()
        self.assertEqual(len([each for each in asked_later()["holders"] if each["address"] >= 0x100000]), 3000)

    def test_a_failure_is_told(self):
        self.addCleanup(setattr, self.server._finder, "find", self.server._finder.find)
        self.server._finder.find = functools.partial(int, "x")  # as a defect of ours, with no line of this file
        self.assertRegex(asked_later()["error"], "^ValueError: ")

    def test_other_users_are_not_answered(self):
        self.addCleanup(setattr, os, "geteuid", os.geteuid)
        unpack = answer._CREDENTIALS
        self.addCleanup(setattr, answer, "_CREDENTIALS", unpack)
        answer._CREDENTIALS = types.SimpleNamespace(size=unpack.size, unpack=lambda data: (1, 12345, 1))
        with connected() as connection:
            self.assertEqual(connection.recv(1), b"")

    def test_a_child_does_not_keep_the_socket(self):
        child = os.fork()
        if child == 0:
            os._exit(0 if self.server._socket.fileno() == -1 else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertIn("objects", asked_later())

    def test_the_name_is_taken_by_nobody_else(self):
        with self.assertRaises(OSError):
            answer.Server(Library(ask._library_path()), TORCH)
        answer.start(Library(ask._library_path()), TORCH)  # says nothing


class Changing(unittest.TestCase):
    def test_threads_that_change_everything_meanwhile(self):
        """Each answer names objects while four threads make, move and drop them."""
        self.addCleanup(world.__dict__.clear)
        ends = time.monotonic() + 60
        going = [True]

        def change(number):
            count = 0
            while going[0] and time.monotonic() < ends:
                count += 1
                tensor = TensorBase(0x500000 + number * 0x1000)
                setattr(world, "w%d" % (count % 50), {count % 7: [tensor], "k": types.SimpleNamespace(t=tensor)})
                if hasattr(world, "w%d" % (count % 49)):
                    try:
                        delattr(world, "w%d" % (count % 49))
                    except AttributeError:
                        pass
        threads = [threading.Thread(target=change, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        try:
            told = [asked_later() for _ in range(12)]
        finally:
            going[0] = False
            for thread in threads:
                thread.join()
        self.assertEqual([each.get("error") for each in told], [None] * len(told))
        self.assertTrue(any(each["address"] >= 0x500000 for document in told for each in document["holders"]))


class Closed(unittest.TestCase):
    def test_a_number_that_became_another_file_ends_the_thread(self):
        """As last, because nobody answers afterwards."""
        server = Answers.server
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
            other.bind("\0memprof-test-%d" % os.getpid())
            other.listen(1)
            time.sleep(0.3)  # after the last answer the thread waits again
            os.dup2(other.fileno(), server._socket.fileno())
            with connected() as last:  # the old socket, in which the thread still waits
                last.recv(1 << 16)
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as visitor:
                visitor.connect("\0memprof-test-%d" % os.getpid())
                time.sleep(0.2)
                other.settimeout(2)
                accepted, _ = other.accept()  # fails if the thread has taken the program's own visitor
                accepted.close()


if __name__ == "__main__":
    unittest.main()
