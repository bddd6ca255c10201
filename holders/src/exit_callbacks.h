// What atexit will call. CPython 3.9 to 3.13 keep it in a table in C, which the collector does not
// see; later ones in a list.
#pragma once

#include "holders/src/python_api.h"

namespace memprof::holders {

// A new list of (function, arguments, keywords or None), empty if the table is not found or has
// very many; null with an exception set without memory. `count`: of its entries; `known`: a
// function in one of them, by which it is known. Only memory that was read before by the kernel,
// which does not fail, is read as objects.
PyObject* ExitCallbacks(PyObject* module, PyObject* known, std::uint32_t count, int minor);

}  // namespace memprof::holders
