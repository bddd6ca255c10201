#!/usr/bin/env python3
"""How the agent of `memprof run --torch` is loaded into Python, with a package named torch in place of PyTorch.

usage: agent_inject_test.py BUILD
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

BUILD = os.path.abspath(sys.argv.pop(1))
INJECT = os.path.join(BUILD, "lib", "memprof", "inject")
RECORDER = os.path.join(BUILD, "lib", "libmemprof.so")
MEMPROF = os.path.join(BUILD, "bin", "memprof")

# Prints what the agent did when it was started: it looked for modules of torch, and failed there.
SAID = "no module paths and tensor names"


class Injected(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = self.temporary.name
        self.addCleanup(self.temporary.cleanup)

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def run_python(self, code, *options, inject=True, recorder=True, **environment):
        own = {name: value for name, value in os.environ.items()
               if not name.startswith(("MEMPROF_", "PYTHON", "LD_PRELOAD"))}
        own.update(PYTHONPATH=os.pathsep.join(([INJECT] if inject else []) + [self.folder]),
                   PYTHONDONTWRITEBYTECODE="1")
        if inject:
            own["MEMPROF_AGENT"] = "torch"
        if recorder:
            own["LD_PRELOAD"] = RECORDER
        own.update(environment)
        return subprocess.run([sys.executable, *options, "-c", code], env=own, capture_output=True, text=True,
                              check=False, cwd=self.folder)

    def says(self, code, *options, **how):
        done = self.run_python(code, *options, **how)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def test_what_asks_the_driver_is_called_without_the_interpreters_lock(self):
        held = 4  # FUNCFLAG_PYTHONAPI of ctypes
        code = (f"import sys; sys.path.insert(0, {os.path.join(BUILD, 'lib', 'memprof', 'python')!r})\n"
                "from memprof._agent import calls\n"
                f"print(*[bool(f._flags_ & {held}) for f in (calls.step, calls.push, calls.pop)])")
        self.assertEqual(self.says(code).stdout.split(), ["False", "True", "True"])

    def test_a_python_without_torch_is_as_it_was(self):
        code = ("import sys; m = sorted(sys.modules); import json; print(json.dumps([sys.path, "
                "len(sys.meta_path), [n for n in m if 'memprof' in n], m]))")
        before = json.loads(self.says(code, inject=False).stdout)
        after = json.loads(self.says(code).stdout)
        self.assertEqual(after[0], before[0])
        self.assertEqual(after[1], before[1] + 1)
        self.assertEqual(after[2], [])
        # It costs only the lookup of the file.
        self.assertEqual(set(after[3]) - set(before[3]), {"sitecustomize"} - set(before[3]))

    def test_runs_the_sitecustomize_that_it_hides(self):
        self.write("sitecustomize.py", "import builtins\nbuiltins.mine = __file__\n")
        done = self.says("import sitecustomize; print(mine == sitecustomize.__file__, mine)")
        self.assertEqual(done.stdout.split()[0], "True")
        self.assertIn(self.folder, done.stdout)

    def test_a_sitecustomize_that_fails_fails_as_before(self):
        self.write("sitecustomize.py", "1 / 0\n")
        code = "print('on')"
        before, after = self.run_python(code, inject=False), self.run_python(code)
        self.assertEqual((after.returncode, after.stdout), (before.returncode, before.stdout))
        self.assertEqual(after.stderr.splitlines()[-1], before.stderr.splitlines()[-1])

    def test_starts_behind_the_import_of_torch(self):
        self.write("torch/__init__.py", "import sys\nprint('imported', file=sys.stderr)\n")
        done = self.says("import torch; print(torch.__spec__.loader.exec_module.__name__, "
                         "'exec_module' in vars(torch.__spec__.loader))")
        self.assertEqual(done.stdout.split(), ["exec_module", "False"])
        lines = done.stderr.splitlines()
        self.assertEqual(lines[0], "imported")
        self.assertIn(SAID, lines[1])
        self.assertEqual(len(lines), 2)

    def test_a_look_for_torch_is_no_import(self):
        self.write("torch/__init__.py", "")
        done = self.says("import importlib.util as u\nassert u.find_spec('torch') and u.find_spec('torch')\n"
                         "import sys; assert '_memprof' not in sys.modules\n"
                         "import torch; assert '_memprof' in sys.modules")
        self.assertIn(SAID, done.stderr)

    def test_no_torch_and_a_broken_one(self):
        code = ("for _ in range(2):\n  try:\n    import torch\n"
                "  except ImportError as error: print(type(error).__name__, error)\n")
        self.assertEqual(self.says(code).stdout, self.says(code, inject=False).stdout)
        self.write("torch/__init__.py", "raise ImportError('half a torch')\n")
        done = self.says(code)
        self.assertEqual(done.stdout, "ImportError half a torch\n" * 2)
        self.assertEqual(done.stderr, "")

    def test_nothing_without_recorder_or_when_switched_off(self):
        self.write("torch/__init__.py", "")
        code = "import torch, sys; print(len([n for n in sys.modules if n == '_memprof._agent.hooks']))"
        for how in ({"recorder": False}, {"MEMPROF_DISABLE": "1"}, {"MEMPROF_AGENT": ""}):
            done = self.says(code, **how)
            self.assertEqual((done.stdout, done.stderr), ("0\n", ""), how)
        for option in ("-I", "-E", "-S"):
            done = self.run_python("import sys; print('_memprof' in sys.modules)", option)
            self.assertEqual((done.stdout, done.stderr), ("False\n", ""), option)

    def test_a_module_of_the_same_name_stays_the_users(self):
        self.write("torch/__init__.py", "")
        self.write("memprof.py", "mine = 7\n")
        self.assertEqual(self.says("import torch, memprof; print(memprof.mine)").stdout, "7\n")

    def test_children_have_it_too(self):
        self.write("torch/__init__.py", "")
        done = self.says("import subprocess, sys\n"
                         "subprocess.run([sys.executable, '-c', 'import torch'], check=True)")
        self.assertEqual(done.stderr.count(SAID), 1)

    def test_memprof_run_sets_it_up(self):
        self.write("torch/__init__.py", "")
        environment = dict(os.environ, PYTHONPATH=self.folder)
        for words, times in (((), 0), (("--torch",), 1)):
            done = subprocess.run([MEMPROF, "run", *words, "-o", os.path.join(self.folder, "x.mprof"), "--",
                                   sys.executable, "-c", "import torch"], env=environment,
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stderr.count(SAID), times, done.stderr)


if __name__ == "__main__":
    unittest.main()
