// Exports the names by which a CPython is recognised, without its data structures:
// PROGRAM VERSION null|garbage|loop|unmapped. Then it allocates, which makes the recorder read
// them.
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

namespace {

const char* g_version;
uint64_t g_words[4096];
void* g_thread_state;

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default"), used))

#define PRESENT __attribute__((visibility("default"), used))

extern "C" {
PRESENT char _PyRuntime[4096] = "xdebugpy";
PRESENT char PyCode_Type[16] = {};
PRESENT char PyUnicode_Type[16] = {};
PRESENT char PyBytes_Type[16] = {};
}
EXPORTED const char* Py_GetVersion() { return g_version; }
EXPORTED void* PyGILState_GetThisThreadState() { return g_thread_state; }
EXPORTED int _Py_IsFinalizing() { return 0; }
EXPORTED int Py_AddPendingCall(int (*)(void*), void*) { return 0; }
EXPORTED void* PyEval_GetFrame() { return nullptr; }
EXPORTED void* PyObject_GetAttrString(void*, const char*) { return nullptr; }
EXPORTED const char* PyUnicode_AsUTF8(void*) { return nullptr; }
EXPORTED long PyLong_AsLong(void*) { return 0; }
EXPORTED void Py_DecRef(void*) {}
EXPORTED void PyErr_Clear() {}

int main(int count, char** arguments) {
  if (count < 3) return 2;
  g_version = arguments[1];
  const char* lie = arguments[2];
  uint64_t value = 0;
  for (uint64_t& word : g_words) {
    // Random numbers; a pointer to itself; or an address that is not mapped.
    value = value * 6364136223846793005u + 1442695040888963407u;
    word = strcmp(lie, "garbage") == 0 ? value >> value % 60
           : strcmp(lie, "loop") == 0  ? reinterpret_cast<uint64_t>(g_words)
                                       : uint64_t{1} << 46;
  }
  if (strcmp(lie, "null") != 0) g_thread_state = g_words;
  void* memory = nullptr;
  for (int i = 0; i < 10; ++i)
    if (cudaMalloc(&memory, 1000) != cudaSuccess) return 1;
  printf("done\n");
  return 0;
}
