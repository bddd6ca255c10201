"""The Debian packages share out a prefix: every file is in one of them, with the mode that it needs.

usage: deb_test.py SOURCE_DIR
"""
import email
import gzip
import hashlib
import io
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import unittest
import unittest.mock

import made_prefix

SOURCE = pathlib.Path(sys.argv[1])
VERSION = "9.8.7"
PROGRAM = "#!/bin/sh\n"
# Of each package the files that come from the prefix, as they are installed below /usr.
PLACES = {
    "memprof": {"bin/memprof": PROGRAM, "bin/demo_trainer": PROGRAM, "lib/libmemprof.so": "recorder" * 5000,
                "lib/memprof/simcuda/libcuda.so.1": "#!", "share/memprof/scripts/torch-sim": PROGRAM,
                "share/man/man1/memprof.1": ".TH memprof\n", "share/doc/memprof/cli.md": "verbs"},
    "memprof-viewer": {"bin/memprof-viewer": PROGRAM, "lib/memprof/viewer/memprof-viewer": PROGRAM,
                       "lib/memprof/viewer/lib/ld-linux-x86-64.so.2": PROGRAM,
                       "lib/memprof/viewer/lib/libQt6Core.so.6": "#!",
                       "share/applications/memprof-viewer.desktop": "entry", "share/mime/packages/memprof.xml": "type",
                       "share/icons/hicolor/x.svg": "icon", "share/man/man1/memprof-viewer.1": ".TH viewer\n"},
    "libmemprof-dev": {"include/memprof/memprof.h": "header", "lib/cmake/memprof/memprofConfig.cmake": "package"},
}
NOWHERE = {"share/doc/memprof/LICENSE": "in copyright", "lib/memprof/python/__pycache__/x.pyc": ""}
PREFIX = {**NOWHERE, **{name: content for files in PLACES.values() for name, content in files.items()}}


def make(folder, **other):
    made_prefix.write(folder / "prefix", PREFIX)
    options = {"prefix": folder / "prefix", "version": VERSION, "machine": "x86_64", "out": folder / "out", **other}
    return made_prefix.run(SOURCE / "packaging/deb.py", **options)


def archive(package, part):
    """[(path, its entry, content)] of the files or the control files of a package."""
    data = subprocess.run(["dpkg-deb", f"--{part}-tarfile", package], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return [(each.name[2:], each, tar.extractfile(each).read() if each.isfile() else None) for each in tar]


def installed(name):
    """Manual pages are packed, all else stays as it is."""
    return f"usr/{name}.gz" if "/man/" in name else f"usr/{name}"


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        done = make(made_prefix.temporary(cls))
        assert done.returncode == 0, done.stderr
        cls.paths = dict(zip(PLACES, done.stdout.splitlines()))
        cls.files = {name: archive(path, "fsys") for name, path in cls.paths.items()}
        cls.control = {name: {path: content for path, _, content in archive(package, "ctrl")}
                       for name, package in cls.paths.items()}

    def fields(self, name):
        return email.message_from_bytes(self.control[name]["control"])

    def test_every_file_is_in_its_package_and_in_no_other(self):
        for name, files in PLACES.items():
            found = {path: content for path, entry, content in self.files[name] if not entry.isdir()}
            texts = {f"usr/share/doc/{name}/copyright", f"usr/share/doc/{name}/changelog.gz"}
            if (SOURCE / f"packaging/debian/{name}.lintian-overrides").exists():
                texts.add(f"usr/share/lintian/overrides/{name}")
            self.assertEqual(set(found), {installed(path) for path in files} | texts)
            for path, content in files.items():
                data = found[installed(path)]
                self.assertEqual(gzip.decompress(data) if "/man/" in path else data, content.encode(), path)

    def test_programs_can_be_executed_and_other_files_read(self):
        for name, files in PLACES.items():
            programs = {installed(path) for path, content in files.items() if content == PROGRAM}
            for path, entry, _ in self.files[name]:
                mode = 0o755 if entry.isdir() or path in programs else 0o644
                self.assertEqual((entry.mode, entry.uid, entry.gid, entry.mtime), (mode, 0, 0, made_prefix.EPOCH), path)

    def test_the_sums_are_those_of_the_files(self):
        for name in PLACES:
            sums = [f"{hashlib.md5(content).hexdigest()}  {path}" for path, entry, content in self.files[name]
                    if not entry.isdir()]
            self.assertEqual(sorted(self.control[name]["md5sums"].decode().splitlines()), sorted(sums))

    def test_the_fields(self):
        for name, path in self.paths.items():
            fields = self.fields(name)
            self.assertEqual((fields["Package"], fields["Version"], fields["Architecture"]), (name, VERSION, "amd64"))
            self.assertEqual(pathlib.Path(path).name, f"{name}_{VERSION}_amd64.deb")
            kilobytes = sum(entry.size for _, entry, _ in self.files[name]) // 1024 + 1
            self.assertEqual(fields["Installed-Size"], str(kilobytes))
            self.assertRegex(fields["Description"], r"\A\w.{10,79}(\n .{1,79}){2,}\Z")
        # The viewer and the header are of use only with the memprof of their version.
        self.assertEqual([self.fields(name)["Depends"] for name in PLACES],
                         ["libc6 (>= 2.28)", f"memprof (= {VERSION})", f"memprof (= {VERSION})"])

    def test_the_loader_hears_of_the_library(self):
        for name in PLACES:
            expected = b"activate-noawait ldconfig\n" if name == "memprof" else None
            self.assertEqual(self.control[name].get("triggers"), expected, name)

    def test_the_same_files_give_the_same_bytes(self):
        with made_prefix.as_another_user():
            done = make(made_prefix.temporary(self))
        first, second = ([hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest() for path in paths]
                         for paths in (self.paths.values(), done.stdout.splitlines()))
        self.assertEqual(first, second)

    def test_without_a_given_time_all_are_of_one_day_too(self):
        with unittest.mock.patch.dict(os.environ):
            del os.environ["SOURCE_DATE_EPOCH"]
            done = make(made_prefix.temporary(self))
        times = {entry.mtime for path in done.stdout.splitlines() for _, entry, _ in archive(path, "fsys")}
        self.assertEqual(times, {315532800})


class Failures(unittest.TestCase):
    def test_what_cannot_be_read_gives_one_line_and_no_package(self):
        folder = made_prefix.temporary(self)
        (folder / "broken").mkdir()
        (folder / "broken/broken").symlink_to("nowhere")
        for name in ("missing", "broken"):
            done = make(folder, prefix=folder / name)
            self.assertEqual((done.returncode, done.stdout), (1, ""), name)
            self.assertRegex(done.stderr, rf"\Adeb: .*{name}.*\n\Z")
            self.assertEqual(list((folder / "out").iterdir()), [])

    def test_what_dpkg_deb_refuses(self):
        done = make(made_prefix.temporary(self), version="no version")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"(?s)\Adpkg-deb: .*\ndeb: .*\n\Z")


if __name__ == "__main__":
    if not shutil.which("dpkg-deb"):
        print("there is no dpkg-deb")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
