#!/usr/bin/env python3
"""The pytest plugin with the real pytest and pytest-xdist, on the stand-in GPU, without a framework.

usage: pytest_plugin_test.py BUILD SOURCE PYTHON
"""

import gc
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock
import weakref

BUILD, SOURCE = (os.path.abspath(path) for path in sys.argv[1:3])
PYTHON = sys.argv[3]
MEMPROF = os.path.join(BUILD, "bin", "memprof")
MIB = 1 << 20

SUPPORT = f'''
import ctypes, pytest
cudart = ctypes.CDLL({os.path.join(BUILD, "simcuda", "libcudart.so.13")!r})
class Memory:
    def __init__(self, mib):
        self.pointer = ctypes.c_void_p()
        if cudart.cudaMalloc(ctypes.byref(self.pointer), ctypes.c_size_t(mib << 20)):
            raise MemoryError(f"{{mib}} MiB")
    def __del__(self):
        cudart.cudaFree(self.pointer)
kept = []
@pytest.fixture(scope="session")
def model():
    return Memory(64)
@pytest.fixture
def holder():
    return []
'''
ALL = SUPPORT + '''
@pytest.mark.limit_gpu_memory("100 MiB")
def test_within(model): Memory(90)

@pytest.mark.limit_gpu_memory("100 MiB")
def test_above(model):
    first = Memory(70)
    second = Memory(50)

@pytest.mark.limit_gpu_memory("150 MiB", total=True)
def test_total(model): Memory(90)

@pytest.mark.limit_gpu_leaks
def test_clean(model, holder):
    holder.append(Memory(5))      # of the fixture: freed by its teardown
    cycle = [Memory(10)]
    cycle.append(cycle)

class TestClass:
    @pytest.mark.limit_gpu_leaks
    def test_of_a_class(self):
        self.held = Memory(5)

import unittest
class TestCase(unittest.TestCase):
    @pytest.mark.limit_gpu_leaks
    def test_of_a_case(self):
        self.held = Memory(5)

@pytest.mark.limit_gpu_leaks
def test_leaks(model):
    kept.append(Memory(10))

@pytest.mark.limit_gpu_leaks("16 MiB")
def test_leaks_little(model):
    kept.append(Memory(10))

@pytest.mark.limit_gpu_leaks
@pytest.mark.parametrize("turn", [1, 2])
def test_replaces(model, turn):
    kept[:] = [Memory(12)]        # no more is in use than before, and yet this test left it

def test_broken(model):
    held = Memory(33)
    assert len(kept) == 7

def test_out_of_memory(model):
    held = Memory(33)
    Memory(100000)

@pytest.mark.limit_gpu_memory("much")
def test_wrong_size(): pass

@pytest.mark.limit_gpu_memory()
def test_wrong_arguments(): pass

def test_without_gpu(): pass
'''
BAD = {"test_above", "test_total", "test_broken", "test_out_of_memory", "test_wrong_size", "test_wrong_arguments"}


class Result:
    def __init__(self, done):
        self.status, self.text = done.returncode, done.stdout + done.stderr
        lines = self.text.splitlines()
        self.failed = {line.split("::")[1].split(" ")[0] for line in lines if line.startswith("FAILED")}
        self.errors = {line.split("::")[1].split(" ")[0] for line in lines if line.startswith("ERROR test")}

    def section(self, name):
        """The lines below the headline that has `name`."""
        lines = self.text.splitlines()
        begin = next(i for i, line in enumerate(lines) if line[:2] in ("__", "--") and f" {name} " in line)
        end = next(i for i in range(begin + 1, len(lines)) if lines[i][:3] in ("___", "===", "---"))
        return lines[begin + 1:end]


class PluginTest(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def write(self, text, name="test_it.py"):
        (self.folder / name).write_text(text)

    def run_pytest(self, *arguments, python=("-m", "pytest"), sim=True, **more):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("MEMPROF_", "PYTEST_"))}
        environment.update(PYTHONPATH=os.path.join(SOURCE, "python"), MEMPROF_COMMAND=MEMPROF, PYTHONDONTWRITEBYTECODE="1",
                           COLUMNS="300")
        environment.update(more)
        sim = ["--gpu-memprof-device=memory=2GiB"] if sim else []
        return Result(subprocess.run(
            [PYTHON, *python, "-p", "memprof.pytest_plugin", "-p", "no:cacheprovider", *sim, *arguments], cwd=self.folder,
            env=environment, capture_output=True, text=True, check=False, timeout=120))

    def check_all(self, result):
        self.assertEqual(result.status, 1, result.text)
        self.assertEqual(result.failed, BAD, result.text)
        self.assertEqual(result.errors, {"test_leaks", "test_replaces[1]", "test_replaces[2]"}, result.text)

    def test_limits_and_leaks(self):
        self.write(ALL)
        result = self.run_pytest()
        self.check_all(result)
        above = result.section("test_above")
        self.assertEqual(above[0], "GPU memory: the peak of 120 MiB is 20.0 MiB above the limit of 100 MiB.")
        self.assertIn("184 MiB were in use on device 0, 64.0 MiB of them since before", above[1])
        self.assertRegex(above[3], r"^ +70\.0 MiB +1 block  .*test_above \(test_it\.py:\d+\)$")
        self.assertRegex(above[4], r"^ +50\.0 MiB +1 block  ")
        self.assertEqual(len(above), 6)
        # Here the fixture counts too.
        total = result.section("test_total")
        self.assertIn("the peak of 154 MiB is 4.00 MiB above the limit of 150 MiB in total", total[0])
        self.assertRegex("\n".join(total), r"64\.0 MiB +1 block  model ")
        left = result.section("ERROR at teardown of test_leaks")
        self.assertEqual(left[0], "GPU memory: the test left 10.0 MiB behind; allowed are 0 B.")
        self.assertRegex(left[2], r"10\.0 MiB +1 block  test_leaks \(test_it\.py")
        self.assertIn("the test left 12.0 MiB behind", result.section("ERROR at teardown of test_replaces[2]")[0])
        self.assertRegex(result.text, r"(?s)assert len\(kept\) == 7.*- GPU memory -.*33\.0 MiB +1 block  test_broken")
        self.assertRegex(result.text, r"(?s)MemoryError.*- GPU memory -.*33\.0 MiB +1 block  test_out_of_memory")
        self.assertEqual(result.section("test_wrong_size"), ["limit_gpu_memory: 'much' is no size: write 4096 or \"2 GiB\""])
        self.assertIn("missing 1 required positional argument", result.section("test_wrong_arguments")[0])

    def test_the_command_in_a_failure_works(self):
        self.write(ALL)
        result = self.run_pytest("-k", "test_above")
        more = result.section("test_above")[-1]
        self.assertTrue(more.startswith("More: memprof "), more)
        done = subprocess.run(f"{MEMPROF} {more[len('More: memprof '):]}", shell=True, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("+120 MiB", done.stdout)

    def test_with_xdist(self):
        self.write(ALL)
        result = self.run_pytest("-n", "2", "--dist=loadfile")
        self.check_all(result)
        self.assertIn("created: 2/2 workers", result.text)
        self.write(SUPPORT + "".join(f"def test_{i}(): Memory({i + 1})\n" for i in range(8)))
        result = self.run_pytest("-n", "2", "--gpu-memory-baseline=peaks.json", "--gpu-memory-baseline-update")
        self.assertEqual(result.status, 0, result.text)
        self.assertEqual(json.loads((self.folder / "peaks.json").read_text()),
                         {f"test_it.py::test_{i}": (i + 1) * MIB for i in range(8)})
        # A log of each worker that had a test; none of the run before.
        self.assertEqual(len(list((self.folder / ".gpu-memprof").glob("*.mprof"))), 2)

    def test_baseline(self):
        self.write(SUPPORT + "def test_one(model): Memory(100)\ndef test_two(): Memory(20)\ndef test_none(): pass\n")
        use = "--gpu-memory-baseline=peaks.json"
        self.assertIn("--gpu-memory-baseline-update makes it", self.run_pytest(use).text)
        self.assertEqual(self.run_pytest("--gpu-memory-baseline-update").status, 4)
        result = self.run_pytest(use, "--gpu-memory-baseline-update")
        self.assertIn("2 peaks written to peaks.json", result.text)
        peaks = {"test_it.py::test_one": 100 * MIB, "test_it.py::test_two": 20 * MIB}
        self.assertEqual(json.loads((self.folder / "peaks.json").read_text()), peaks)
        # Not what the model takes: alone, the tests have the same peaks.
        self.assertEqual(self.run_pytest(use, "-k", "one").status, 0)
        self.write(SUPPORT + "def test_one(model): Memory(108)\ndef test_two(): Memory(21)\ndef test_new(): Memory(1)\n")
        result = self.run_pytest(use)
        self.assertEqual((result.status, result.failed), (1, {"test_one"}), result.text)
        self.assertEqual(result.section("test_one")[0], "GPU memory: the peak of 108 MiB is 8.00 MiB, 8 % above the baseline "
                         "of 100 MiB; allowed are 5 %.")
        self.assertIn("1 tests have no baseline yet", result.text)
        self.assertEqual(self.run_pytest(use, "--gpu-memory-tolerance=10").status, 0)
        self.assertEqual(self.run_pytest(use, "--gpu-memory-tolerance=4").failed, {"test_one", "test_two"})
        # Entries of tests that did not run stay.
        self.run_pytest(use, "--gpu-memory-baseline-update", "-k", "two")
        peaks["test_it.py::test_two"] = 21 * MIB
        self.assertEqual(json.loads((self.folder / "peaks.json").read_text()), peaks)
        for text in ("[1]", "{", '{"a": "b"}', '{"a": true}'):
            self.write(text, "bad.json")
            result = self.run_pytest("--gpu-memory-baseline=bad.json")
            self.assertEqual(result.status, 4, result.text)
            self.assertIn("bad.json", result.text)

    def test_without_the_option_nothing_is_checked(self):
        self.write("import pytest\n@pytest.mark.limit_gpu_leaks\n@pytest.mark.limit_gpu_memory('1 B')\ndef test_it(): pass\n")
        result = self.run_pytest("--strict-markers", "-W", "error", sim=False)
        self.assertEqual(result.status, 0, result.text)
        self.assertIn("1 tests have limits of GPU memory that were not checked: add --gpu-memprof", result.text)
        self.assertFalse((self.folder / ".gpu-memprof").exists())
        result = self.run_pytest("--gpu-memprof", sim=False, MEMPROF_COMMAND="/nowhere/memprof")
        self.assertNotEqual(result.status, 0)

    def test_the_same_command_line(self):
        self.write("import sys\ndef test_it(pytestconfig):\n    print('ARGUMENTS', sys.argv[1:], flush=True)\n    assert 0\n")
        result = self.run_pytest("-k", "it or not it", "--gpu-memprof-output=logs/here")
        self.assertIn("'it or not it'", result.text.split("ARGUMENTS", 1)[1])
        self.assertIn(f"logs in {self.folder}/logs/here", result.text)
        # What a program prints is seen, and options in a file count as well.
        self.write("[pytest]\naddopts = --gpu-memprof-device=memory=1GiB\n", "pytest.ini")
        self.write(SUPPORT + "def test_it():\n    print('SEEN')\n    Memory(1)\n    with pytest.raises(MemoryError): Memory(1100)\n")
        result = self.run_pytest("-s", sim=False)
        self.assertEqual(result.status, 0, result.text)
        self.assertIn("SEEN", result.text)

    def test_below_memprof_run(self):
        self.write(ALL)
        done = subprocess.run([MEMPROF, "run", "--sim", "-o", str(self.folder / "own.mprof"), "--", PYTHON, "-m", "pytest", "-p",
                               "memprof.pytest_plugin", "-k", "test_above"], cwd=self.folder, capture_output=True, text=True,
                              env=dict(os.environ, PYTHONPATH=os.path.join(SOURCE, "python"), MEMPROF_COMMAND=MEMPROF),
                              check=False, timeout=120)
        self.assertIn("20.0 MiB above the limit", done.stdout)
        self.assertIn(str(self.folder / "own.mprof"), done.stdout)

    def test_a_reused_name_means_the_last_run_of_the_test(self):
        # As pytest-rerunfailures does it.
        self.write(SUPPORT + "turns = []\n@pytest.mark.limit_gpu_memory('50 MiB')\n"
                   "@pytest.mark.parametrize('long', ['x' * 3000])\ndef test_it(long):\n    turns.append(1)\n"
                   "    Memory(100 if len(turns) == 1 else 10)\n")
        self.write("from _pytest.runner import runtestprotocol\nimport pytest\n@pytest.hookimpl(tryfirst=True)\n"
                   "def pytest_runtest_protocol(item, nextitem):\n    runtestprotocol(item, nextitem=nextitem, log=False)\n",
                   "conftest.py")
        result = self.run_pytest()
        self.assertEqual(result.status, 0, result.text)
        self.assertIn("1 passed", result.text)

    def test_what_pytorch_keeps_for_libraries_is_no_leak(self):
        sys.path.insert(0, os.path.join(SOURCE, "python"))
        from memprof._pytest import part
        calls = []
        for initialized, expected in ((False, 0), (True, 1)):
            torch = types.SimpleNamespace(cuda=types.SimpleNamespace(is_initialized=lambda: initialized),
                                          _C=types.SimpleNamespace(_cuda_clearCublasWorkspaces=lambda: calls.append(1)))
            with unittest.mock.patch.dict(sys.modules, torch=torch):
                part.tidy()
            self.assertEqual(len(calls), expected)
        with unittest.mock.patch.dict(sys.modules, torch=types.SimpleNamespace()):
            part.tidy()

    def test_what_waits_for_the_collector_is_no_leak(self):
        sys.path.insert(0, os.path.join(SOURCE, "python"))
        from memprof._pytest import part

        class Node:
            pass
        node = Node()
        node.itself, gone = node, weakref.ref(node)
        gc.disable()
        self.addCleanup(gc.enable)
        del node
        self.assertIsNotNone(gone())
        part.tidy()
        self.assertIsNone(gone())

    def test_sizes(self):
        sys.path.insert(0, os.path.join(SOURCE, "python"))
        from memprof._pytest import words
        for text, count in (("0", 0), (4096, 4096), ("2 GiB", 2 << 30), ("1.5k", 1536), ("1 MB", 10 ** 6), (" 7 B ", 7)):
            self.assertEqual(words.parse_size(text), count)
        for wrong in ("", "GiB", "-1", "1 XB", "1 2", None, True, 1.5, -3, "1e3"):
            with self.assertRaises(ValueError, msg=repr(wrong)):
                words.parse_size(wrong)
        for count, text in ((0, "0 B"), (999, "999 B"), (1000, "1000 B"), (64 * MIB, "64.0 MiB"), (120 * MIB, "120 MiB")):
            self.assertEqual(words.size(count), text)


if __name__ == "__main__":
    if subprocess.run([PYTHON, "-c", "import pytest, xdist"], stderr=subprocess.DEVNULL, check=False).returncode \
            if os.path.exists(PYTHON) else True:
        print("no pytest with pytest-xdist: skipped")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
