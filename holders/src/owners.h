// Which functions and classes are the program's own, and which a library's: by the name of the
// module in their namespace. No code of the program runs.
//
// A path from a variable of the user's that leads through a class or function of a library is none
// by which anybody thinks of an object: from torch.nn.Module nearly everything can be reached.
#pragma once

#include "holders/src/python_api.h"

namespace memprof::holders {

class Owners {
 public:
  // `names`: frozenset of the names of the user's modules. `of_class`, `of_function`: "__module__"
  // and "__name__", the keys of such a name in a class and in a function's globals.
  Owners(PyObject* names, PyObject* of_class, PyObject* of_function)
      : names_(names), of_class_(of_class), of_function_(of_function) {}

  bool IsOfLibrary(PyObject* object) const {
    const PyObject* type = TypeOf(object);
    if (type == &PyFunction_Type) return !HasUsersName(PyFunction_GetGlobals(object), of_function_);
    if ((FieldAt<unsigned long>(type, kOfTypeFlags) & kFlagIsType) == 0) return false;
    const bool made_by_program =
        (FieldAt<unsigned long>(object, kOfTypeFlags) & kFlagHeapType) != 0;
    return !made_by_program || !HasUsersName(FieldAt<PyObject*>(object, kOfTypeDict), of_class_);
  }

 private:
  bool HasUsersName(PyObject* entries, PyObject* key) const {
    PyObject* name = entries == nullptr ? nullptr : PyDict_GetItem(entries, key);
    // Text of a class of the program would be asked for its hash.
    return name != nullptr && TypeOf(name) == TypeOf(key) && PySet_Contains(names_, name) == 1;
  }

  PyObject* names_;
  PyObject* of_class_;
  PyObject* of_function_;
};

}  // namespace memprof::holders
