"""scripts/torch-sim itself, without PyTorch: its output, its exit statuses, its one-line errors."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMMAND = os.path.join(ROOT, "scripts", "torch-sim")
BUILD = sys.argv.pop(1)


# cuBLAS functions that return one number, on the host or on the device.
SCALARS = ("cublasCreate_v2", "cublasSetVector", "cublasSetStream_v2", "cublasSetPointerMode_v2", "cublasSdot_v2",
           "cublasSnrm2_v2", "cublasSasum_v2", "cublasIsamax_v2", "cublasIsamin_v2", "cublasNrm2Ex",
           "cublasCdotc_v2")
SCALAR_PROGRAM = r"""
#include <stdio.h>
int main(void) {
  void *context, *blas, *stream, *graph;
  unsigned long device, result;
  int max = -1, min = -1, failed = 0;
  unsigned short nothing = 1; /* a half */
  float dot = -1, norm = -1, sum = -1, backwards = -1, half = -1, complex[2] = {-1, -1}, seen = -1;
  float values[] = {1, -2, 3, -4, 0.5f};
  failed |= cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) ||
            cuMemAlloc_v2(&device, sizeof values) || cuMemAlloc_v2(&result, 4L) || cublasCreate_v2(&blas) ||
            cublasSetVector(5, 4, values, 1, device, 1);
  failed |= cublasSdot_v2(blas, 5, device, 1, device, 1, &dot) || cublasSnrm2_v2(blas, 5, device, 1, &norm) ||
            cublasSasum_v2(blas, 5, device, 1, &sum) || cublasIsamax_v2(blas, 5, device, 1, &max) ||
            cublasIsamin_v2(blas, 5, device, 1, &min) || cublasSdot_v2(blas, 2, device, 2, device, -2, &backwards) ||
            cublasNrm2Ex(blas, 5, device, 0, 1, &half, 0, 0) || cublasNrm2Ex(blas, 0, device, 0, 1, &nothing, 2, 0) ||
            cublasCdotc_v2(blas, 1, device + 8, 1, device + 8, 1, complex);
  printf("dot %g norm %g sum %g max %d min %d backwards %g half %g complex %g %g\n", dot, norm, sum, max, min,
         backwards, half, complex[0], complex[1]);
  failed |= cublasSetPointerMode_v2(blas, 1) || cublasSasum_v2(blas, 5, device, 1, result) ||
            cuMemcpyDtoH_v2(&seen, result, 4L);
  failed |= cublasSetPointerMode_v2(blas, 0) || cuStreamCreate(&stream, 1) || cublasSetStream_v2(blas, stream) ||
            cuStreamBeginCapture_v2(stream, 0);
  sum = -1;
  failed |= cublasSasum_v2(blas, 5, device, 1, &sum) || cuStreamEndCapture(stream, &graph);
  printf("on the device %g, while capturing %g, of nothing %d\n", seen, sum, nothing);
  return failed;
}
"""

class CommandTest(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = self.temporary.name

    def tearDown(self):
        self.temporary.cleanup()

    def run_it(self, *words, **environment):
        own = {**os.environ, "MEMPROF_TORCH_DIR": os.path.join(self.folder, "torch"),
               "MEMPROF_SIMCUDA_DIR": os.path.join(BUILD, "simcuda"), **environment}
        return subprocess.run([COMMAND, *words], capture_output=True, text=True, env=own,
                              check=False)

    def program(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)
        return path

    def assert_fails(self, done, status, words):
        self.assertEqual(done.returncode, status, done.stderr)
        lines = [line for line in done.stderr.splitlines() if not line.startswith("==> ")]
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertIn(words, lines[0])

    def test_help_has_examples(self):
        done = self.run_it("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("scripts/torch-sim build/bin/memprof run -o x.mprof -- python", done.stdout)
        self.assertIn("Values are not", done.stdout)

    def test_wrong_usage(self):
        self.assert_fails(self.run_it(), 2, "which command?")
        self.assert_fails(self.run_it("--frobnicate", "true"), 2, "unknown option --frobnicate")
        self.assert_fails(self.run_it("--python"), 2, "needs a path")

    def test_stand_in_must_be_built(self):
        self.assert_fails(self.run_it("true", MEMPROF_SIMCUDA_DIR=self.folder), 1,
                          "run scripts/build first")

    def test_python_that_is_none_or_has_no_torch(self):
        self.assert_fails(self.run_it("--python", "/nowhere/python", "true"), 1, "no Python at")
        bare = self.program("python", f'#!/bin/sh\nexec {sys.executable} -S -I "$@"\n')
        self.assert_fails(self.run_it("--python", bare, "true"), 1, "has no torch")

    def test_environment_of_a_python_that_needs_nothing(self):
        bare = self.program("python", f'#!/bin/sh\nexec {sys.executable} -S -I "$@"\n')
        done = self.run_it("--python", bare, "--environment")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_environment_of_a_python_with_a_cupy(self):
        # A folder with the structure of CuPy, and one library that links against cuBLAS.
        os.makedirs(os.path.join(self.folder, "cupy"))
        libs = os.path.join(self.folder, "cupy_backends", "cuda", "libs")
        os.makedirs(libs)
        for place in ("cupy/__init__.py", "stub.c", "user.c"):
            with open(os.path.join(self.folder, place), "w", encoding="utf-8") as file:
                file.write({"stub.c": "int cublasCreate_v2(void** h) { return 0; }",
                            "user.c": "int cublasCreate_v2(void**); int use(void** h) { return cublasCreate_v2(h); }"
                            }.get(place, ""))
        stub = os.path.join(self.folder, "libcublas.so.12")
        subprocess.run(["gcc", "-shared", "-fPIC", "-Wl,-soname,libcublas.so.12", "-o", stub,
                        os.path.join(self.folder, "stub.c")], check=True)
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", os.path.join(libs, "cublas.so"),
                        os.path.join(self.folder, "user.c"), stub], check=True)
        os.unlink(stub)
        python = self.program("python", f'#!/bin/sh\nPYTHONPATH={self.folder} exec {sys.executable} "$@"\n')
        done = self.run_it("--python", python, "--environment", SIMCUDA="memory=3GiB", LD_LIBRARY_PATH="/there")
        self.assertEqual(done.returncode, 0, done.stderr)
        told = dict(entry.split("=", 1) for entry in done.stdout.split("\0") if entry)
        places = told["LD_LIBRARY_PATH"].split(":")
        self.assertTrue(os.path.exists(os.path.join(places[0], "libcublas.so.12")), told)
        self.assertEqual(places[1:], [os.path.join(BUILD, "simcuda"), "/there"])
        self.assertEqual(told["SIMCUDA"], "memory=3GiB")
        self.assertEqual(told["SIMCUDA_DEFAULTS"], "contents=none")
        # A program that it starts itself, and that one's processes, have the same devices.
        started = self.run_it("--python", python, "printenv", "SIMCUDA_DEFAULTS")
        self.assertRegex(started.stdout, r"^contents=none,shared=torch-sim\.\d+\n$", started.stderr)
        # Removed since: it starts as one that never had it.
        for name in ("cupy", "cupy_backends"):
            shutil.rmtree(os.path.join(self.folder, name))
        done = self.run_it("--python", python, "--environment")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assert_fails(self.run_it("--python", python, "true"), 1, "has no torch")

    def test_scripts_of_a_venv_that_was_moved(self):
        scripts = os.path.join(self.folder, "torch", "venv", "bin")
        os.makedirs(scripts)
        os.symlink(sys.executable, os.path.join(scripts, "python"))
        gone = self.folder + "/torch/venv.new/bin/python3.11"
        texts = {"torchrun": f"#!{gone}\nprint({gone!r})\n", "other": f"#!{gone} -I\n",
                 "long": f"#!/bin/sh\n'''exec' {gone} \"$0\" \"$@\"\n", "shell": "#!/bin/sh\n"}
        for name, text in texts.items():
            with open(os.path.join(scripts, name), "w", encoding="utf-8") as file:
                file.write(text)
        self.assertEqual(self.run_it("--fetch").returncode, 0)
        for name, text in texts.items():
            with open(os.path.join(scripts, name), encoding="utf-8") as file:
                self.assertEqual(file.read(), text.replace(gone, scripts + "/python", 1), name)

    def test_a_binary_that_links_cublas_runs_without_more(self):
        # Linked against an empty library, which does not exist at run time.
        shell = os.path.join(self.folder, "libcublas.so.12")
        sources = {"shell.c": "".join(f"int {name}() {{ return 1; }}\n" for name in SCALARS), "user.c": SCALAR_PROGRAM,
                   "shell.map": "libcublas.so.12 { global: *; };\n"}
        for name, text in sources.items():
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        at = lambda name: os.path.join(self.folder, name)  # noqa: E731
        subprocess.run(["gcc", "-shared", "-fPIC", "-w", "-Wl,-soname,libcublas.so.12",
                        "-Wl,--version-script=" + at("shell.map"), "-o", shell, at("shell.c")], check=True)
        for kind, options in (("new", []), ("old", ["-Wl,-rpath," + self.folder, "-Wl,--disable-new-dtags"])):
            program = at("user_" + kind)
            subprocess.run(["gcc", "-w", "-std=gnu89", "-o", program, at("user.c"), shell,
                            os.path.join(BUILD, "simcuda", "libcuda.so.1"), *options], check=True)
        os.unlink(shell)
        for words in (["user_new"], ["user_old"], ["env", "user_new"]):
            command = [at(words[-1])] if len(words) == 1 else ["env", at(words[-1])]
            done = subprocess.run([os.path.join(BUILD, "bin", "memprof"), "run", "-o", at("x.mprof"), "--sim", "--",
                                   *command], capture_output=True, text=True, check=False,
                                  env={**os.environ, "MEMPROF_TORCH_DIR": at("cache")})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout, "dot 30.25 norm 5.5 sum 10.5 max 4 min 5 backwards 6 half 5.5 complex 25 0\n"
                                          "on the device 10.5, while capturing -1, of nothing 0\n")
            self.assertNotIn("no version information", done.stderr)

    def test_full_disk(self):
        self.program("df", "#!/bin/sh\necho Avail\necho 1000000000\n")
        done = self.run_it("true", PATH=self.folder + ":" + os.environ["PATH"])
        self.assert_fails(done, 1, "needs 5 GB")

    def test_index_that_does_not_answer(self):
        self.program("df", "#!/bin/sh\necho Avail\necho 9000000000000\n")
        done = self.run_it("true", PATH=self.folder + ":" + os.environ["PATH"],
                           PIP_INDEX_URL="http://127.0.0.1:9/simple", PIP_RETRIES="0",
                           PIP_CONFIG_FILE="/dev/null", PIP_NO_INDEX="", PIP_EXTRA_INDEX_URL="")
        self.assert_fails(done, 1, "could not fetch PyTorch from the package index")
        self.assertFalse(os.path.exists(os.path.join(self.folder, "torch", "venv")))


if __name__ == "__main__":
    unittest.main()
