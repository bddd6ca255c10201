"""The man pages have all that --help says, and man formats them without a warning.

usage: man_test.py SOURCE_DIR SHARE_DIR MEMPROF [VIEWER]
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE, SHARE = (pathlib.Path(argument) for argument in sys.argv[1:3])
PROGRAMS = sys.argv[3:]
MAN = SHARE / "man/man1"
sys.path.insert(0, str(SOURCE / "packaging"))
import help as helps  # noqa: E402


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True)


def help_texts():
    """The raw help by the name of its page."""
    memprof = PROGRAMS[0]
    texts = {"memprof": run(memprof, "--help").stdout}
    for verb in re.findall(r"^  (\w+)  ", texts["memprof"], re.MULTILINE):
        texts[f"memprof-{verb}"] = run(memprof, verb, "--help").stdout
    for viewer in PROGRAMS[1:]:
        texts["memprof-viewer"] = run(viewer, "--help").stdout
    return texts


def collapsed(text):
    return re.sub(r"\s+", " ", text.replace("'", "").replace("…", "...").replace("\u00a0", " ")).casefold()


def rendered(page):
    """Without line breaks in a paragraph."""
    text = run("groff", "-man", "-Tutf8", "-P-c", "-P-b", "-P-u", "-P-o", "-rLL=20000n", str(page)).stdout
    return collapsed(text.replace("\u2010", "-").replace("\u2212", "-").replace("\u2019", "'"))


class Pages(unittest.TestCase):
    def test_every_help_has_its_page_and_no_page_is_left_over(self):
        self.assertEqual({page.stem for page in MAN.iterdir()}, set(help_texts()))

    def test_every_option_is_on_its_page(self):
        for name, text in help_texts().items():
            page = (MAN / f"{name}.1").read_text(encoding="ascii")
            for option in re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, re.MULTILINE):
                self.assertRegex(page, r"(?m)^(\\fB\\-\w\\fR, )?\\fB" + re.escape(option.replace("-", r"\-")), name)

    @unittest.skipUnless(shutil.which("groff"), "no groff")
    def test_every_line_of_a_help_is_on_its_page(self):
        for name, text in help_texts().items():
            page = rendered(MAN / f"{name}.1")
            for line in text.split("\n"):
                if line.startswith(("Usage:", "Exit status:")) or re.fullmatch(r"[A-Z]\w+:", line):
                    continue
                # The left column of an option is checked above.
                line = re.sub(r"^  (-\w, )?--[\w-]+(=\S+ |[= ]\S+$|.*?  |$)", "", line)
                for part in re.split(r"  +", line.strip()):
                    self.assertIn(collapsed(part), page, name)

    def test_the_forms_of_a_verb_are_on_its_page(self):
        page = rendered(MAN / "memprof-fleet.1")
        for form in ("map", "compact", "ask", "report", "grid", "rows"):
            usage, what = run(PROGRAMS[0], "fleet", form, "--help").stdout.split("\n\n")[:2]
            self.assertIn(collapsed(usage.removeprefix("Usage: ")), page)
            self.assertIn(collapsed(what), page)

    def test_a_program_without_help_costs_one_line(self):
        for program in ("/bin/true", "/bin/false", "/nonexistent"):
            with tempfile.TemporaryDirectory() as folder:
                command = [sys.executable, "-B", str(SOURCE / "packaging/man.py"), "--memprof", program,
                           "--version", "1", "--output", folder]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)

    def test_variables_are_those_of_the_programs(self):
        words = {word for folder in ("cli", "libmemprof/src", "cupti_hooks/src", "viewer", "simcuda", "scripts")
                 for path in (SOURCE / folder).rglob("*") if path.is_file()
                 for word in re.findall(r"\w+", path.read_text(encoding="utf-8", errors="replace"))}
        for page in MAN.iterdir():
            section = page.read_text(encoding="ascii").partition(".SH ENVIRONMENT")[2].partition(".SH")[0]
            for variable in re.findall(r"\b(?:[A-Z]+_)+[A-Z]+\b|\bSIMCUDA\b", re.sub(r"\\f[BIR]", " ", section)):
                self.assertTrue(variable in words, f"{page.name}: {variable}")


class Formatting(unittest.TestCase):
    @unittest.skipUnless(shutil.which("groff"), "no groff")
    def test_groff_warns_of_nothing(self):
        for page in MAN.iterdir():
            self.assertEqual(run("groff", "-man", "-Tutf8", "-ww", "-z", str(page)).stderr, "", page.name)

    @unittest.skipUnless(shutil.which("man"), "no man")
    def test_man_warns_of_nothing(self):
        for page in MAN.iterdir():
            self.assertEqual(run("man", "--warnings", "-l", str(page)).stderr, "", page.name)


class Options(unittest.TestCase):
    def option(self, line):
        return helps.parse("p", "", f"Usage: p X\n\nOptions:\n  {line}\n")[0].options[0]

    def values(self, line):
        return self.option(line).choices

    def test_values_that_a_help_lists(self):
        self.assertEqual(self.values("--to=csv|html  The format."), ["csv", "html"])
        self.assertEqual(self.values("--by=library  Only this."), ["library"])
        self.assertEqual(self.values("--axis AXIS  what runs: time (default) or steps"), ["time", "steps"])
        self.assertEqual(self.values("--source=S  Who: a (the default), b, or\n      a,b."), ["a", "b", "a,b"])
        self.assertEqual(self.values("--op=OP  Only this kind: alloc, free, …; several times."), ["alloc", "free"])
        self.assertEqual(self.values("--signal=NAME  A signal (HUP, USR1) begins."), ["HUP", "USR1"])

    def test_a_left_column_without_room_behind_it(self):
        self.assertEqual(self.values("--unrecorded=start|stop What to do: a, b."), ["start", "stop"])
        self.assertEqual(self.option("--a-flag-as-long-as-that What it does.").text, "What it does.")
        self.assertEqual(self.option("--view VIEW  the view").value, "VIEW")

    def test_another_form_is_refused(self):
        for line in ("--a b c  Text.", "--a, and b  Text.", "---"):
            with self.assertRaises(helps.Unreadable):
                self.option(line)

    def test_prose_is_no_list(self):
        self.assertEqual(self.values("--top=N  Rows of each table; 0 = all (default 10)."), [])
        self.assertEqual(self.values("--json  Print (one, two)."), [])
        self.assertEqual(self.values("--at=WHEN  peak: when each device held most; end: at the end."), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
