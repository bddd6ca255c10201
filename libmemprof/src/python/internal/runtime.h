// Finds a CPython in this process, and the functions of it that the recorder calls: some may be
// called without the GIL, the others are called with it from a pending call.
#pragma once

#include <cstdint>

#include "libmemprof/src/python/walk.h"

namespace memprof::recorder {

struct PythonRuntime {
  // May be called without the GIL, by any thread.
  const char* (*version)() = nullptr;                   // Py_GetVersion
  void* (*thread_state)() = nullptr;                    // PyGILState_GetThisThreadState
  int (*finalizing)() = nullptr;                        // [_]Py_IsFinalizing
  int (*add_pending)(int (*)(void*), void*) = nullptr;  // Py_AddPendingCall
  void* (*holder)() = nullptr;  // _PyThreadState_UncheckedGet, to 3.12: who holds the GIL
  // Need the GIL.
  void* (*frame)() = nullptr;                        // PyEval_GetFrame: borrowed
  void* (*attribute)(void*, const char*) = nullptr;  // PyObject_GetAttrString: owned
  const char* (*text)(void*) = nullptr;              // PyUnicode_AsUTF8
  long (*number)(void*) = nullptr;                   // PyLong_AsLong
  void (*release)(void*) = nullptr;                  // Py_DecRef
  void (*clear_error)() = nullptr;                   // PyErr_Clear
  // Data.
  const void* runtime = nullptr;  // _PyRuntime
  std::uint64_t code_type = 0;    // the type objects of the objects that are read
  std::uint64_t text_type = 0;
  std::uint64_t bytes_type = 0;
  InterpreterCode code;  // the loops' is _PyEval_EvalFrameDefault, by its symbol

  bool found() const { return runtime != nullptr; }
};

// Searches the loaded modules; all results are from one of them. Takes the loader's list lock, and
// no lock of ours meanwhile.
PythonRuntime FindPythonRuntime();

// The y of a version text that begins "3.y."; -1 for other texts.
int MinorVersion(const char* version);

}  // namespace memprof::recorder
