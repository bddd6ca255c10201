"""Reading from processes that change, end, hang or are none of Python.

usage: hostile_test.py BUILD SOURCE"""
import json
import os
import signal
import subprocess
import sys
import time
import unittest

from guests import BUILD, Guest, reach

MARKER = "Marker"


def numbers(lines):
    return [tuple(map(int, line.split()[1:])) for line in lines if line.startswith("read ")]


class HostileTest(unittest.TestCase):
    def test_a_process_that_changes_all_the_time(self):
        with Guest("mutating_guest.py") as guest:
            read = numbers(reach(guest.pid, MARKER, "100"))
        self.assertEqual(len(read), 100)
        for objects, markers in read:
            self.assertGreater(objects, 1000)
            self.assertLess(objects, 1000000)
            self.assertGreater(markers, 0)

    def test_a_process_that_is_killed_meanwhile(self):
        for delay in (0.01, 0.03, 0.1, 0.2, 0.4):
            with Guest("large_guest.py", "200000") as guest:
                reading = subprocess.Popen([reach.program, guest.pid, MARKER, "100"], stdout=subprocess.PIPE, text=True)
                time.sleep(delay)
                guest.process.kill()
                guest.process.wait()
                lines = reading.communicate(timeout=100)[0].splitlines()
            self.assertEqual(reading.returncode, 0)
            self.assertEqual(len(lines), 100)
            for line in lines:
                self.assertRegex(line, r"^read 2\d{5} 50000$|^error (there is no process|process) \d+( has ended.*| runs no Python)?$")
            self.assertRegex(lines[-1], "^error")

    def test_a_process_that_is_stopped(self):
        with Guest("large_guest.py", "4000") as guest:
            os.kill(int(guest.pid), signal.SIGSTOP)
            self.assertEqual(numbers(reach(guest.pid, MARKER, "1"))[0][1], 1000)

    def test_a_process_that_hangs_with_the_lock(self):
        with Guest("large_guest.py", "4000", "sleep") as guest:
            self.assertEqual(numbers(reach(guest.pid, MARKER, "1"))[0][1], 1000)

    def test_no_more_objects_than_allowed(self):
        with Guest("large_guest.py", "40000") as guest:
            self.assertEqual(numbers(reach(guest.pid, MARKER, "1", "5000"))[0][0], 5000)

    def test_the_verb_says_how_it_was_asked(self):
        with Guest("large_guest.py", "4000") as guest:
            for stopped, how in ((False, "was not started with 'memprof run --holders'"), (True, "cannot answer")):
                if stopped:
                    os.kill(int(guest.pid), signal.SIGSTOP)
                done = subprocess.run([os.path.join(BUILD, "bin", "memprof"), "holders", "--json", guest.pid],
                                      capture_output=True, text=True, timeout=100, check=True)
                held = json.loads(done.stdout)
                self.assertEqual((held["by"], held["holders"]), ("memory", []))
                self.assertTrue(held["how"].startswith("Read from the memory of process %s, which %s: " % (guest.pid, how)))
                self.assertEqual("stopped" in held["how"], stopped)
                self.assertEqual(any("ran while it was read" in limit for limit in held["limits"]), not stopped)
                self.assertGreater(held["objects"], 4000)

    def test_others_get_one_line(self):
        sleeping = subprocess.Popen(["sleep", "100"])
        for pid, error in ((sleeping.pid, "runs no Python"), (1 << 22, "there is no process")):
            lines = reach(str(pid), MARKER, "1")
            self.assertEqual(len(lines), 1)
            self.assertIn(error, lines[0])
        sleeping.kill()
        sleeping.wait()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
