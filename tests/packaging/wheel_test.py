"""The wheel has every file of a prefix, where pip puts it to its place, and pip takes it.

usage: wheel_test.py SOURCE_DIR
"""
import base64
import configparser
import csv
import email
import hashlib
import pathlib
import platform
import subprocess
import sys
import time
import unittest
import zipfile

import made_prefix

SOURCE = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(SOURCE / "packaging"))
import wheel  # noqa: E402

VERSION, STEM = "9.8.7", "memprof_gpu-9.8.7"
MACHINE = platform.machine()
PROGRAM = '#!/bin/sh\ncat "$(dirname "$0")/../lib/libmemprof.so"\n'
PREFIX = {"bin/memprof": PROGRAM, "bin/memprof-viewer": PROGRAM, "bin/demo_trainer": PROGRAM,
          "lib/libmemprof.so": "recorder\n", "lib/memprof/viewer/memprof": PROGRAM,
          "lib/memprof/python/memprof/_agent/hooks.py": "", "lib/memprof/__pycache__/x.pyc": ""}
MODULE = {"__init__.py": "step = 42\n", "_agent/hooks.py": "", "__pycache__/x.pyc": ""}
# In the order of the wheel, which must not be that of the file system.
PLACES = {
    "memprof/__init__.py": "step = 42\n",
    f"{STEM}.data/data/bin/demo_trainer": PROGRAM,
    f"{STEM}.data/scripts/memprof": PROGRAM, f"{STEM}.data/scripts/memprof-viewer": PROGRAM,
    f"{STEM}.data/data/lib/libmemprof.so": "recorder\n",
    # `memprof run --torch` finds the agent here and nowhere else, so the module goes without.
    f"{STEM}.data/data/lib/memprof/python/memprof/_agent/hooks.py": "",
    f"{STEM}.data/data/lib/memprof/viewer/memprof": PROGRAM}
README = """# memprof

![The viewer, [as it is](docs/a.md)](docs/images/viewer.png)
See [the page](docs/a.md#part), [two
lines](b.md) and [elsewhere](https://example.org/x).
"""


def make(folder, **other):
    """Runs wheel.py on a prefix and a module below `folder`."""
    made_prefix.write(folder / "prefix", PREFIX)
    made_prefix.write(folder / "module", MODULE)
    made_prefix.write(folder, {"README.md": README, "LICENSE": "the licence\n"})
    options = {"prefix": folder / "prefix", "module": folder / "module", "readme": folder / "README.md",
               "license": folder / "LICENSE", "version": VERSION, "machine": MACHINE, "out": folder / "out", **other}
    return made_prefix.run(SOURCE / "packaging/wheel.py", **options)


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = made_prefix.temporary(cls)
        done = make(cls.folder)
        assert done.returncode == 0, done.stderr
        cls.path = pathlib.Path(done.stdout.strip())
        cls.zip = zipfile.ZipFile(cls.path)
        cls.addClassCleanup(cls.zip.close)

    def text(self, name):
        return self.zip.read(f"{STEM}.dist-info/{name}").decode()

    def test_every_file_is_at_the_place_that_pip_knows(self):
        about = [f"{STEM}.dist-info/{name}" for name in ("METADATA", "WHEEL", "entry_points.txt", "licenses/LICENSE", "RECORD")]
        self.assertEqual(self.zip.namelist(), [*PLACES, *about])
        for name, content in PLACES.items():
            self.assertEqual(self.zip.read(name).decode(), content, name)
        self.assertEqual(self.text("licenses/LICENSE"), "the licence\n")

    def test_pytest_finds_the_plugin(self):
        points = configparser.ConfigParser(delimiters="=")
        points.read_string(self.text("entry_points.txt"))
        for name, module in points["pytest11"].items():
            self.assertEqual(name, module)
            self.assertTrue((SOURCE / "python" / module.replace(".", "/")).with_suffix(".py").is_file(), module)

    def test_programs_stay_programs(self):
        for info in self.zip.infolist():
            self.assertEqual(info.external_attr >> 16, 0o100755 if PLACES.get(info.filename) == PROGRAM else 0o100644,
                             info.filename)

    def test_the_record_has_the_sum_of_every_file_but_itself(self):
        expected = []
        for name in self.zip.namelist():
            content = self.zip.read(name)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
            is_record = name.endswith("/RECORD")
            expected.append([name, "", ""] if is_record else [name, "sha256=" + digest, str(len(content))])
        self.assertEqual(sorted(csv.reader(self.text("RECORD").splitlines())), sorted(expected))

    def test_its_name_says_what_it_contains(self):
        tag = email.message_from_string(self.text("WHEEL"))["Tag"]
        self.assertRegex(tag, rf"^py3-none-manylinux_2_\d+_{MACHINE}$")
        self.assertEqual(self.path, self.folder / "out" / f"{STEM}-{tag}.whl")

    def test_the_metadata_has_version_and_readme(self):
        metadata = email.message_from_string(self.text("METADATA"))
        self.assertEqual((metadata["Name"], metadata["Version"]), ("memprof-gpu", VERSION))
        self.assertEqual(metadata.get_payload(), wheel.description(README))
        self.assertEqual(metadata.get_all("Provides-Extra"), ["fleet", "mcp", "fleet-spark"])
        self.assertEqual({line.partition(" extra == ")[2].strip('"') for line in metadata.get_all("Requires-Dist")},
                         {"fleet", "mcp", "fleet-spark"})  # nothing is needed without them

    def test_the_same_files_give_the_same_bytes(self):
        with made_prefix.as_another_user():
            done = make(made_prefix.temporary(self))
        self.assertEqual(pathlib.Path(done.stdout.strip()).read_bytes(), self.path.read_bytes(), done.stderr)
        self.assertEqual({info.date_time for info in self.zip.infolist()}, {time.gmtime(made_prefix.EPOCH)[:6]})

    def test_pip_installs_it(self):
        environment = self.folder / "environment"
        python = [environment / "bin/python", "-B"]
        words = ["venv", "--without-pip", "--system-site-packages", environment]
        if (subprocess.run([sys.executable, "-m", *words], check=False).returncode != 0
                or subprocess.run([*python, "-m", "pip", "--version"], capture_output=True, check=False).returncode):
            self.skipTest("no pip")
        pip = [*python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-index", "--no-deps"]
        subprocess.run([*pip, self.path], check=True)
        for program in ("memprof", "memprof-viewer", "demo_trainer"):
            self.assertEqual(subprocess.check_output([environment / "bin" / program], text=True), "recorder\n")
        self.assertEqual(subprocess.check_output([*python, "-c", "import memprof; print(memprof.step)"]), b"42\n")


class Description(unittest.TestCase):
    def test_pictures_and_links_of_the_repository_are_left_out(self):
        self.assertEqual(wheel.description(README),
                         "# memprof\n\nSee the page, two\nlines and [elsewhere](https://example.org/x).\n")

    def test_the_readme_has_nothing_else(self):
        text = (SOURCE / "README.md").read_text(encoding="utf-8")
        self.assertNotRegex(wheel.description(text), r"(?i)\]\((?!https?:)|<img|<a ")
        self.assertEqual(wheel.description(text).count("```"), text.count("```"))


class Failures(unittest.TestCase):
    def test_a_file_that_cannot_be_read_gives_one_line_and_no_wheel(self):
        folder = made_prefix.temporary(self)
        (folder / "broken").mkdir()
        (folder / "broken/broken").symlink_to("nowhere")
        for option, name in (("prefix", "missing"), ("prefix", "broken"), ("license", "missing")):
            done = make(folder, **{option: folder / name})
            self.assertEqual((done.returncode, done.stdout), (1, ""), option)
            self.assertRegex(done.stderr, rf"\Awheel: .*{name}.*\n\Z")
            self.assertEqual(list((folder / "out").glob("*.whl")), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
