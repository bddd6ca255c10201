// The part of CPython's C interface that is used here. Python's headers are not needed to build:
// the functions have the same meaning in all versions (they are part of the stable interface,
// except PyObject_IS_GC), and the loader finds them in the interpreter that loads this library.
//
// A few fields are read directly. Their offsets are the same in CPython 3.9 to 3.14, in builds with
// a GIL and without Py_TRACE_REFS; LayoutIsKnown of look.cc compares them with what the functions
// say, and there is no look if they differ.
#pragma once

#include <cstddef>
#include <cstdint>

struct PyObject;

namespace memprof::holders {

using Visit = int (*)(PyObject*, void*);
using Traverse = int (*)(PyObject*, Visit, void*);

inline constexpr std::size_t kOfObjectReferences = 0;
inline constexpr std::size_t kOfObjectType = 8;
inline constexpr std::size_t kOfTypeFlags = 168;
inline constexpr std::size_t kOfTypeTraverse = 184;
inline constexpr std::size_t kOfTypeDict = 264;
inline constexpr unsigned long kFlagHasGc = 1ul << 14;
inline constexpr unsigned long kFlagHeapType = 1ul << 9;  // not one of C
inline constexpr unsigned long kFlagIsType = 1ul << 31;   // of a metaclass

template <typename T>
T FieldAt(const void* object, std::size_t offset) {
  return *reinterpret_cast<const T*>(static_cast<const char*>(object) + offset);
}
inline PyObject* TypeOf(const PyObject* object) {
  return FieldAt<PyObject*>(object, kOfObjectType);
}
// From 3.12 on the upper half of an immortal object's count has other meanings.
inline std::uint32_t ReferencesTo(const PyObject* object) {
  return FieldAt<std::uint32_t>(object, kOfObjectReferences);
}

}  // namespace memprof::holders

extern "C" {
extern PyObject PyType_Type, PyList_Type, PyDict_Type, PyTuple_Type, PyFunction_Type;
extern PyObject _Py_NoneStruct;
extern PyObject* PyExc_RuntimeError;
int PyObject_IS_GC(PyObject* object);
unsigned long PyType_GetFlags(PyObject* type);
int PyType_IsSubtype(PyObject* type, PyObject* base);
std::ptrdiff_t PyList_Size(PyObject* list);
PyObject* PyList_GetItem(PyObject* list, std::ptrdiff_t index);  // borrowed
PyObject* PyList_New(std::ptrdiff_t size);
int PyList_SetItem(PyObject* list, std::ptrdiff_t index, PyObject* item);  // takes the reference
int PyList_Append(PyObject* list, PyObject* item);
PyObject* PyTuple_New(std::ptrdiff_t size);
std::ptrdiff_t PyTuple_Size(PyObject* tuple);
PyObject* PyTuple_GetItem(PyObject* tuple, std::ptrdiff_t index);            // borrowed
int PyTuple_SetItem(PyObject* tuple, std::ptrdiff_t index, PyObject* item);  // takes the reference
PyObject* PyBytes_FromStringAndSize(const char* bytes, std::ptrdiff_t size);
PyObject* PyLong_FromLongLong(long long value);
long long PyLong_AsLongLong(PyObject* value);
PyObject* PyFunction_GetGlobals(PyObject* function);      // borrowed
PyObject* PyDict_GetItem(PyObject* dict, PyObject* key);  // borrowed
int PySet_Contains(PyObject* set, PyObject* key);
PyObject* PyObject_CallObject(PyObject* callable, PyObject* arguments);
int Py_IsFinalizing() __attribute__((weak));   // from 3.13 on
int _Py_IsFinalizing() __attribute__((weak));  // before
void* PyModule_GetState(PyObject* module);
void* PyInterpreterState_Get();  // a PyInterpreterState
int Py_AddPendingCall(int (*call)(void*), void* argument);
void PyErr_SetString(PyObject* kind, const char* text);
void Py_IncRef(PyObject* object);
void Py_DecRef(PyObject* object);
}
