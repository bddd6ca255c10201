"""Calls memprof's verbs, which only read, and returns their JSON. Bounded in time and in size; the last answers are kept,
because pages of one answer are asked for one after the other."""
import collections
import json
import os
import subprocess
import tempfile
import threading
import time

from .errors import McpError

LARGEST = 64 << 20
KEPT = 16


class Verbs:
    def __init__(self, command, seconds):
        self.command = command
        self.seconds = seconds
        self.kept = collections.OrderedDict()
        self.lock = threading.Lock()

    def ask(self, verb, paths, *options):
        """The object that `memprof VERB --json OPTIONS PATHS` prints."""
        text = self._kept_text(verb, paths, options)
        try:
            return json.loads(text)
        except ValueError:
            raise McpError(f"memprof {verb} did not answer with JSON") from None

    def lines(self, verb, paths, *options):
        """The objects of a verb that prints one a line."""
        for line in self._kept_text(verb, paths, options).splitlines():
            yield json.loads(line)

    def _kept_text(self, verb, paths, options):
        key = (verb, options, tuple(_version(path) for path in paths))
        with self.lock:
            if key in self.kept:
                self.kept.move_to_end(key)
                return self.kept[key]
        text = self._run([self.command, verb, "--json", *options, "--", *paths])
        with self.lock:
            self.kept[key] = text
            while len(self.kept) > KEPT or sum(map(len, self.kept.values())) > LARGEST:
                self.kept.popitem(last=False)
        return text

    def _run(self, words):
        if any("\0" in word for word in words):
            raise McpError("an argument has a NUL character")
        environment = {**os.environ, "NO_COLOR": "1"}
        with tempfile.TemporaryFile() as errors:
            begun = time.monotonic()
            # Standard input is the client's: no child may read it.
            with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
                                  env=environment) as child:
                timer = threading.Timer(self.seconds, child.kill)
                timer.start()
                try:
                    text = child.stdout.read(LARGEST + 1)
                    if len(text) > LARGEST:
                        child.kill()
                        raise McpError(f"the answer of memprof {words[1]} is larger than {LARGEST >> 20} MiB: "
                                       "ask about one log, device or step")
                    child.wait()
                finally:
                    timer.cancel()
            if child.returncode < 0 and time.monotonic() - begun >= self.seconds:
                raise McpError(f"memprof {words[1]} took longer than {self.seconds:g} s: ask about one log, "
                               "or start the server with more --seconds")
            if child.returncode != 0:
                errors.seek(0)
                raise McpError(_reason(errors.read(4096), words[1], child.returncode))
            return text.decode("utf-8", "replace")


def _version(path):
    status = os.stat(path)
    return path, status.st_mtime_ns, status.st_size


def _reason(text, verb, status):
    lines = [line for line in text.decode("utf-8", "replace").splitlines() if line.startswith("memprof")]
    return lines[-1][:400] if lines else f"memprof {verb} ended with status {status}"
