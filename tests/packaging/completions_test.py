"""Each shell offers what --help lists.

usage: completions_test.py SHELL SHARE_DIR MEMPROF [VIEWER]; status 77 where the shell is not installed
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import shells

SHELL, SHARE = sys.argv[1:3]
PROGRAMS = sys.argv[3:]
QUESTIONS = pathlib.Path(__file__).parents[2] / "python/memprof/_fleet/questions"
BASH_COMPLETION = "/usr/share/bash-completion/bash_completion"


def offers(lines, program="memprof", more=""):
    if SHELL == "bash":
        return shells.bash(SHARE, lines, program, more)
    return {"zsh": shells.zsh, "fish": shells.fish}[SHELL](SHARE, lines)


def whole(words, option):
    """fish's offers have the option before a value, zsh's what precedes a second "=", bash's neither."""
    return {word.removeprefix(f"{option}=").removeprefix("gpu=").removesuffix("/").removesuffix("=") for word in words}


def help_of(*command):
    return subprocess.run([*command, "--help"], capture_output=True, text=True, check=True).stdout


def options_of(text):
    return set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, re.MULTILINE))


class Completions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        pathlib.Path("one.mprof").touch()
        pathlib.Path("notes.txt").touch()
        os.mkdir("logs")
        os.mkdir("bin")
        guest = pathlib.Path("bin/guest")
        guest.touch()
        guest.chmod(0o755)
        before = os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", before)
        os.environ["PATH"] = f"{folder.name}/bin:{os.path.dirname(PROGRAMS[0])}:{before}"

    def test_every_verb_and_every_option(self):
        verbs = re.findall(r"^  (\w+)  ", help_of(PROGRAMS[0]), re.MULTILINE)
        found = offers(["memprof ", "memprof help "] + [f"memprof {verb} --" for verb in verbs])
        self.assertLessEqual({*verbs, "help"}, found["memprof "])
        self.assertEqual(found["memprof help "] - {"help", "version"}, set(verbs))
        for verb in verbs:
            self.assertEqual(whole(found[f"memprof {verb} --"], ""), options_of(help_of(PROGRAMS[0], verb)), verb)

    def test_values(self):
        formats = {"csv", "pytorch", "sqlite", "html", "pprof", "perfetto"}
        a10s = {"A100-40GB", "A100-80GB", "A10"}
        found = offers(["memprof export --to=", "memprof export --to p", "memprof run --sim=gpu=A1",
                        "memprof replay --with=rmm_p", "memprof report --top "])
        self.assertEqual(whole(found["memprof export --to="], "--to"), formats)
        self.assertEqual(found["memprof export --to p"], {"pytorch", "pprof", "perfetto"})
        self.assertEqual(whole(found["memprof run --sim=gpu=A1"], "--sim"), a10s)
        self.assertEqual(whole(found["memprof replay --with=rmm_p"], "--with"), {"rmm_pool"})
        self.assertEqual(found["memprof report --top "], set())

    def test_arguments_are_logs_and_folders(self):
        lines = ["memprof report ", "memprof leaks --top 3 --json ", "memprof run -o ", "memprof diff one.mprof "]
        for line, words in offers(lines).items():
            if SHELL == "fish" and line == "memprof run -o ":  # any file
                words -= {"notes.txt", "bin/"}
            self.assertEqual(whole(words, "") - {"bin"}, {"one.mprof", "logs"}, line)

    def test_forms_of_fleet_and_questions(self):
        questions = {path.stem for path in QUESTIONS.glob("*.sql")}
        forms = {"map", "compact", "ask", "report", "grid", "rows"}
        self.assertGreater(len(questions), 10)
        found = offers(["memprof fleet ", "memprof fleet r", "memprof fleet ask ", "memprof fleet ask ou",
                        "memprof fleet map ", "memprof fleet ask ooms "])
        logs = {"one.mprof", "logs"}
        for line, words in zip(found, [forms, {"report", "rows"}, questions, {"outliers"}, logs, logs]):
            self.assertEqual(whole(found[line], "") - {"bin"}, words, line)

    def test_the_program_of_a_run_completes_itself(self):
        lines = ["memprof run --torch -o x.mprof -- guest a", "memprof run --source driver guest a",
                 "memprof run --sim=gpu=T4 gues", "memprof run guest --"]
        for more in ["", BASH_COMPLETION] if SHELL == "bash" and os.path.exists(BASH_COMPLETION) else [""]:
            found = offers(lines, more=more)
            if SHELL != "bash" or more:  # without bash-completion, bash completes names of programs alone
                self.assertEqual([found[line] for line in lines[:2]], [{"alpha"}, {"alpha"}])
            self.assertEqual(found[lines[2]], {"guest"})
            self.assertEqual(found[lines[3]], set())

    @unittest.skipUnless(PROGRAMS[1:], "no viewer")
    def test_the_viewer(self):
        lines = ["memprof-viewer --", "memprof-viewer --theme=", "memprof-viewer ", "memprof-viewer --diff "]
        found = offers(lines, program="memprof-viewer")
        self.assertEqual(whole(found[lines[0]], ""), options_of(help_of(PROGRAMS[1])) | {"--version"})
        self.assertEqual(whole(found[lines[1]], "--theme"), {"system", "light", "dark"})
        self.assertLessEqual({"one.mprof", "logs"}, whole(found[lines[2]], ""))
        self.assertIn("one.mprof", found[lines[3]])

    @unittest.skipUnless(SHELL == "bash", "bash")
    def test_at_bashs_prompt(self):
        keys = "memprof export --to=sq\t-o x\nmemprof run --sim=gpu=A100-4\t-- guest\nmemprof verify one.\t\n"
        self.assertEqual(shells.typed_into_bash(SHARE, keys),
                         ["export --to=sqlite -o x", "run --sim=gpu=A100-40GB -- guest", "verify one.mprof"])


if __name__ == "__main__":
    if not shutil.which(SHELL):
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
