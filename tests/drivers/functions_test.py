"""Every function of cuda.h is in the recorder's table, or tests/drivers/decisions.txt says why not.

    functions_test.py SOURCE HEADERS FOLDER COMPILER

HEADERS is the toolkit's include folder; FOLDER is what fetch.py made, and may be missing. Parameters are compared by
COMPILER (shapes.cc).
"""

import pathlib
import re
import subprocess
import sys
import unittest

import functions

SOURCE, TOOLKIT, FETCHED = (pathlib.Path(argument) for argument in sys.argv[1:4])
COMPILER = sys.argv[4]

DECLARED = re.compile(r"CUresult\s+CUDAAPI\s+(cu[A-Z]\w*)\s*\(")
VERSION = re.compile(r"\*PFN_(cu\w+?)_v(\d+)(_ptsz)?\)")


def base_of(name):
    return re.sub(r"(_v\d+)?(_ptsz|_ptds)?$", "", name)


def headers():
    """{version: folder}, with the toolkit's own."""
    found = {"of the toolkit": TOOLKIT}
    if (FETCHED / "headers").is_dir():
        found.update((folder.name, folder) for folder in (FETCHED / "headers").iterdir() if folder.suffix != ".unfinished")
    return found


def declared(folder):
    names = set()
    for header in ("cuda.h", "cudaGL.h", "cudaEGL.h", "cudaVDPAU.h"):
        if (folder / header).exists():
            names.update(DECLARED.findall((folder / header).read_text()))
    return names


class Functions(unittest.TestCase):
    def test_every_function_has_a_decision(self):
        hooked, decided = functions.table(SOURCE), set(functions.decisions(SOURCE))
        intercepted = {base for base, _, _ in hooked.values()}
        for version, folder in headers().items():
            names = declared(folder)
            self.assertGreater(len(names), 380, version)
            undecided = {name for name in names if name not in hooked
                         and (name if base_of(name) in intercepted else base_of(name)) not in decided}
            self.assertEqual(sorted(undecided), [], f"cuda.h {version}: add to driver/table.h or to decisions.txt")

    def test_no_decision_is_idle(self):
        names = functions.decisions(SOURCE)
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(sorted(set(names) & set(functions.table(SOURCE))), [])
        if len(headers()) < 10:
            self.skipTest("needs all headers")
        known = {base_of(name) for folder in headers().values() for name in declared(folder)}
        self.assertEqual(sorted({base_of(name) for name in names} - known), [])
        self.assertEqual(sorted({base for base, _, _ in functions.table(SOURCE).values()} - known), [])

    def test_first_versions_are_those_of_the_typedefs(self):
        """PFN_cuMemAlloc_v3020: as of which version cuGetProcAddress returns that function."""
        newest = max((folder for version, folder in headers().items() if version[0].isdigit()),
                     key=lambda folder: [int(part) for part in folder.name.split(".")], default=TOOLKIT)
        last = int(re.search(r"#define CUDA_VERSION (\d+)", (newest / "cuda.h").read_text())[1])
        typedefs = {}
        for header in ("cudaTypedefs.h", "cudaGLTypedefs.h", "cudaEGLTypedefs.h"):
            if (newest / header).exists():
                for base, version, streams in VERSION.findall((newest / header).read_text()):
                    typedefs.setdefault((base, bool(streams)), set()).add(int(version))
        self.assertGreater(len(typedefs), 300)
        known, superseded = {}, set(functions.decisions(SOURCE))
        for base, since, streams in functions.table(SOURCE).values():
            known.setdefault((base, streams == "PerThread"), set()).add(since)
        for key in sorted(known):
            theirs = typedefs.get(key, set())
            if key[0] in superseded:
                theirs = {version for version in theirs if version >= 3020}
            self.assertEqual(theirs - known[key], set(), key)
            # The headers no longer have versions that are older than they are, and not yet newer ones.
            self.assertEqual({since for since in known[key] if 11080 < since <= last} - theirs, set(), key)

    def test_parameters_are_those_of_newer_headers(self):
        for version, folder in headers().items():
            if version.startswith("13."):
                done = subprocess.run([COMPILER, "-std=c++20", "-fsyntax-only", "-I", folder, "-I", SOURCE,
                                       SOURCE / "tests/drivers/shapes.cc"], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, f"{version}: {done.stderr[:2000]}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
