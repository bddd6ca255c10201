"""The shared objects that simcuda/tools writes itself, for each processor that a compiler and an emulator are here for:
other tools read them, the loader takes them, and arguments of all kinds reach the functions' own code."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GENERATE = os.path.join(ROOT, "simcuda", "tools", "generate_libraries.py")
LIBRARIES = os.path.join(ROOT, "simcuda", "libraries")
SONAMES = ["libcurand.so.10", "libcufft.so.11"]

# Own code with more arguments than fit into registers, and a structure that is passed in memory.
OWN = """
struct id { char bytes[128]; };
double curandMany(int a, long b, int c, long d, int e, long f, int g, long h, int i, long j, double p, float q, double r,
                  double s, double t, double u, double v, double w, double x, struct id id) {
  return a + b + c + d + e + f + g + h + i + j + p + q + r + s + t + u + v + w + x + id.bytes[127];
}
int curandCreateGenerator(void** made) { *made = 0; return 77; }
"""
PROGRAM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
struct id { char bytes[128]; };
int main(int count, char** names) {
  void* rand = dlopen(names[1], RTLD_NOW | RTLD_LOCAL);
  void* fft = dlopen(names[2], RTLD_NOW | RTLD_LOCAL);
  if (!rand || !fft) return puts(dlerror()), 2;
  double (*many)(int, long, int, long, int, long, int, long, int, long, double, float, double, double, double, double,
                 double, double, double, struct id) = dlsym(rand, "curandMany");
  int (*create)(void**) = dlsym(rand, "curandCreateGenerator"), (*version)(int*) = dlsym(rand, "curandGetVersion");
  int (*size)(long, int, int, int, int, int, int, int, int, int, int, long*) = dlsym(fft, "cufftGetSizeMany64");
  struct id id = {{0}};
  id.bytes[127] = 100;
  if (count > 3) printf("%g ", many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0.5, 0.5f, 1, 1, 1, 1, 1, 1, 1, id));
  void* handle = &id;
  int number = -1, status = create(&handle) + create(&handle);
  long bytes = -1;
  status += version(&number) + size(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, &bytes);
  printf("%d %s %d %ld ", status, handle ? "handle" : "none", number, bytes);
  printf("%s\\n", dlsym(RTLD_DEFAULT, "curandMany") ? "visible" : "hidden");
  dlclose(fft);
  return 0;
}
"""


class Made:
    """Stand-ins with the code that is common to all and one part with own code, compiled by `compiler`."""

    def __init__(self, compiler, emulator, machine):
        self.emulator, self.machine = emulator, machine
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = self.temporary.name
        os.makedirs(self.at("libraries"))
        for name, text in (("own.c", OWN), ("program.c", PROGRAM)):
            with open(self.at(name), "w", encoding="utf-8") as file:
                file.write(text)
        common = os.path.join("libraries", "libsimcuda_libraries.so")
        for words in (["-shared", "-fPIC", "-fvisibility=hidden", "-Wl,-soname,libsimcuda_libraries.so", "-o", common,
                       *[os.path.join(LIBRARIES, name) for name in ("calls.c", "common.c", "enter.S")]],
                      ["-shared", "-fPIC", "-o", os.path.join("libraries", "libcurand.so"), "own.c"],
                      ["-o", "program", "program.c"]):
            subprocess.run([compiler, "-O1", "-w", *words, "-ldl"], check=True, cwd=self.folder)
        self.generated = self.generate()

    def at(self, *names):
        return os.path.join(self.folder, *names)

    def generate(self):
        return subprocess.run([sys.executable, GENERATE, "--opened", *SONAMES, "--provided", self.folder, "--out",
                               self.folder], capture_output=True, text=True, check=False)

    def run(self, *words, wish=""):
        return subprocess.run([*self.emulator, self.at("program"), *map(self.at, SONAMES), *words], capture_output=True,
                              text=True, check=False, env={**os.environ, "SIMCUDA_LIBRARIES": wish})


class X86Test(unittest.TestCase):
    COMPILER, EMULATOR, MACHINE = "gcc", [], "X86-64"

    @classmethod
    def setUpClass(cls):
        for program in [cls.COMPILER, *cls.EMULATOR[:1]]:
            if not shutil.which(program):
                raise unittest.SkipTest(f"there is no {program}")
        cls.made = Made(cls.COMPILER, cls.EMULATOR, cls.MACHINE)

    @classmethod
    def tearDownClass(cls):
        cls.made.temporary.cleanup()

    def test_other_tools_read_it(self):
        self.assertEqual(self.made.generated.returncode, 0, self.made.generated.stderr)
        for soname in SONAMES:
            done = subprocess.run(["readelf", "-aW", self.made.at(soname)], capture_output=True, text=True, check=True)
            self.assertEqual(done.stderr, "")
            self.assertRegex(done.stdout, "Machine: .*" + self.MACHINE)
            self.assertIn(f"Library soname: [{soname}]", done.stdout)
            self.assertRegex(done.stdout, r"GNU_STACK .* RW ")
            self.assertNotRegex(done.stdout, r" FUNC .* DEFAULT +\d+ *\n", "a name is empty")

    def test_arguments_and_rules(self):
        done = self.made.run("many")
        self.assertEqual((done.stdout, done.stderr), ("163 154 none 10000 65536 hidden\n", ""))

    def test_counts_after_a_library_was_closed(self):
        counted = re.findall(r"^\[(\S+)\] (\w+) (\d+)$", self.made.run("many", wish="count").stderr, re.M)
        self.assertEqual(sorted(counted), [
            ("libcufft.so.11", "cufftGetSizeMany64", "1"), ("libcurand.so.10", "curandCreateGenerator", "2"),
            ("libcurand.so.10", "curandGetVersion", "1"), ("libcurand.so.10", "curandMany", "1")])

    def test_own_code_that_is_gone(self):
        part = self.made.at("libraries", "libcurand.so")
        os.rename(part, part + ".away")
        try:
            done = self.made.run()
        finally:
            os.rename(part + ".away", part)
        self.assertEqual(done.stdout, "0 handle 10000 65536 hidden\n")
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 1, lines)
        self.assertIn("[libcurand.so.10]", lines[0])
        self.assertIn(part, lines[0])


class Aarch64Test(X86Test):
    COMPILER, EMULATOR, MACHINE = "aarch64-linux-gnu-gcc", ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"], "AArch64"


class FailureTest(unittest.TestCase):
    def test_a_stand_in_without_common_code(self):
        with tempfile.TemporaryDirectory() as folder:
            for content, words in ((None, "No such file"), (b"text", "no 64-bit ELF"),
                                   (b"\x7fELF\2\1" + b"\0" * 90, "libsimcuda_libraries.so is for an unknown processor")):
                if content:
                    os.makedirs(os.path.join(folder, "libraries"), exist_ok=True)
                    with open(os.path.join(folder, "libraries", "libsimcuda_libraries.so"), "wb") as file:
                        file.write(content)
                done = subprocess.run([sys.executable, GENERATE, "--opened", "libcurand.so.10", "--provided", folder,
                                       "--out", folder], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertIn("libsimcuda_libraries.so", done.stderr)
                self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main()
