#!/usr/bin/env python3
"""memprof top on programs that run: their figures while they grow, their end, and the terminal.

usage: top_test.py BUILD
"""

import codecs
import errno
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

BUILD = os.path.abspath(sys.argv[1])
MEMPROF, TRAINER = (os.path.join(BUILD, "bin", name) for name in ("memprof", "demo_trainer"))
TINY = ["--layers", "1", "--dim", "16", "--heads", "2", "--context", "8", "--batch", "4", "--quiet"]


def environment():
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith("MEMPROF_") and name not in ("NO_COLOR", "FORCE_COLOR")}
    return dict(kept, TERM="xterm")


def top(*arguments):
    return subprocess.run([MEMPROF, "top", *arguments], env=environment(), capture_output=True, text=True,
                          check=False, timeout=60)


def eventually(check, seconds=60):
    """The first result that is true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        result = check()
        if result:
            return result
        time.sleep(0.2)
    raise AssertionError("did not happen")


class Terminal:
    """A terminal with `memprof top` in it, that understands what it writes."""

    def __init__(self, *arguments, columns=80, lines=24):
        self.master, self.end = pty.openpty()
        self.resize(columns, lines)
        self.before = termios.tcgetattr(self.end)
        self.alternate, self.cursor, self.rest = False, True, ""
        self.decoder = codecs.getincrementaldecoder("utf-8")()
        self.process = subprocess.Popen([MEMPROF, "top", *arguments], env=environment(), stdin=self.end,
                                        stdout=self.end, stderr=self.end, start_new_session=True)

    def resize(self, columns, lines):
        self.columns, self.lines, self.fits = columns, lines, True
        fcntl.ioctl(self.end, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.rows, self.row, self.column = [""] * lines, 0, 0

    def read(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if not select.select([self.master], [], [], 0.05)[0]:
                continue
            try:
                data = os.read(self.master, 65536)
            except OSError as error:
                assert error.errno == errno.EIO
                return
            text = self.rest + self.decoder.decode(data)
            whole = len(text) - len(re.search(r"(\033(\[[?0-9;]*)?)?$", text).group())
            self.rest = text[whole:]  # of a sequence that is still to come
            self.interpret(text[:whole])

    def interpret(self, text):
        for part in re.findall(r"\033\[[?0-9;]*[A-Za-z]|\r|\n|[^\033\r\n]+", text):
            if part in ("\033[?1049h", "\033[?1049l"):
                self.alternate = part.endswith("h")
            elif part in ("\033[?25h", "\033[?25l"):
                self.cursor = part.endswith("h")
            elif part == "\033[H":
                self.row, self.column, self.fits = 0, 0, True
            elif not self.fits:
                continue  # a page that was made before the size changed: a terminal would break it anyhow
            elif part == "\033[2K":
                self.rows[self.row] = ""
            elif part == "\033[K":
                self.rows[self.row] = self.rows[self.row][:self.column]
            elif part in ("\033[J", "\033[2J"):
                first = self.row if part == "\033[J" else 0
                self.rows[first:] = [""] * (self.lines - first)
            elif part == "\r":
                self.column = 0
            elif part == "\n":
                self.row += 1
                self.fits = self.fits and self.row < self.lines
            elif not part.startswith("\033"):
                row = self.rows[self.row].ljust(self.column)
                self.rows[self.row] = row[:self.column] + part + row[self.column + len(part):]
                self.column += len(part)
                self.fits = self.column <= self.columns

    def page(self):
        return "\n".join(self.rows)

    def wait_for(self, text, seconds=30):
        def look():
            self.read(0.1)
            return self.fits and text in self.page()
        try:
            eventually(look, seconds)
        except AssertionError as error:
            raise AssertionError("%r is not in:\n%s" % (text, self.page())) from error

    def press(self, keys):
        os.write(self.master, keys)

    def is_restored(self):
        return termios.tcgetattr(self.end) == self.before and not self.alternate and self.cursor

    def status(self):
        self.process.wait(timeout=30)
        self.read(0.3)
        return self.process.returncode

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.end)


class Top(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.programs, self.terminals = [], []

    def tearDown(self):
        for terminal in self.terminals:
            terminal.close()
        for program in self.programs:
            for pid in self.demos(program):
                os.kill(pid, signal.SIGKILL)
            program.wait(timeout=60)
        shutil.rmtree(self.folder)

    def start(self, *more, log="demo.mprof"):
        program = subprocess.Popen(
            [MEMPROF, "run", "--sim", "-o", os.path.join(self.folder, log), "--", TRAINER, *TINY, "--steps", "1000000",
             "--leak", "history", *more], env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.programs.append(program)
        return program

    def demos(self, program):
        """The processes below `memprof run`."""
        try:
            with open("/proc/%d/task/%d/children" % (program.pid, program.pid), encoding="ascii") as file:
                return [int(pid) for pid in file.read().split()]
        except OSError:
            return []

    def terminal(self, *arguments, **size):
        self.terminals.append(Terminal(*arguments, **size))
        return self.terminals[-1]

    def figures(self, name):
        done = top("--json", str(name))
        return json.loads(done.stdout)["processes"] if done.returncode == 0 else []

    def growing(self, name):
        """Its only process, once growth is known."""
        def look():
            found = self.figures(name)
            return found[0] if found and found[0]["leaks"] else None
        return eventually(look)

    def test_sees_a_leak_grow_while_the_program_runs(self):
        program = self.start()
        first = self.growing(program.pid)
        self.assertEqual(first["state"], "running")
        self.assertTrue(first["simulated"])
        self.assertEqual([first["pid"]], self.demos(program))
        device = first["devices"][0]
        self.assertGreater(device["growth_bytes"], 0)
        self.assertIn(device["growth_tier"], ("suspected", "definite", "growing"))
        self.assertGreater(device["headroom_bytes"], 0)
        left = device["headroom_bytes"] / device["growth_bytes"]
        if device["steps_to_oom"] is None:  # not told so far ahead
            self.assertGreater(left, 1000 * 5)
        else:
            self.assertAlmostEqual(device["steps_to_oom"], left, delta=1)
        self.assertIn("history", first["leaks"][0]["site"])

        def later():
            found = self.figures(first["pid"])
            return found[0] if found and found[0]["step"] >= first["step"] + 50 else None
        second = eventually(later)
        grown = second["devices"][0]["peak_bytes"] - device["peak_bytes"]
        self.assertGreater(grown, 0)
        self.assertGreater(second["elapsed_ns"], first["elapsed_ns"])

        os.kill(first["pid"], signal.SIGKILL)
        program.wait(timeout=60)
        self.assertEqual(self.figures(os.path.join(self.folder, "demo.mprof"))[0]["state"], "killed")
        gone = top("--once", str(first["pid"]))
        self.assertEqual((gone.returncode, gone.stdout), (1, ""))
        self.assertIn("there is no process", gone.stderr)

    def test_ranks_side_by_side(self):
        for rank in ("0", "1"):
            self.start(log="rank%s.mprof" % rank)
        eventually(lambda: len(self.figures(self.folder)) == 2)
        done = top("--once", "--sort", "growth", self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("memprof top  2 processes, 2 running", done.stdout)
        self.assertEqual(len(re.findall(r"^[> ] pid \d+ ", done.stdout, re.M)), 2, done.stdout)

    def test_of_a_process_without_a_recorder(self):
        done = top("--once", str(os.getpid()))
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("is not recorded: 'memprof attach", done.stderr)

    def test_leaves_out_what_cannot_be_read(self):
        program = self.start()
        self.growing(program.pid)
        whole = os.path.join(self.folder, "demo.mprof")
        with open(whole, "rb") as file:
            data = file.read()
        other = os.path.join(self.folder, "other")
        os.mkdir(other)
        for name, content in (("cut.mprof", data[:len(data) - 7]), ("empty.mprof", b""), ("foreign.mprof", b"x" * 99)):
            with open(os.path.join(other, name), "wb") as file:
                file.write(content)
        done = top("--json", other)
        self.assertEqual(done.returncode, 0)
        found = json.loads(done.stdout)
        self.assertEqual([os.path.basename(one["log"]) for one in found["processes"]], ["cut.mprof"])
        self.assertEqual(len(found["errors"]), 2)
        self.assertEqual(done.stderr.count("; left out\n"), 2)
        os.mkdir(os.path.join(self.folder, "none"))
        for name in ("none", "missing", "other/empty.mprof"):
            done = top("--once", os.path.join(self.folder, name))
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1), done.stderr)

    def test_a_page_in_a_terminal(self):
        program = self.start()
        self.growing(program.pid)
        terminal = self.terminal(str(program.pid), "--interval", "0.5")
        terminal.wait_for("What grows")
        self.assertTrue(terminal.alternate)
        self.assertFalse(terminal.cursor)
        self.assertFalse(termios.tcgetattr(terminal.end)[3] & (termios.ECHO | termios.ICANON))
        self.assertIn("s sort: rank", terminal.rows[-1])
        terminal.press(b"s")
        terminal.wait_for("s sort: used")
        steps = [int(step) for step in re.findall(r"^> pid \d+ +\d+ +(\d+)", terminal.page(), re.M)]

        def advanced():
            terminal.read(0.2)
            now = re.findall(r"^> pid \d+ +\d+ +(\d+)", terminal.page(), re.M)
            return now and int(now[0]) > steps[0]
        eventually(advanced)
        terminal.resize(120, 40)
        terminal.wait_for("s sort: used")
        self.assertIn("q quit", terminal.rows[39])
        terminal.resize(30, 5)
        terminal.wait_for("q quit")
        for pid in self.demos(program):
            os.kill(pid, signal.SIGKILL)
        program.wait(timeout=60)
        terminal.resize(80, 24)
        terminal.wait_for("killed or crashed after")
        self.assertIsNone(terminal.process.poll())
        terminal.press(b"q")
        self.assertEqual(terminal.status(), 0)
        self.assertTrue(terminal.is_restored())

    def test_the_arrows_choose_a_rank(self):
        for rank in ("0", "1"):
            self.start(log="rank%s.mprof" % rank)
        eventually(lambda: len(self.figures(self.folder)) == 2)
        terminal = self.terminal(self.folder)
        terminal.wait_for("> pid")
        pids = re.findall(r"pid (\d+) ", "\n".join(terminal.rows[2:4]))
        for keys, chosen in ((b"\033[B", 1), (b"\033OA", 0), (b"n", 1), (b"\033[B", 1), (b"p", 0)):
            terminal.press(keys)
            terminal.wait_for("> pid %s" % pids[chosen])
            terminal.wait_for("pid %s on " % pids[chosen])
        terminal.press(b"\x03")
        self.assertEqual(terminal.status(), 0)
        self.assertTrue(terminal.is_restored())

    def test_signals_restore_the_terminal(self):
        program = self.start()
        self.growing(program.pid)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGSEGV, signal.SIGABRT):
            terminal = self.terminal(str(program.pid))
            terminal.wait_for("> pid")
            terminal.process.send_signal(number)
            self.assertEqual(terminal.status(), -number)
            self.assertTrue(terminal.is_restored(), number)

    def test_stops_and_goes_on(self):
        program = self.start()
        self.growing(program.pid)
        terminal = self.terminal(str(program.pid))
        terminal.wait_for("> pid")
        terminal.process.send_signal(signal.SIGTSTP)
        eventually(lambda: os.waitid(os.P_PID, terminal.process.pid, os.WSTOPPED | os.WNOHANG))
        terminal.read(0.3)
        self.assertTrue(terminal.is_restored())
        terminal.rows = [""] * terminal.lines
        terminal.process.send_signal(signal.SIGCONT)
        terminal.wait_for("> pid")
        self.assertTrue(terminal.alternate)
        terminal.press(b"q")
        self.assertEqual(terminal.status(), 0)
        self.assertTrue(terminal.is_restored())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
