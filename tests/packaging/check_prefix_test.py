"""packaging/check_prefix.py finds every library and every version that a prefix must not need.

usage: check_prefix_test.py SOURCE_DIR C_COMPILER
"""
import pathlib
import subprocess
import sys
import unittest

import made_prefix

SOURCE, COMPILER = pathlib.Path(sys.argv[1]), sys.argv[2]
# Not the machine's own libraries, so that there is a function for every border between versions.
VERSIONS = {"libc.so.6": ["GLIBC_2.9", "GLIBC_2.17", "GLIBC_2.18", "GLIBC_2.19", "GLIBC_2.28", "GLIBC_2.29",
                          "GLIBC_PRIVATE"],
            "libstdc++.so.6": ["GLIBCXX_3.4"], "libcudart.so.12": ["libcudart.so.12"], "libsimcuda_a.so": ["A"],
            "ld-linux-x86-64.so.2": ["GLIBC_2.9"]}
RECORDER, CUPTI, STAND_IN = "lib/libmemprof.so", "lib/libmemprof_cupti.so", "lib/memprof/simcuda/libcuda.so.1"
VIEWER = "lib/memprof/viewer"


def function(version):
    return "of_" + version.replace(".", "_")


class Prefixes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.libraries = made_prefix.temporary(cls)
        for soname, versions in VERSIONS.items():
            nodes = "".join(f"{version} {{ {function(version)}; }};\n" for version in versions)
            (cls.libraries / "map").write_text(nodes, encoding="ascii")
            code = "".join(f"void {function(version)}(void) {{}}\n" for version in versions)
            cls.compile(soname, code, f"-Wl,-soname={soname}", "-Wl,--version-script=map")

    @classmethod
    def compile(cls, target, code, *options):
        subprocess.run([COMPILER, "-shared", "-nostdlib", "-fPIC", "-xc", "-o", target, "-", *options], input=code,
                       text=True, check=True, cwd=cls.libraries)

    def setUp(self):
        self.prefix = made_prefix.temporary(self)

    def put(self, path, soname, version=None):
        """A binary at `path` that needs the library, and its function of `version`."""
        target = self.prefix / path
        target.parent.mkdir(parents=True, exist_ok=True)
        name = function(version) if version else "unused"
        code = f"void {name}(void); void call(void) {{ {name}(); }}" if version else "int unused;"
        self.compile(str(target), code, "-Wl,--no-as-needed", f"-L{self.libraries}", f"-l:{soname}")

    def check(self, *lines):
        """Compares what is said with the expected lines."""
        done = subprocess.run([sys.executable, "-B", SOURCE / "packaging/check_prefix.py", self.prefix],
                              capture_output=True, text=True, check=False)
        self.assertEqual(sorted(done.stderr.splitlines()), sorted(f"check_prefix: {line}" for line in lines))
        self.assertEqual(done.returncode, 1 if lines else 0)

    def test_a_prefix_that_runs_everywhere(self):
        for path in (RECORDER, CUPTI, STAND_IN, "bin/memprof"):
            self.put(path, "libc.so.6", "GLIBC_2.9")
        for path in ("lib/memprof/simcuda/libcudart.so.13", f"{VIEWER}/memprof-viewer"):
            self.put(path, "ld-linux-x86-64.so.2", "GLIBC_2.9")
        (self.prefix / "lib/README").write_text("no binary", encoding="ascii")
        (self.prefix / "lib/empty").touch()
        self.check()

    def test_each_part_has_its_oldest_c_library(self):
        for path, oldest, younger in ((RECORDER, "2.17", "2.18"), (CUPTI, "2.17", "2.18"), (STAND_IN, "2.18", "2.19"),
                                      ("bin/demo_trainer", "2.28", "2.29")):
            self.put(path, "libc.so.6", f"GLIBC_{oldest}")
            self.check()
            self.put(path, "libc.so.6", f"GLIBC_{younger}")
            name = function(f"GLIBC_{younger}")
            self.check(f"{path} needs {name} of GLIBC_{younger}; it should run with glibc {oldest}")
            (self.prefix / path).unlink()

    def test_what_only_one_c_library_has(self):
        self.put(RECORDER, "libc.so.6", "GLIBC_PRIVATE")
        self.check(f"{RECORDER} needs of_GLIBC_PRIVATE of GLIBC_PRIVATE; it should run with glibc 2.17")

    def test_the_cpp_library_must_not_be_needed(self):
        self.put(RECORDER, "libstdc++.so.6", "GLIBCXX_3.4")
        self.check(f"{RECORDER} needs libstdc++.so.6", f"{RECORDER} needs of_GLIBCXX_3_4 of GLIBCXX_3.4")

    def test_libraries_for_which_a_place_is_known(self):
        self.put("bin/demo_trainer", "libcudart.so.12", "libcudart.so.12")
        self.put(STAND_IN, "libsimcuda_a.so")
        self.check()
        self.put("bin/memprof", "libcudart.so.12", "libcudart.so.12")
        self.put(RECORDER, "libsimcuda_a.so")
        self.check("bin/memprof needs libcudart.so.12", f"{RECORDER} needs libsimcuda_a.so")

    def test_the_viewer_brings_every_library_of_its_files(self):
        self.put(f"{VIEWER}/plugins/platform.so", "libstdc++.so.6", "GLIBCXX_3.4")
        self.check(f"{VIEWER}/plugins/platform.so needs libstdc++.so.6, which is not in {VIEWER}/lib")
        self.put(f"{VIEWER}/lib/libstdc++.so.6", "libc.so.6", "GLIBC_2.29")
        self.check(f"{VIEWER}/lib/libstdc++.so.6 needs libc.so.6, which is not in {VIEWER}/lib")
        self.compile(str(self.prefix / VIEWER / "lib/libc.so.6"), "")
        self.check()

    def test_a_prefix_without_binaries(self):
        self.check(f"{self.prefix} contains no binary")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
