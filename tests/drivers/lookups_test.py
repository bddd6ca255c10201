"""NVIDIA's own libcuda, of each fetched driver, hands out memprof's functions for the names of the table, and its own
for every other name; results are the same as without memprof. Works without a GPU.

    lookups_test.py SOURCE FOLDER LOOKUPS LIBMEMPROF
"""

import os
import pathlib
import subprocess
import sys
import unittest

import functions

SOURCE, FETCHED, LOOKUPS, RECORDER = (pathlib.Path(argument) for argument in sys.argv[1:5])
TABLE = functions.table(SOURCE)


def look_up(driver, preload):
    """{question: (result, library, place in it)}"""
    names = sorted({*TABLE, *(base for base, _, _ in TABLE.values()), *functions.decisions(SOURCE), "cuNoSuchFunction"})
    versions = sorted({since for _, since, _ in TABLE.values()} | {11080, 14000})
    environment = {**os.environ, "LD_LIBRARY_PATH": str(driver), **({"LD_PRELOAD": str(RECORDER)} if preload else {})}
    run = subprocess.run([LOOKUPS, *map(str, versions)], input="\n".join(names), env=environment, capture_output=True,
                         text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    rows = (line.rsplit(" ", 2) for line in run.stdout.splitlines())
    return {question: (result, *where.partition("+")[::2]) for question, result, where in rows}


class Lookups(unittest.TestCase):
    def check(self, driver):
        alone, recorded = look_up(driver, False), look_up(driver, True)
        self.assertEqual(alone.keys(), recorded.keys())
        places = {alone[f"symbol {name}"][2] for name in TABLE} - {""}
        self.assertGreater(len(places), 50)
        bases = {base for base, _, _ in TABLE.values()}
        older = {alone[f"symbol {name}"][2] for name in functions.decisions(SOURCE)}
        answers = 0
        for question, (result, library, place) in alone.items():
            self.assertIn(library, ("libcuda.so.1", "none"), question)
            self.assertEqual(recorded[question][0], result, question)
            if place in places:
                self.assertEqual(recorded[question][1], "libmemprof.so", question)
                answers += question.startswith("answer")
            else:
                self.assertEqual(recorded[question][1:], (library, place), question)
                if question.startswith("answer") and question.split()[2] in bases and place:
                    self.assertIn(place, older, f"{question}: a version that the table lacks")
        if int(driver.name.split(".")[0]) >= 470:  # the first with cuGetProcAddress
            self.assertGreater(answers, 5000)
        print(f"{driver.name}: {len(places)} functions of the table are swapped, in {answers} of {len(alone)} answers")

    def test_drivers(self):
        drivers = sorted(FETCHED.glob("drivers/[0-9]*"))
        drivers = [driver for driver in drivers if (driver / "libcuda.so.1").exists()]
        if not drivers:
            self.skipTest(f"no drivers in {FETCHED}")
        for driver in drivers:
            with self.subTest(driver=driver.name):
                self.check(driver)


if __name__ == "__main__":
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    sys.exit(77 if result.skipped and result.wasSuccessful() else not result.wasSuccessful())
