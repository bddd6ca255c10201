"""That the faults of faults.txt can be planted, and how."""
import subprocess
import unittest

import planted

MADE = """# A comment.

a/b a/b/x.cc: one too many
-  return n;
+  return FAULT ? n + 1 : n;

c c/y.py: nothing is left out
-    if n:
-        return 1
+    if n or FAULT:
+        return 1
"""


class PlantedTest(unittest.TestCase):
    def test_each_fault_fits_its_file(self):
        faults = planted.all_faults()
        self.assertEqual(len({fault.name for fault in faults}), len(faults))
        for fault in faults:
            self.assertTrue(fault.file == fault.name or fault.file.startswith(fault.name + "/"), fault.name)
        files, problems = planted.planted_files(faults)
        self.assertEqual(problems, [], "faults.txt: these texts of studies/faults have changed")
        for file, source in files.items():
            if planted.language(file) == "python":
                compile(source, file, "exec")
            elif planted.language(file) == "shell":
                subprocess.run(["bash", "-n"], input=source, text=True, check=True)

    def test_what_is_planted_is_off_until_it_is_named(self):
        first, second = planted.read(MADE)
        self.assertEqual(first[:3], ("a/b", "a/b/x.cc", "one too many"))
        source = planted.plant([first], "int f(int n) {\n  return n;\n}\n")
        self.assertTrue(source.endswith('#line 1\nint f(int n) {\n  return PLANTED_FAULT("a/b") ? n + 1 : n;\n}\n'))
        made = planted.plant([second], "def f(n):\n    if n:\n        return 1\n    return 0\n")
        self.assertEqual(made.count("\n"), 4)
        names = {}
        exec(made, names)  # pylint: disable=exec-used
        self.assertEqual(names["f"](0), 0)

    def test_a_text_that_is_not_there_or_there_twice_is_wrong(self):
        fault = planted.read(MADE)[0]
        self.assertIsNone(planted.wrong(fault, "  return n;\n"))
        self.assertIn("0 times", planted.wrong(fault, "   return n;\n"))
        self.assertIn("2 times", planted.wrong(fault, "  return n;\n}\n  return n;\n"))


if __name__ == "__main__":
    unittest.main()
