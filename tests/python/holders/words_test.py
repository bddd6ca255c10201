"""Every kind of variable is named as a user would name it, and no code of the program runs.

usage: words_test.py BUILD
"""

import os
import re
import sys
import unittest

BUILD = os.path.abspath(sys.argv.pop(1))
sys.path.insert(0, os.path.join(BUILD, "lib", "memprof", "python"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import guest  # noqa: E402
from memprof._holders import look as looks  # noqa: E402
from memprof._holders.paths import Namer  # noqa: E402
from memprof._holders.source import Sources  # noqa: E402


def lines():
    """[(expected, told)] of every target."""
    library = looks.Library(os.path.join(BUILD, "lib", "memprof", "libmemprof_holders.so"))
    found = []

    def take():
        look = looks.take(library, guest.Target)
        namer = Namer(look, library, Sources())
        for place, _ in look.targets:
            line, root, chain, _ = namer.describe(look.path(place))
            assert namer.lost == 0
            found.append((look.objects[place].expected, re.sub(r":\d+", ":N", line), re.sub(r":\d+", ":N", root), chain))
    guest.main(take)
    return found


class Words(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.found = lines()

    def test_each_variable_by_its_name(self):
        for expected, told, _, _ in self.found:
            if expected != "garbage":
                with self.subTest(expected):
                    self.assertEqual(told, expected)
        self.assertGreater(len(self.found), 90)

    def test_roots_alone(self):
        roots = {expected: root for expected, _, root, _ in self.found}
        self.assertEqual(roots["`plain` (global `plain`, guest.py:N)"], "global `plain`, guest.py:N")

    def test_what_lies_between_root_and_target(self):
        chains = {told.split(" (")[0]: chain for _, told, _, chain in self.found}
        self.assertEqual(chains["`plain`"], ["Target `plain`"])
        self.assertEqual(chains["list `metrics.predictions` of `Metrics`, assigned at guest.py:N"],
                         ["Metrics `metrics`", "list `metrics.predictions`", "Target `metrics.predictions[…]`"])
        self.assertEqual(chains["`kept`, variable of the closure make.hook(), held by `callbacks[0]`"],
                         ["list `callbacks`", "function `callbacks[0]`",
                          "Target `kept`, variable of the closure make.hook()"])

    def test_garbage_is_told_with_its_cycle(self):
        told = [told for expected, told, _, _ in self.found if expected == "garbage"]
        self.assertEqual(len(told), 1)
        self.assertRegex(told[0], r"^`.*\.data`.*, in a cycle that waits for the collector: `Parent.*` is this Parent .Parent → Parent → Parent.$")


class Changed(unittest.TestCase):
    def test_a_path_that_changed_meanwhile_is_no_failure(self):
        library = looks.Library(os.path.join(BUILD, "lib", "memprof", "libmemprof_holders.so"))
        world = {"here": lambda kept=guest.Target("changed"): kept}
        look = looks.take(library, guest.Target)
        namer = Namer(look, library, Sources())
        world["here"].__defaults__ = None
        place, = [place for place, _ in look.targets if look.objects[place].expected == "changed"]
        way = namer.describe(look.path(place))
        self.assertIn("function", way.line)
        namer._begin = lambda *_: 1 / 0
        self.assertIn("by a path that changed", namer.describe(look.path(place)).line)
        self.assertEqual(namer.lost, 1)


class Lines(unittest.TestCase):
    def test_the_first_assignment_counts(self):
        import tempfile
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write("def f():\n    a = 1\n    global b\n    b = 2\na = 3\na = 4\nclass C:\n    def __init__(self):\n"
                       "        self.x = 1\nfor i in (): pass\nwith open('') as c: d = 1\n")
            file.flush()
            sources = Sources()
            found = {name: sources.of_global(file.name, name) for name in "abcdfiCx"}
            self.assertEqual(found, {"a": 5, "b": 4, "c": 11, "d": 11, "f": 1, "i": 10, "C": 7, "x": 0})
            self.assertEqual(sources.of_attribute(file.name, "C", "x"), 9)

    def test_without_a_source_there_is_no_line(self):
        self.assertEqual(Sources().of_global("/nowhere.py", "a"), 0)
        self.assertEqual(Sources().of_global(None, "a"), 0)


if __name__ == "__main__":
    unittest.main()
