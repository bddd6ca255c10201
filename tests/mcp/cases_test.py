"""The cases of benchmarks/mcp_cases: each has one known line, and the judge tells lines apart.

usage: cases_test.py SOURCE_DIR
"""
import pathlib
import sys
import types
import unittest

SOURCE = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(SOURCE / "benchmarks/mcp_cases"))

import cases  # noqa: E402

TABLE = """kind bytes/step memory function file what
history 1 device RememberHistory leaks/history.cc a
pinned 1 host StagePinned leaks/pinned.cc b"""


class Cases(unittest.TestCase):
    def test_there_are_fifty_with_a_line_each(self):
        every = [*cases.made(), *cases.held()]
        self.assertGreaterEqual(len(every) + 8, 50)
        self.assertEqual(len({case.name for case in every}), len(every))
        for case in every:
            self.assertIn(len(case.lines), (1, 2))
            self.assertIn("--sim", case.options[0])
            compile(case.program.read_text(), case.name, "exec")

    def test_the_function_of_a_seeded_leak(self):
        history, pinned = cases.seeded(TABLE)
        lines = (cases.DEMO / "leaks/history.cc").read_text().splitlines()
        self.assertIn("RememberHistory", lines[history.lines[0] - 1])
        self.assertEqual(lines[history.lines[-1] - 1], "}")
        self.assertEqual((history.file, pinned.file), ("history.cc", "pinned.cc"))
        with self.assertRaises(ValueError):
            list(cases.seeded("head\nx 1 device NoSuchFunction leaks/history.cc a"))

    def test_the_place_of_a_line(self):
        for name in ("mcp", "mcp.client", "mcp.client.stdio"):  # the judge needs no SDK
            sys.modules[name] = types.SimpleNamespace(ClientSession=None, StdioServerParameters=None, stdio_client=None)
        import find

        case = next(cases.made())
        right = {"file": f"/anywhere/{case.file}", "line": case.lines[0]}
        other, elsewhere = {**right, "line": right["line"] + 1}, {**right, "file": "/anywhere/other.py"}
        self.assertEqual(find.place(case, [right, other]), 1)
        self.assertEqual(find.place(case, [other, elsewhere, right]), 3)
        self.assertEqual(find.place(case, [other, other, other, right]), 0)
        self.assertEqual(find.place(case, [elsewhere]), 0)
        self.assertEqual(find.place(case, []), 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
