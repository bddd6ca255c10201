#!/usr/bin/env python3
"""The agent records the blocks of vLLM's and SGLang's KV caches, with packages of their names in place of theirs
(serving_guest.py), and does not disturb the program.

usage: serving_test.py BUILD
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

BUILD = os.path.abspath(sys.argv.pop(1))
HERE = os.path.dirname(os.path.abspath(__file__))
MEMPROF = os.path.join(BUILD, "bin", "memprof")


class Serving(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        self.log = os.path.join(self.folder, "serve.mprof")

    def serve(self, *program, expect=True, **environment):
        own = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment}
        done = subprocess.run([MEMPROF, "run", "--torch", "-o", self.log, "--", sys.executable, *program],
                              env=own, capture_output=True, text=True, check=False, cwd=self.folder)
        if expect:
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("the agent failed", done.stderr)
        return done

    def guest(self, engine, **how):
        done = self.serve(os.path.join(HERE, "serving_guest.py"), self.folder, engine, **how)
        self.assertIn("served", done.stdout)
        return done

    def with_block_pool(self, text):
        """A program that has vLLM's class."""
        program = os.path.join(self.folder, "program.py")
        with open(program, "w", encoding="utf-8") as file:
            file.write(f"import sys; sys.path.insert(0, {HERE!r}); import serving_guest\n"
                       f"serving_guest.write({self.folder!r}); sys.path.insert(0, {self.folder!r}); import torch\n"
                       "from vllm.v1.core.block_pool import BlockPool\n" + text)
        return program

    def uses(self):
        """(name, bytes, blocks, in use, slots of a block, slots in use) of each event."""
        done = subprocess.run([MEMPROF, "dump", "--json", self.log], capture_output=True, text=True, check=True)
        found = []
        for line in done.stdout.splitlines():
            event = json.loads(line)
            if event.get("op") == "pool_usage":
                blocks, slots = event["aux0"], event.get("aux1", 0)
                found.append((event["name"], event["bytes"], blocks >> 32, blocks & 0xffffffff, slots >> 32,
                              slots & 0xffffffff))
        return found

    def test_vllms_block_pool(self):
        done = self.guest("vllm")
        self.assertIn("the program's own error: no blocks", done.stdout)
        name = "vLLM KV cache\ngpu_memory_utilization=0.9"
        self.assertEqual(self.uses(), [(name, 101000, 101, *use) for use in (
            (0, 16, 0), (10, 16, 0), (10, 16, 100), (30, 16, 100), (20, 16, 100), (22, 16, 100))])

    def test_sglangs_allocator(self):
        self.guest("sglang")
        name = "SGLang KV cache\nmem_fraction_static=0.88"
        # 100 of 500; then 90, of which no request uses 60.
        self.assertEqual(self.uses(), [(name, 50000, 500, *use) for use in ((0, 1, 0), (100, 1, 0), (30, 1, 0))])

    def test_a_paused_recording_stays_paused(self):
        self.guest("vllm", MEMPROF_START="paused")
        self.assertFalse(os.path.exists(self.log))

    def test_an_engine_of_ones_own(self):
        program = os.path.join(self.folder, "engine.py")
        with open(program, "w", encoding="utf-8") as file:
            file.write(f"import sys; sys.path.insert(0, {os.path.join(BUILD, 'lib', 'memprof', 'python')!r})\n"
                       "import memprof; memprof.start()\n"
                       "memprof.pool_usage('mine', 8, 3, bytes=80, block_slots=4, used_slots=9, settings={'x': 0.5})\n")
        self.serve(program)
        self.assertEqual(self.uses(), [("mine\nx=0.5", 80, 8, 3, 4, 9)])

    def test_each_pool_has_a_name_of_its_own(self):
        self.serve(self.with_block_pool("for pool in [BlockPool(10), BlockPool(20)]:\n"
                                        "    pool.get_new_blocks(3)\n"))
        self.assertEqual([(use[0].split("\n")[0], use[2], use[3]) for use in self.uses() if use[3]],
                         [("vLLM KV cache", 10, 3), ("vLLM KV cache 2", 20, 3)])

    def test_whatever_the_pool_becomes_the_program_goes_on(self):
        program = self.with_block_pool(
            "pool = BlockPool(10)\n"
            "del pool.num_gpu_blocks\n"
            "assert pool.get_new_blocks(3) == [1, 2, 3]\n"
            "assert BlockPool.touch.__name__ == 'touch'\n"
            "print('done')\n")
        done = subprocess.run([MEMPROF, "run", "--torch", "-o", self.log, "--", sys.executable, program],
                              env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}, capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout.strip().splitlines()[-1], "done", done.stderr)
        self.assertIn("the agent failed in a pool of blocks (AttributeError", done.stderr)


if __name__ == "__main__":
    unittest.main()
