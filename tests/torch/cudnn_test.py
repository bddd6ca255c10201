"""The stand-in of cuDNN's backend interface, called as PyTorch calls it: which workspaces the plans for a convolution
have, by its own estimate, by a real cuDNN (here one that the test makes), and where that one fails."""
import ctypes
import os
import subprocess
import sys
import tempfile
import unittest

SIMCUDA = os.path.join(os.path.abspath(sys.argv.pop(1)), "simcuda")
MIB = 1 << 20
INT64, FLOAT, MODE, HEURISTIC, NOTE, DESCRIPTOR = 3, 4, 7, 8, 11, 15
DATA_TYPE = 1
OPERATIONS = {"forward": (10, 702), "backward_filter": (11, 714), "backward_data": (12, 708)}
FLOAT32, FLOAT16 = 0, 2


class Backend:
    def __init__(self):
        ctypes.CDLL(os.path.join(SIMCUDA, "libcuda.so.1"), ctypes.RTLD_GLOBAL).cuInit(0)
        self.library = ctypes.CDLL(os.path.join(SIMCUDA, "libraries", "libcudnn.so"))

    def make(self, kind):
        made = ctypes.c_void_p()
        assert self.library.cudnnBackendCreateDescriptor(kind, ctypes.byref(made)) == 0
        return made.value

    def set(self, to, name, kind, *values):
        of = {INT64: ctypes.c_int64, FLOAT: ctypes.c_float, DESCRIPTOR: ctypes.c_void_p}.get(kind, ctypes.c_int)
        array = (of * len(values))(*values)
        assert self.library.cudnnBackendSetAttribute(ctypes.c_void_p(to), name, kind,
                                                     ctypes.c_int64(len(values)), array) == 0

    def get(self, descriptor, name, kind, array):
        count = ctypes.c_int64()
        assert self.library.cudnnBackendGetAttribute(ctypes.c_void_p(descriptor), name, kind,
                                                     ctypes.c_int64(len(array) if array else 0), ctypes.byref(count),
                                                     array) == 0
        return count.value

    def finish(self, descriptor):
        assert self.library.cudnnBackendFinalize(ctypes.c_void_p(descriptor)) == 0
        return descriptor

    def tensor(self, extents, kind, last):
        made = self.make(17)
        order = [0, *range(2, len(extents)), 1] if last else range(len(extents))
        strides, size = [0] * len(extents), 1
        for at in reversed(list(order)):
            strides[at], size = size, size * extents[at]
        self.set(made, 901, DATA_TYPE, kind)
        self.set(made, 902, INT64, *extents)
        self.set(made, 903, INT64, *strides)
        self.set(made, 900, INT64, 16)
        return self.finish(made)

    def plans(self, kind, x, w, y, stride=1, type_=FLOAT32, last=False, mode=0):
        """(workspace, notes) of each plan that the heuristics give."""
        convolution = self.make(1)
        space = len(x) - 2
        for name, value in ((102, 1), (103, stride), (104, w[2] // 2), (105, w[2] // 2)):
            self.set(convolution, name, INT64, *[value] * space)
        operation, first = OPERATIONS[kind]
        operation = self.make(operation)
        self.set(operation, first, DESCRIPTOR, self.finish(convolution))
        for at, extents in enumerate((w, x, y), 1):
            self.set(operation, first + at, DESCRIPTOR, self.tensor(extents, type_, last))
        graph, heuristics = self.make(15), self.make(4)
        self.set(graph, 801, DESCRIPTOR, self.finish(operation))
        self.set(heuristics, 201, DESCRIPTOR, self.finish(graph))
        self.set(heuristics, 200, HEURISTIC, mode)
        self.finish(heuristics)
        count = self.get(heuristics, 202, DESCRIPTOR, None)
        array = (ctypes.c_void_p * count)(*[self.make(3) for _ in range(count)])
        self.get(heuristics, 202, DESCRIPTOR, array)
        return [self.plan(configuration) for configuration in array]

    def plan(self, configuration):
        engine = (ctypes.c_void_p * 1)(self.make(2))
        self.get(configuration, 300, DESCRIPTOR, engine)
        notes = (ctypes.c_int * 10)()
        count = self.get(engine[0], 1303, NOTE, notes)
        plan, workspace = self.make(5), (ctypes.c_int64 * 1)()
        self.set(plan, 401, DESCRIPTOR, configuration)
        self.get(self.finish(plan), 402, INT64, workspace)
        return workspace[0], tuple(notes[:count])


def in_process(code, **environment):
    """What `code` prints, in a process of its own, since settings are read once; then its lines on stderr."""
    program = f"import sys; sys.argv = ['x', {os.path.dirname(SIMCUDA)!r}]\n" \
              f"sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})\n" \
              f"from cudnn_test import *\nbackend = Backend()\n{code}"
    run = subprocess.run([sys.executable, "-B", "-c", program], capture_output=True, text=True, timeout=60, check=True,
                         env={**os.environ, "LD_LIBRARY_PATH": SIMCUDA, **environment})
    return eval(run.stdout), run.stderr.splitlines()


IMAGES = [32, 64, 56, 56]
BYTES = 4 * 32 * 64 * 56 * 56
FILTER = 4 * 64 * 64 * 9
THREE = "[32, 64, 56, 56], [64, 64, 3, 3], [32, 64, 56, 56]"

# A cuDNN of two plans, whose workspaces tell the capability and the first extent that it was asked about.
FAKE = r"""
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
static int64_t images, capability; static int configurations, asked;
int cudnnBackendCreateDescriptor(int type, void** made) { *made = malloc(8); *(int*)*made = type; return 0; }
int cudnnBackendDestroyDescriptor(void* made) { free(made); return 0; }
int cudnnBackendFinalize(void* made) { (void)made; return 0; }
int cudnnBackendSetAttribute(void* d, int name, int type, int64_t count, const void* values) {
  (void)d, (void)type, (void)count;
  if (name == 902) images = ((const int64_t*)values)[0];
  if (name == 2702) capability = atoi(strchr((const char*)values, ':') + 1);
  return 0;
}
int cudnnBackendGetAttribute(void* d, int name, int type, int64_t wanted, int64_t* count, void* values) {
  (void)d, (void)type, (void)wanted;
  DEFECT
  if (name == 202) *count = 2;
  if (name == 402) *(int64_t*)values = capability * 1000 + images + asked++ % 2;
  if (name == 1303) { *count = 1; *(int*)values = 0; }
  return 0;
}
"""


class CudnnTest(unittest.TestCase):
    def on(self, gpu, calls, **environment):
        return in_process(f"print([{calls}])", SIMCUDA=f"gpu={gpu}", **environment)

    def test_tensor_cores_get_copies(self):
        calls = f"backend.plans('backward_data', {THREE})[0], backend.plans('backward_filter', {THREE})[0]"
        for gpu in ("RTX3060-12GB", "L4", "A100-40GB", "H100-80GB"):
            found, _ = self.on(gpu, calls)
            self.assertEqual(found, [(2 * BYTES + FILTER, (0,))] * 2, gpu)

    def test_nothing_without_tensor_cores(self):
        calls = f"backend.plans('forward', {THREE}), backend.plans('backward_data', {THREE})"
        self.assertEqual(self.on("V100-16GB", calls)[0], [[(0, ())]] * 2)

    def test_a_last_plan_needs_nothing(self):
        """It runs where TF32 is not allowed, or where memory does not suffice."""
        found, _ = self.on("A100-40GB", f"backend.plans('backward_data', {THREE})")
        self.assertEqual(found[0][-1], (0, ()))
        self.assertGreater(len(found[0]), 1)

    def test_channels_last_and_halves(self):
        calls = f"backend.plans('backward_data', {THREE}, last=True), " \
                f"backend.plans('backward_data', {THREE}, type_=FLOAT16), " \
                f"backend.plans('backward_data', {THREE}, type_=FLOAT16, last=True)"
        found, _ = self.on("V100-16GB", calls)
        self.assertEqual(found[0], [(0, ())])
        self.assertEqual(found[1][0], ((2 * BYTES + FILTER) // 2, (0,)))
        self.assertEqual(found[2], [(0, ())])
        self.assertEqual(self.on("H100-80GB", calls)[0][0], [(0, ())])
        self.assertEqual(self.on("A100-40GB", calls)[0][0][0], (BYTES + FILTER, (0,)))

    def test_forward(self):
        strided = "[32, 64, 56, 56], [64, 64, 3, 3], [32, 64, 28, 28], 2"
        calls = f"backend.plans('forward', {THREE})[0][0], backend.plans('forward', {strided})[0][0]"
        self.assertEqual(self.on("RTX3060-12GB", calls)[0], [0, BYTES + FILTER])
        self.assertEqual(self.on("A100-40GB", calls)[0], [BYTES + FILTER] * 2)
        self.assertEqual(self.on("H100-80GB", calls)[0], [2 * BYTES + FILTER, BYTES + BYTES // 4 + FILTER])

    def test_first_layer_and_groups(self):
        calls = "backend.plans('backward_filter', [32, 3, 56, 56], [64, 3, 3, 3], [32, 64, 56, 56])[0][0], " \
                "backend.plans('backward_data', [32, 64, 56, 56], [64, 8, 3, 3], [32, 64, 56, 56])[0][0]"
        self.assertEqual(self.on("RTX3060-12GB", calls)[0], [0, 0])

    def test_padded_copies_of_few_uneven_channels(self):
        """Up to 650,000 pixels, on 8.6."""
        def call(images, k):
            return f"backend.plans('backward_data', [{images}, 16, 43, 43], [{k}, 16, 1, 1], " \
                   f"[{images}, {k}, 43, 43])[0][0]"
        found, _ = self.on("RTX3060-12GB", f"{call(300, 48)}, {call(300, 64)}, {call(400, 48)}")
        self.assertEqual(found, [4 * (300 * 43 * 43 * 256 + 16 * 48), 0, 0])
        self.assertEqual(self.on("RTX4060", call(300, 48))[0], [0])

    def of_both(self, *calls):
        """The workspaces on 8.6, and on 8.9."""
        text = ", ".join(f"backend.plans({call})[0][0]" for call in calls)
        return self.on("RTX3060-12GB", text)[0], self.on("RTX4060", text)[0]

    def test_one_pixel_with_a_padded_result(self):
        """All copies, and the result with its channels filled up to 128."""
        forward = "'forward', [400, 32, 43, 43], [16, 32, 1, 1], [400, 16, 43, 43]"
        data = "'backward_data', [8, 40, 11, 11], [240, 40, 1, 1], [8, 240, 11, 11]"
        narrowing = "'backward_data', [8, 576, 6, 6], [96, 576, 1, 1], [8, 96, 6, 6]"
        large, of_data = 4 * (400 * 1849 * (32 + 16 + 128) + 512), 4 * (8 * 121 * (40 + 240 + 128) + 9600)
        of_narrowing = 4 * (8 * 36 * (576 + 96 + 640) + 576 * 96)
        self.assertEqual(self.of_both(forward, data, narrowing), ([large, 0, 0], [0, of_data, of_narrowing]))

    def test_one_pixel_by_extent(self):
        few = "'forward', [300, 32, 43, 43], [16, 32, 1, 1], [300, 16, 43, 43]"
        small = "'forward', [900, 96, 28, 28], [48, 96, 1, 1], [900, 48, 28, 28]"
        middle = "'backward_data', [8, 240, 11, 11], [40, 240, 1, 1], [8, 40, 11, 11]"
        expanding = "'forward', [8, 16, 28, 28], [96, 16, 1, 1], [8, 96, 28, 28]"
        strided = "'backward_data', [8, 32, 44, 44], [32, 32, 1, 1], [8, 32, 22, 22], 2"
        wide = "'forward', [8, 256, 22, 22], [64, 256, 1, 1], [8, 64, 22, 22]"
        deep = "'backward_data', [8, 96, 6, 6], [576, 96, 1, 1], [8, 576, 6, 6]"
        copies = 4 * (8 * 784 * (16 + 96) + 16 * 96)
        of_strided = 4 * (8 * (32 + 128) * 44 * 44 + 8 * 32 * 22 * 22 + 1024)
        of_wide, of_deep = 4 * (8 * 256 * 484 + 64 * 256), 4 * (8 * 576 * 36 + 576 * 96)
        self.assertEqual(self.of_both(few, small, middle, expanding, strided, wide, deep),
                         ([0, 0, 0, 0, of_strided, of_wide, of_deep],
                          [0, 0, 0, copies, 0, 0, of_deep + 4 * 8 * 36 * (96 + 128)]))

    def test_groups(self):
        deep = "[8, 64, 11, 11], [64, 16, 3, 3], [8, 64, 11, 11]"
        strided = "'forward', [8, 64, 28, 28], [64, 8, 3, 3], [8, 64, 14, 14], 2"
        copies, copied = 4 * (8 * 121 * 128 + 64 * 144), 4 * (8 * 64 * 784 + 64 * 72)
        padded = copies + 4 * 8 * 121 * 128
        self.assertEqual(self.of_both(f"'forward', {deep}", f"'backward_data', {deep}", f"'backward_filter', {deep}",
                                      strided), ([copies, 0, 0, copied], [copies, padded, 0, 0]))

    def test_other_graphs_keep_their_assumption(self):
        code = "h = backend.make(4)\na = (ctypes.c_void_p * 1)(backend.make(3))\n" \
               "backend.get(h, 202, DESCRIPTOR, a)\nprint(backend.plan(a[0]))"
        self.assertEqual(in_process(code)[0], (MIB, ()))

    def test_fixed_size(self):
        found, _ = self.on("A100-40GB", f"backend.plans('backward_data', {THREE})", SIMCUDA_CUDNN_MIB="1")
        self.assertEqual(found, [[(MIB, ())]])

    def fake_cudnn(self, folder, defect=""):
        source = os.path.join(folder, "fake.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write(FAKE.replace("DEFECT", defect))
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", os.path.join(folder, "libcudnn.so.9"), source], check=True)
        return folder

    def test_a_real_one_is_asked(self):
        with tempfile.TemporaryDirectory() as folder:
            found, errors = self.on("RTX3060-12GB", f"backend.plans('forward', {THREE})",
                                    SIMCUDA_CUDNN=self.fake_cudnn(folder))
        self.assertEqual(found, [[(860032, (0,)), (860033, (0,))]])
        self.assertEqual(errors, [])

    def test_one_that_ends_or_is_missing(self):
        calls = f"backend.plans('backward_data', {THREE})[0][0], backend.plans('backward_data', {THREE})[0][0]"
        with tempfile.TemporaryDirectory() as folder:
            for path in (folder, self.fake_cudnn(folder, "abort();")):
                found, errors = self.on("RTX3060-12GB", calls, SIMCUDA_CUDNN=path)
                self.assertEqual(found, [2 * BYTES + FILTER] * 2)
                self.assertEqual(len([line for line in errors if line.startswith("simcuda: ")]), 1, errors)


if __name__ == "__main__":
    unittest.main()
