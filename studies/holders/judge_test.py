"""judge.py on made-up output of `memprof leaks --json`, and the heads of all cases."""
import ast
import collections
import pathlib
import re
import tempfile
import unittest

import judge
from judge import Case, largest_survivors, read_case

MIB = 1 << 20
CASE = Case("metrics", pathlib.Path("metrics.py"), "first", ("python",),
            (("predictions", "metrics"), ("predictions", "Accuracy")), 16 * MIB)


def holder(path, root="", kind="python"):
    return {"path": path, "root": root, "kind": kind, "bytes": MIB, "blocks": 1}


def entry(size, *holders):
    return {"bytes": size, "holders": list(holders)}


def code_of(path):
    """The source without comments and its first docstring."""
    return ast.unparse(ast.parse(path.read_text()).body[1:])


def outcome(*holders, case=CASE):
    return judge.judge(case, {"leaks": [entry(16 * MIB, *holders)], "live_at_exit": []}).outcome


class JudgeTest(unittest.TestCase):
    def test_words_in_path_and_root(self):
        self.assertEqual(outcome(holder("list `metrics.predictions`, assigned at a.py:3")), "named")
        self.assertEqual(outcome(holder("list `.predictions`", "global `metrics`, a.py:10")), "named")

    def test_words_must_be_in_one_holder(self):
        self.assertEqual(outcome(holder("list `predictions`"), holder("global `metrics`")), "wrong")

    def test_other_words(self):
        self.assertEqual(outcome(holder("`predictions` of Accuracy")), "named")

    def test_words_are_whole(self):
        self.assertEqual(outcome(holder("`old_predictions` of `metrics`")), "wrong")
        self.assertEqual(outcome(holder("`predictions` of `metrics2`")), "wrong")

    def test_kind_must_be_right(self):
        right = holder("`metrics.predictions`", kind="autograd")
        self.assertEqual(outcome(right), "wrong")
        self.assertEqual(outcome(right, case=CASE._replace(kinds=("python", "autograd"))), "named")

    def test_missing(self):
        self.assertEqual(outcome(), "missing")
        self.assertEqual(judge.judge(CASE, {"leaks": [{"bytes": 16 * MIB}], "live_at_exit": []}).outcome, "missing")
        self.assertEqual(judge.judge(CASE, {}).outcome, "missing")

    def test_place_of_the_holder(self):
        verdict = judge.judge(CASE, {"leaks": [entry(16 * MIB, holder("x"), holder("metrics.predictions"))]})
        self.assertEqual((verdict.rank, verdict.given, verdict.holder["path"]), (2, 2, "metrics.predictions"))

    def test_largest_survivors_of_both_lists(self):
        leaks = {"leaks": [entry(2 * MIB), entry(8 * MIB)], "live_at_exit": [entry(7 * MIB), entry(MIB)]}
        taken, kept = largest_survivors(leaks, 16 * MIB)
        self.assertEqual(([e["bytes"] // MIB for e in taken], kept), ([8, 7], 15 * MIB))

    def test_small_survivors_do_not_count(self):
        leaks = {"leaks": [entry(16 * MIB, holder("x"))], "live_at_exit": [entry(MIB, holder("metrics.predictions"))]}
        self.assertEqual(judge.judge(CASE, leaks).outcome, "wrong")

    def test_the_model_of_the_program_does_not_count(self):
        leaks = {"leaks": [entry(8 * MIB)], "live_at_exit": [entry(MIB // 4, holder("model.weight"))]}
        self.assertEqual(judge.judge(CASE, leaks).outcome, "missing")

    def test_totals(self):
        verdicts = [judge.judge(CASE, {"leaks": [entry(16 * MIB, holder("metrics.predictions"))]}),
                    judge.judge(CASE._replace(kinds=("c++",)), {})]
        rows = [line.split() for line in judge.totals(verdicts)[1:]]
        self.assertEqual(rows, [["first", "python", "1", "1", "0", "0", "0"], ["first", "c++", "1", "0", "0", "1", "0"],
                                ["first", "all", "2", "1", "0", "1", "0"]])

    def test_line_shows_the_holder(self):
        verdict = judge.judge(CASE, {"leaks": [entry(16 * MIB, holder("list `predictions`", "global `metrics`"))]})
        self.assertRegex(judge.line_of(verdict), r"^named .*1/1  \[python\] list `predictions` \| global `metrics`$")


class HeadTest(unittest.TestCase):
    def read(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "some.py"
            path.write_text(text)
            return read_case(path)

    def test_head(self):
        case = self.read("# half: second\n# kind: cycle c++\n# names: a b\n# or: c\n# bytes: 5\nimport torch\n")
        self.assertEqual(case[2:], ("second", ("cycle", "c++"), (("a", "b"), ("c",)), 5))
        self.assertEqual(case.name, "some")

    def test_bad_heads(self):
        for text in ("", "# half: second\n# kind: cycle\n# names: a\n", "# names: a\n# bytes: 1\n# half: first\n",
                     "# half: eighth\n# kind: cycle\n# names: a\n# bytes: 1\n",
                     "# half: first\n# kind: rust\n# names: a\n# bytes: 1\n",
                     "# half: first\n# kind: cycle\n# names: a\n# bytes: many\n"):
            with self.assertRaises(ValueError):
                self.read(text)


class CasesTest(unittest.TestCase):
    def setUp(self):
        self.cases = judge.all_cases()

    def test_names_are_words_of_the_source(self):
        for case in self.cases:
            files = [case.path] if case.path.name != "main.py" else case.path.parent.rglob("*.py")
            source = "\n".join(code_of(file) for file in files)
            for words in case.names:
                for word in words:
                    self.assertRegex(source, rf"(?<!\w){re.escape(word)}(?!\w)", f"{case.name} has no {word}")

    def test_halves_are_alike(self):
        halves = {half: collections.Counter(case.kinds[0] for case in self.cases if case.half == half)
                  for half in judge.HALVES}
        self.assertGreaterEqual(len(self.cases), 48)
        for kind in judge.KINDS:
            self.assertLessEqual(abs(halves["first"][kind] - halves["second"][kind]), 2, kind)
            self.assertGreater(halves["third"][kind], 0, kind)
            self.assertGreater(halves["fourth"][kind], 0, kind)
            self.assertGreater(halves["fifth"][kind], 0, kind)
            self.assertGreater(halves["sixth"][kind], 0, kind)
            self.assertGreater(halves["seventh"][kind], 0, kind)


if __name__ == "__main__":
    unittest.main()
