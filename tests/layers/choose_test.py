"""Tests of tests/choose.py."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import choose  # noqa: E402

PARTS = choose.read_parts("""# A comment.
everything: cmake scripts
always: docs
  scripts/demo
torch: python proto scripts/torch-sim
asan-cli: cli proto
""")


def chosen(*files):
    return sorted(set(choose.choose(PARTS, files)[0]) - {"everything", "always"})


class Choice(unittest.TestCase):
    def test_a_file_chooses_all_parts_that_name_a_folder_of_it(self):
        self.assertEqual(chosen("proto/memprof.proto"), ["asan-cli", "torch"])
        self.assertEqual(chosen("cli/run/run.cc", "python/a.py"), ["asan-cli", "torch"])

    def test_no_change_and_what_always_runs_choose_nothing(self):
        self.assertEqual(chosen(), [])
        self.assertEqual(chosen("docs/x.md", "scripts/demo"), [])

    def test_what_may_break_everything_chooses_all(self):
        self.assertEqual(chosen("cmake/x.cmake", "docs/x.md"), ["asan-cli", "torch"])
        self.assertEqual(chosen("scripts/lib.sh"), ["asan-cli", "torch"])

    def test_the_longest_path_decides(self):
        self.assertEqual(chosen("scripts/torch-sim"), ["torch"])

    def test_a_file_that_no_line_names_chooses_all(self):
        self.assertEqual(chosen("new_folder/x.cc"), ["asan-cli", "torch"])
        self.assertEqual(chosen("clinic/x.cc"), ["asan-cli", "torch"])

    def test_the_release_suite_leaves_out_parts_by_their_labels(self):
        self.assertEqual(choose.labels_left(PARTS, {"asan-cli"}), "^(nothing|optional-torch)$")
        self.assertEqual(choose.labels_left(PARTS, {"torch"}), "^(nothing)$")


if __name__ == "__main__":
    unittest.main()
