"""Faults that check_layers.py finds: small trees with one fault each."""
import os
import tempfile
import unittest

import check_layers
from check_layers import Module

MODULES = {"a/low": Module("a/low"), "a/high": Module("a/high", depends=["a/low"])}
SOUND = {
    "a/low/low.h": "",
    "a/low/internal/part.h": "",
    "a/low/low.cc": '#include "a/low/low.h"\n#include "a/low/internal/part.h"\n#include "proto/x.h"\n#include "made.pb.h"\n',
    "proto/x.h": "",
    "a/high/high.cc": "#include <vector>\n#include \"a/low/low.h\"\n",
    "cli/verb.cc": '#include "a/low/low.h"\n',
    "tests/a/low/part_test.cc": '#include "a/low/internal/part.h"\n',
    "build/old.cc": '#include "a/low/internal/part.h"\n',
}


class IncludesTest(unittest.TestCase):
    def check(self, files=None, modules=None):
        with tempfile.TemporaryDirectory() as root:
            for path, text in {**SOUND, **(files or {})}.items():
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            return check_layers.check_includes(root, modules or MODULES)

    def test_what_is_named_is_sound(self):
        self.assertEqual(self.check(), [])

    def test_an_include_upwards(self):
        found = self.check({"a/high/high.h": "", "a/low/low.h": '  # include "a/high/high.h"\n'})
        self.assertEqual(found, ["a/low/low.h: includes a/high/high.h, but a/low does not name a/high"])

    def test_an_internal_header_outside(self):
        for path in ("a/high/other.cc", "cli/verb.cc", "tests/a/high/high_test.cc"):
            found = self.check({path: '#include "a/low/internal/part.h"\n'})
            self.assertEqual(found, [path + ": includes a/low/internal/part.h, which is internal to a/low"])

    def test_tests_of_a_folder_within_src(self):
        modules = {**MODULES, "lib/src/x": Module("lib/src/x")}
        files = {"lib/src/x/internal/part.h": "", "tests/lib/x/part_test.cc": '#include "lib/src/x/internal/part.h"\n'}
        self.assertEqual(self.check(files, modules), [])

    def test_a_target_that_was_given_a_name(self):
        modules = check_layers.read_modules("a/low;lib/other_name.a;\na/high;lib/high.a;a/low\n")
        self.assertEqual(self.check(modules=modules), [])
        modules["a/high"].depends = []
        self.assertEqual(self.check(modules=modules), ["a/high/high.cc: includes a/low/low.h, but a/high does not name a/low"])
        modules = {**MODULES, **check_layers.read_modules("a/other;lib/other.a;\n")}
        self.assertEqual(self.check({"a/other/x.cc": '#include "a/low/low.h"\n'}, modules),
                         ["a/other/x.cc: includes a/low/low.h, but a/other does not name a/low"])

    def test_what_lies_above_all_modules(self):
        found = self.check({"cli/verb.h": "", "a/high/high.cc": '#include "a/low/low.h"\n#include "cli/verb.h"\n'})
        self.assertEqual(found, ["a/high/high.cc: includes cli/verb.h, which is above all modules"])

    def test_a_name_without_use(self):
        self.assertEqual(self.check({"a/high/high.cc": ""}),
                         ["a/high: names a/low, but includes nothing of it"])


class OthersTest(unittest.TestCase):
    def test_modules_that_need_each_other(self):
        modules = {"a": Module("a", depends=["b"]), "b": Module("b", depends=["c"]), "c": Module("c", depends=["b"])}
        self.assertEqual(check_layers.check_cycles(modules), ["modules need each other: b > c > b"])
        self.assertEqual(check_layers.check_cycles(MODULES), [])

    def test_a_call_upwards_without_an_include(self):
        symbols = {"a/low": ({"Low"}, {"High", "malloc"}), "a/high": ({"High"}, {"Low"})}
        self.assertEqual(check_layers.check_links(MODULES, symbols), ["a/low: calls up to a/high, for High"])

    def test_a_call_of_what_one_below_names(self):
        modules = {**MODULES, "a/top": Module("a/top", depends=["a/high"])}
        symbols = {"a/low": ({"Low"}, set()), "a/high": (set(), set()), "a/top": (set(), {"Low"})}
        self.assertEqual(check_layers.check_links(modules, symbols), [])

    def test_reads_what_the_build_wrote(self):
        modules = check_layers.read_modules("a/none;;\na/low;one.o,two.o;\na/high;lib/high.a;a/low,b\n")
        self.assertEqual((modules["a/none"].files, modules["a/none"].depends), ((), ()))
        self.assertEqual(modules["a/low"].files, ("one.o", "two.o"))
        self.assertEqual((modules["a/high"].files, modules["a/high"].depends), (("lib/high.a",), ("a/low", "b")))


if __name__ == "__main__":
    unittest.main()
