"""Shared by the acceptance checks: paths of the programs, running them, and shapes of JSON."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path


def fail(message):
    sys.exit(f"{Path(sys.argv[0]).name}: {message}")


def expect(condition, message):
    if not condition:
        fail(message)


class Programs:
    """The built programs and libraries, at the paths of DESIGN's contract."""

    def __init__(self, build):
        self.build = Path(build)
        self.memprof = str(self.build / "bin/memprof")
        self.viewer = str(self.build / "bin/memprof-viewer")
        self.trainer = str(self.build / "bin/demo_trainer")
        self.recorder = str(self.build / "lib/libmemprof.so")
        self.standin = str(self.build / "simcuda")

    def run(self, *arguments, environment=None, directory=None):
        """Runs a program; its status is 128 + N if signal N ended it."""
        done = subprocess.run([str(word) for word in arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, env={**os.environ, **(environment or {})}, cwd=directory)
        if done.returncode < 0:
            done.returncode = 128 - done.returncode
        return done

    def json(self, verb, log, *options):
        done = self.run(self.memprof, verb, "--json", *options, log)
        expect(done.returncode == 0, f"{verb} --json ended with {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)

    def events(self, log, *options):
        done = self.run(self.memprof, "dump", "--json", *options, log)
        expect(done.returncode == 0, f"dump --json ended with {done.returncode}: {done.stderr}")
        return [json.loads(line) for line in done.stdout.splitlines()]


def one_line(text):
    return text.endswith("\n") and text.count("\n") == 1


ADDRESS = re.compile("0x[0-9a-f]+")
NUMBER = (int, float)


class Any:
    """One of several values."""

    def __init__(self, *values):
        self.values = values


def expect_shape(value, shape, where):
    """`shape` is a type, a pattern for a string, Any(...), a list of one shape, or a dictionary of required keys;
    additional keys are allowed."""
    if isinstance(shape, dict):
        expect(isinstance(value, dict), f"{where} is no object: {value!r}")
        for key, inner in shape.items():
            expect(key in value, f"{where} has no {key}")
            expect_shape(value[key], inner, f"{where}.{key}")
    elif isinstance(shape, list):
        expect(isinstance(value, list), f"{where} is no array: {value!r}")
        for i, element in enumerate(value):
            expect_shape(element, shape[0], f"{where}[{i}]")
    elif isinstance(shape, Any):
        expect(value in shape.values, f"{where} is {value!r}")
    elif isinstance(shape, re.Pattern):
        expect(isinstance(value, str) and shape.fullmatch(value), f"{where} is {value!r}")
    else:
        # In Python, True is an int; in JSON it is not a number.
        expect(isinstance(value, shape) and (shape is bool or not isinstance(value, bool)),
               f"{where} is {value!r}, not {shape}")
