"""The stand-ins of math libraries, generated for a test library with the same imports as PyTorch: names and
versions match, and functions write the expected results."""
import ctypes
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROVIDED = os.path.join(sys.argv.pop(1), "simcuda")
TOOLS = os.path.join(ROOT, "simcuda", "tools")
TABLE = os.path.join(ROOT, "simcuda", "libraries", "functions.txt")
sys.path.insert(0, TOOLS)
import elf_imports  # noqa: E402
import generate_libraries  # noqa: E402
import list_library_functions as lister  # noqa: E402

# soname -> (version node or None, functions imported from it)
WANTED = {
    "libcublas.so.12": ("libcublas.so.12", ["cublasCreate_v2", "cublasSgemm_v2", "cublasBrandNew"]),
    "libcublasLt.so.12": ("libcublasLt.so.12", ["cublasLtMatmulAlgoGetHeuristic"]),
    "libcudnn.so.9": ("libcudnn.so.9", ["cudnnGetVersion", "cudnnBackendCreateDescriptor"]),
    "libcusolver.so.11": ("libcusolver.so.11", ["cusolverDnSgetrf_bufferSize"]),
    "libcusparse.so.12": ("libcusparse.so.12", ["cusparseCreateCsr", "cusparseXcsrgeam2Nnz"]),
    "libcufft.so.11": ("libcufft.so.11", ["cufftCreate", "cufftXtMakePlanMany"]),
    "libnccl.so.2": (None, ["ncclGetVersion"]),
    "libnvrtc.so.12": ("libnvrtc.so.12", ["nvrtcCreateProgram"]),
}


def compile_library(folder, soname, code, *options):
    source = os.path.join(folder, soname + ".c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(code)
    path = os.path.join(folder, soname)
    subprocess.run(["gcc", "-shared", "-fPIC", "-w", "-o", path, source,
                    f"-Wl,-soname,{soname}", *options], check=True)
    return path


def make_guest(folder):
    """A library that imports all of WANTED, linked against empty versions of those libraries."""
    shells, calls = [], []
    for soname, (node, names) in WANTED.items():
        options = []
        if node:
            script = os.path.join(folder, soname + ".map")
            with open(script, "w", encoding="utf-8") as file:
                file.write(f"{node} {{ global: *; }};\n")
            options = [f"-Wl,--version-script={script}"]
        code = "".join(f"int {name}(void) {{ return 1; }}\n" for name in names)
        shells.append(compile_library(folder, soname, code, *options))
        calls += names
    body = "".join(f"int {name}();\n" for name in calls)
    body += "int guest(void) { return " + " + ".join(f"{name}()" for name in calls) + "; }\n"
    return compile_library(folder, "libguest.so", body, *shells)


class LibrariesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        shells = os.path.join(cls.temporary.name, "shells")
        cls.out = os.path.join(cls.temporary.name, "out")
        os.makedirs(shells)
        cls.guest = make_guest(shells)
        cls.made = subprocess.run(
            [sys.executable, os.path.join(TOOLS, "generate_libraries.py"), "--scan", cls.guest,
             "--provided", PROVIDED, "--out", cls.out],
            capture_output=True, text=True, check=False)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def load(self, soname):
        return ctypes.CDLL(os.path.join(self.out, soname))

    def test_one_library_for_each_that_is_imported(self):
        self.assertEqual(self.made.returncode, 0, self.made.stderr)
        made = [line.split(":")[0] for line in self.made.stdout.splitlines()]
        self.assertEqual(made, sorted(WANTED))

    def test_symbols_have_the_versions_that_are_asked_for(self):
        code = ("import ctypes, sys; [ctypes.CDLL(p, mode=ctypes.RTLD_GLOBAL | 2)"
                " for p in sys.argv[1:]]")  # 2: RTLD_NOW, all names must be found
        done = subprocess.run([sys.executable, "-c", code, self.guest],
                              env={**os.environ, "LD_LIBRARY_PATH": self.out},
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("no version information", done.stderr)

    def test_versions_are_read_and_written(self):
        names = elf_imports.Imports(self.guest).names
        for soname, (node, functions) in WANTED.items():
            for function in functions:
                self.assertEqual(names[function][0], node)
            done = subprocess.run(["readelf", "-W", "--dyn-syms", os.path.join(self.out, soname)], capture_output=True,
                                  text=True, check=True)
            self.assertEqual(done.stderr, "")
            made = dict(re.findall(r" FUNC .* \d+ (\w+)(?:@@(\S+))?$", done.stdout, re.M))
            self.assertEqual({made[function] for function in functions}, {node or ""})

    def test_names_of_no_table_are_there_too(self):
        self.assertEqual(self.load("libcublas.so.12").cublasBrandNew(1, 2, 3), 0)

    def test_handles_remember(self):
        blas = self.load("libcublas.so.12")
        handle, mode = ctypes.c_void_p(), ctypes.c_int(7)
        self.assertEqual(blas.cublasCreate_v2(ctypes.byref(handle)), 0)
        self.assertTrue(handle.value)
        blas.cublasSetPointerMode_v2(handle, 1)
        blas.cublasGetPointerMode_v2(handle, ctypes.byref(mode))
        self.assertEqual(mode.value, 1)
        self.assertEqual(blas.cublasDestroy_v2(handle), 0)
        self.assertEqual(blas.cublasSetMathMode(None, 1), 1)

    def test_workspaces_and_versions(self):
        size = ctypes.c_int(-5)
        solver = self.load("libcusolver.so.11")
        solver.cusolverDnSgetrf_bufferSize(None, 4, 4, None, 4, ctypes.byref(size))
        self.assertEqual(size.value, 16384)
        nonzero = ctypes.c_int(12345)
        arguments = [None] * 11 + [ctypes.byref(nonzero), None]
        self.load("libcusparse.so.12").cusparseXcsrgeam2Nnz(*arguments)
        self.assertEqual(nonzero.value, 0)
        self.assertGreaterEqual(self.load("libcudnn.so.9").cudnnGetVersion(), 90000)
        version = ctypes.c_int()
        self.load("libcublas.so.12").cublasGetVersion_v2(None, ctypes.byref(version))
        self.assertEqual(version.value // 10000, 12)
        part = ctypes.c_int(-1)
        self.load("libcudnn.so.9").cudnnGetProperty(0, ctypes.byref(part))
        self.assertEqual(part.value, 9)

    def test_one_algorithm_for_a_multiplication(self):
        lt = self.load("libcublasLt.so.12")
        results, found = (ctypes.c_char * 96)(), ctypes.c_int(-1)
        status = lt.cublasLtMatmulAlgoGetHeuristic(None, None, None, None, None, None, None, 1,
                                                   results, ctypes.byref(found))
        self.assertEqual((status, found.value), (0, 1))
        self.assertEqual(results.raw[64:76], bytes(12))  # no workspace, success
        self.assertNotEqual(lt.cublasLtMatmulAlgoGetHeuristic(
            None, None, None, None, None, None, None, 0, results, ctypes.byref(found)), 0)
        self.assertEqual(found.value, 0)

    def test_backend_descriptors_keep_and_compute(self):
        dnn = self.load("libcudnn.so.9")
        plan, tensor = ctypes.c_void_p(), ctypes.c_void_p()
        self.assertEqual(dnn.cudnnBackendCreateDescriptor(5, ctypes.byref(plan)), 0)
        self.assertEqual(dnn.cudnnBackendCreateDescriptor(17, ctypes.byref(tensor)), 0)
        count, value = ctypes.c_int64(-1), ctypes.c_int64(-1)
        dnn.cudnnBackendGetAttribute(plan, 402, 3, ctypes.c_int64(1), ctypes.byref(count),
                                     ctypes.byref(value))
        self.assertEqual((count.value, value.value), (1, 1 << 20))
        dims = (ctypes.c_int64 * 4)(2, 3, 5, 7)
        dnn.cudnnBackendSetAttribute(tensor, 901, 3, ctypes.c_int64(4), dims)
        got = (ctypes.c_int64 * 4)()
        dnn.cudnnBackendGetAttribute(tensor, 901, 3, ctypes.c_int64(2), ctypes.byref(count), got)
        self.assertEqual((count.value, list(got)), (4, [2, 3, 0, 0]))
        self.assertEqual(dnn.cudnnBackendDestroyDescriptor(tensor), 0)
        self.assertNotEqual(dnn.cudnnBackendFinalize(None), 0)

    def test_recurrent_weights_do_not_overlap(self):
        dnn = self.load("libcudnn.so.9")
        for mode, gates, projection in ((2, 4, 16), (3, 3, 48), (0, 1, 0)):
            rnn = ctypes.c_void_p()
            dnn.cudnnCreateRNNDescriptor(ctypes.byref(rnn))
            dnn.cudnnSetRNNDescriptor_v8(rnn, 0, mode, 2, 1, 0, 0, 0, 0, 32, 48, projection, 2,
                                         None, 0)
            total = ctypes.c_size_t()
            dnn.cudnnGetRNNWeightSpaceSize(None, rnn, ctypes.byref(total))
            taken = []
            for layer in range(4):
                for linear in range(2 * gates + 1):
                    taken += self.parameters(dnn, rnn, layer, linear)
            taken.sort()
            self.assertEqual(sum(size for _, size in taken), total.value)
            for (at, size), (after, _) in zip(taken, taken[1:]):
                self.assertEqual(at + size, after)

    def test_upper_layers_take_what_lower_ones_give(self):
        dnn = self.load("libcudnn.so.9")
        rnn = ctypes.c_void_p()
        dnn.cudnnCreateRNNDescriptor(ctypes.byref(rnn))
        dnn.cudnnSetRNNDescriptor_v8(rnn, 0, 2, 2, 0, 0, 0, 0, 0, 32, 48, 16, 2, None, 0)
        sizes = [self.parameters(dnn, rnn, layer, linear)[0][1] for layer, linear in
                 ((0, 0), (0, 4), (1, 0), (1, 8))]
        self.assertEqual(sizes, [4 * 48 * 32, 4 * 48 * 16, 4 * 48 * 16, 4 * 16 * 48])

    @staticmethod
    def parameters(dnn, rnn, layer, linear):
        """(offset, bytes) of the weights and the bias, if they exist."""
        base = 1 << 20
        tensors = [ctypes.c_void_p(), ctypes.c_void_p()]
        places = [ctypes.c_void_p(), ctypes.c_void_p()]
        for tensor in tensors:
            dnn.cudnnCreateTensorDescriptor(ctypes.byref(tensor))
        dnn.cudnnGetRNNWeightParams(None, rnn, layer, ctypes.c_size_t(0), ctypes.c_void_p(base),
                                    linear, tensors[0], ctypes.byref(places[0]), tensors[1],
                                    ctypes.byref(places[1]))
        found = []
        for tensor, place in zip(tensors, places):
            if place.value:
                kind, dims, extents = ctypes.c_int(), ctypes.c_int(), (ctypes.c_int * 8)()
                dnn.cudnnGetTensorNdDescriptor(tensor, 8, ctypes.byref(kind), ctypes.byref(dims),
                                               extents, (ctypes.c_int * 8)())
                size = 4
                for i in range(dims.value):
                    size *= extents[i]
                found.append((place.value - base, size))
        return found

    def test_compiler_keeps_kernels_names(self):
        rtc = self.load("libnvrtc.so.12")
        program, size = ctypes.c_void_p(), ctypes.c_size_t()
        source = (b'extern "C" __global__ __launch_bounds__(256, 2)\nvoid scale(float* x) {}\n'
                  b"template <class T> __global__ void add(T a) {}\n")
        rtc.nvrtcCreateProgram(ctypes.byref(program), source, b"x.cu", 0, None, None)
        rtc.nvrtcAddNameExpression(program, b"add<float>")
        self.assertEqual(rtc.nvrtcCompileProgram(program, 0, None), 0)
        rtc.nvrtcGetPTXSize(program, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value)
        rtc.nvrtcGetPTX(program, text)
        kernels = re.findall(rb"\.entry (\w+)", text.value)
        self.assertEqual(sorted(kernels), [b"add", b"add_float_", b"scale"])
        name = ctypes.c_char_p()
        rtc.nvrtcGetLoweredName(program, b"add<float>", ctypes.byref(name))
        self.assertEqual(name.value, b"add_float_")
        self.assertEqual(rtc.nvrtcDestroyProgram(ctypes.byref(program)), 0)
        self.assertIsNone(program.value)

    def test_libraries_that_are_opened_by_name(self):
        out = os.path.join(self.temporary.name, "opened")
        subprocess.run([sys.executable, os.path.join(TOOLS, "generate_libraries.py"), "--opened", "libcublas.so.12",
                        "libnvidia-ml.so.1", "--provided", PROVIDED, "--out", out], check=True,
                       stdout=subprocess.DEVNULL)
        cublas = ctypes.CDLL(os.path.join(out, "libcublas.so.12"))
        handle = ctypes.c_void_p()
        self.assertEqual(cublas.cublasCreate_v2(ctypes.byref(handle)), 0)
        self.assertTrue(handle.value)
        self.assertTrue(os.path.exists(os.path.join(out, "libnvidia-ml.so.1")))

    def test_calls_are_counted_and_traced(self):
        code = ("import ctypes; l = ctypes.CDLL('libcublas.so.12'); "
                "[l.cublasBrandNew() for _ in range(3)]")
        for wish, expected in (("count", "[libcublas.so.12] cublasBrandNew 3"),
                               ("trace", "[libcublas.so.12] cublasBrandNew"), ("", None)):
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                                  env={**os.environ, "LD_LIBRARY_PATH": self.out,
                                       "SIMCUDA_LIBRARIES": wish}, check=False)
            lines = done.stderr.splitlines()
            self.assertEqual(lines.count(expected), {"count": 1, "trace": 3, "": 0}[wish], lines)


# What the rules with a known result write.
WRITTEN = {"size4": 16384, "size8": 65536, "zero4": 0, "zero8": 0, "minus4": 2**32 - 1, "major4": 9, "minor4": 0}
UNTOUCHED = 0x5a5a5a5a5a5a5a5a


class TableTest(unittest.TestCase):
    def test_every_rule_does_what_it_says(self):
        """One function without own code for each kind of rule, called with places for 24 results."""
        examples = {}
        for stem, functions in generate_libraries.read_table().items():
            part = os.path.join(PROVIDED, "libraries", stem + ".so")
            own = elf_imports.Imports(part).defined if os.path.exists(part) else ()
            for name, rules in functions.items():
                for rule in () if name in own else rules:
                    examples.setdefault(rule.partition("@")[0], (stem + ".so.9", name, rules))
        self.assertLess(set(WRITTEN), set(examples))
        with tempfile.TemporaryDirectory() as out:
            subprocess.run([sys.executable, os.path.join(TOOLS, "generate_libraries.py"), "--opened",
                            *{soname for soname, _, _ in examples.values()}, "--provided", PROVIDED, "--out", out],
                           check=True, stdout=subprocess.DEVNULL)
            for kind, (soname, name, rules) in examples.items():
                with self.subTest(kind=kind, name=name):
                    self.check_rule(getattr(ctypes.CDLL(os.path.join(out, soname)), name), kind, rules)

    def check_rule(self, function, kind, rules):
        places = (ctypes.c_uint64 * 48)(*[UNTOUCHED] * 48)
        function.restype = ctypes.c_long
        result = function(*[ctypes.byref(places, 16 * i + 8) for i in range(24)])
        at = [2 * int(rule.partition("@")[2]) + 1 for rule in rules if "@" in rule and rule.partition("@")[0] == kind]
        if not at:  # "text", "version" and "fails" return something
            self.assertTrue(result)
        for place in at:
            written, width = places[place], 4 if kind[-1] == "4" else 8
            if kind == "free":  # which leaves what is no handle
                self.assertEqual(written, UNTOUCHED)
                continue
            self.assertNotEqual(written, UNTOUCHED)
            self.assertEqual(written >> 32 == UNTOUCHED >> 32, width == 4)
            self.assertEqual(written % 2 ** (8 * width), WRITTEN.get(kind, written % 2 ** (8 * width)))

    def test_parameters_tell_the_rules(self):
        pointers = {"thing_t", "cusolverDnHandle_t"}
        cases = {
            "int cusolverDnSgetrf_bufferSize(cusolverDnHandle_t h, int m, float *A, int *Lwork);":
                ["size4@3"],
            "int cusolverCreateThing(float alpha, thing_t *made);": ["handle@0"],
            "int cusolverDestroyThing(thing_t one);": ["free@0"],
            "int cusolverGetThings(thing_t one, const int *in, int64_t *rows);": ["zero8@2"],
            "const char *cusolverGetName(int status);": ["text"],
        }
        for text, rules in cases.items():
            got = list(lister.functions_of(text, "cusolver", pointers, set()))
            self.assertEqual([found for _, found in got], [rules], text)

    def test_table_is_what_the_headers_say(self):
        include = "/usr/local/cuda/include"
        version = os.path.join(include, "cublas_api.h")
        if not os.path.exists(version) or not all(
                os.path.exists(os.path.join(include, one))
                for _, files, _ in lister.HEADERS for one in files):
            self.skipTest("the headers of all libraries are not here")
        with open(version, encoding="utf-8", errors="replace") as file:
            if not re.search(r"CUBLAS_VER_MAJOR 13\n#define CUBLAS_VER_MINOR 1\b", file.read()):
                self.skipTest("the headers are of another version than the table")
        made = subprocess.run([sys.executable, os.path.join(TOOLS, "list_library_functions.py"),
                               "--include", include], capture_output=True, text=True, check=True)
        with open(TABLE, encoding="utf-8") as file:
            self.assertEqual(made.stdout, file.read())


class ImportsTest(unittest.TestCase):
    def test_hostile_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "lib.so")
            for content in (b"", b"text", b"\x7fELF\x02\x01", b"\x7fELF\x02\x01" + b"\xff" * 400):
                with open(path, "wb") as file:
                    file.write(content)
                with self.assertRaises(elf_imports.NotElf):
                    elf_imports.Imports(path)

    def test_truncated_copies_never_surprise(self):
        with tempfile.TemporaryDirectory() as folder:
            guest = make_guest(folder)
            with open(guest, "rb") as file:
                whole = file.read()
            path = os.path.join(folder, "cut.so")
            for end in range(64, len(whole), len(whole) // 40):
                with open(path, "wb") as file:
                    file.write(whole[:end])
                try:
                    elf_imports.Imports(path)
                except elf_imports.NotElf:
                    pass


if __name__ == "__main__":
    unittest.main()
