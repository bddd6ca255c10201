"""What is linked against the stubs of an old glibc needs no younger one, and finds each function where that has it.

usage: old_glibc_test.py SOURCE_DIR C_COMPILER OBJDUMP READELF
"""
import pathlib
import platform
import re
import subprocess
import sys
import unittest

import made_prefix

SOURCE, (COMPILER, OBJDUMP, READELF) = pathlib.Path(sys.argv[1]), sys.argv[2:5]
sys.path.insert(0, str(SOURCE / "simcuda/tools"))
from elf_imports import Imports  # noqa: E402

FLOOR = "2.17"
LOADER = {"x86_64": "ld-linux-x86-64.so.2", "aarch64": "ld-linux-aarch64.so.1"}.get(platform.machine(), "")
USED = {"memcpy": "libc.so.6", "exp": "libm.so.6", "dlopen": "libdl.so.2", "pthread_create": "libpthread.so.0",
        "sem_wait": "libpthread.so.0", "timer_create": "librt.so.1", "shm_open": "librt.so.1",
        "openpty": "libutil.so.1", "gai_error": "libanl.so.1", "ns_name_skip": "libresolv.so.2",
        "__tls_get_addr": LOADER}


def number(version):
    return tuple(int(part) for part in version.split("."))


def real(name):
    return subprocess.check_output([COMPILER, f"-print-file-name={name}"], text=True).strip()


def make(folder, objdump=OBJDUMP):
    """As cmake/MemprofOldGlibc.cmake does it."""
    libraries = {"libc": "libc.so.6", "libm": "libm.so.6", "nonshared": "libc_nonshared.a", "loader": LOADER}
    options = {"floor": FLOOR, "cc": COMPILER, "objdump": objdump, "out": folder,
               **{option: real(name) for option, name in libraries.items()}}
    return subprocess.run([sys.executable, "-B", SOURCE / "cmake/old_glibc/make_stubs.py",
                           *(f"--{option}={value}" for option, value in options.items())],
                          capture_output=True, text=True, check=False)


def versions_of(library):
    """{name: {version: (is it data, bytes)}} of what a library defines, without variables of threads."""
    listing = subprocess.check_output([READELF, "-W", "--dyn-syms", library], text=True)
    found = {}
    for match in re.finditer(r" (\d+) (FUNC|IFUNC|OBJECT) .* (\S+) (\w+)@@?GLIBC_([\d.]+)$", listing, re.M):
        size, kind, section, name, version = match.groups()
        if section not in ("UND", "ABS"):
            found.setdefault(name, {})[version] = (kind == "OBJECT", int(size))
    return found


class Stubs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = made_prefix.temporary(cls)
        done = make(cls.folder)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr

    def link(self, names, *options):
        code = "".join(f"void {name}(void);\n" for name in names)
        code += f"void call(void) {{ {' '.join(f'{name}();' for name in names)} }}\n"
        library = self.folder / "linked.so"
        words = ["-shared", "-fPIC", "-fno-builtin", "-w", "-xc", "-", "-Wl,--as-needed,-z,defs", "-lm", *options]
        done = subprocess.run([COMPILER, *words, "-o", library], input=code, capture_output=True, text=True,
                              check=False)
        return Imports(library) if done.returncode == 0 else done.stderr

    def test_old_versions_of_old_libraries_are_needed(self):
        linked = self.link(USED, f"-L{self.folder}")
        self.assertEqual(set(linked.needed), set(USED.values()))
        for name, soname in USED.items():
            version, library = linked.names[name]
            self.assertEqual(library, soname, name)
            self.assertLessEqual(number(version[len("GLIBC_"):]), number(FLOOR), name)
        # The archive beside the C library has atexit.
        self.assertEqual(self.link(["atexit", "memcpy"], f"-L{self.folder}").needed, ["libc.so.6"])

    def test_a_function_that_is_too_young_is_an_error(self):
        self.assertIn("gettid", self.link(["gettid"]).names)  # the build machine's glibc has it
        self.assertRegex(self.link(["gettid"], f"-L{self.folder}"), "undefined reference to [`']gettid'")

    def test_each_name_has_its_newest_version_up_to_the_floor(self):
        for parts, library in (("libm.so", "libm.so.6"), ("lib*.so.?", "libc.so.6")):
            expected, stubbed = {}, {}
            for name, versions in versions_of(real(library)).items():
                newest = max((version for version in versions if number(version) <= number(FLOOR)), key=number,
                             default=None)
                if newest:
                    is_data, size = versions[newest]
                    # A program's linker copies data by its size.
                    expected[name] = {newest: (is_data, size if is_data else 8)}
            for part in self.folder.glob(parts):
                for name, versions in versions_of(part).items():
                    self.assertNotIn(name, stubbed, "in two stubs")
                    stubbed[name] = versions
            self.assertGreater(len(expected), 300)
            self.assertEqual(stubbed, expected)

    def test_what_came_into_the_c_library_later_is_in_the_stub_of_its_old_place(self):
        moved = {name for name, versions in versions_of(real("libc.so.6")).items() if "2.34" in versions}
        stayed = {"__libc_start_main", "__isnanf128"}  # older ones have these there too
        self.assertEqual(moved & set(versions_of(self.folder / "libc.so.6")) - stayed, set())

    def test_an_objdump_that_lists_nothing_costs_one_line(self):
        done = make(made_prefix.temporary(self), objdump="true")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)


if __name__ == "__main__":
    if not LOADER:
        print("no stubs for this processor")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
