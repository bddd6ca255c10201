// Local variables of frames, running or not, read where they lie: the interpreter's own ways to
// them (`f_locals`) leave copies of all variables behind before 3.13, which would keep them alive.
#pragma once

#include <cstdint>

struct PyObject;

namespace memprof::holders {

// Where the variables of a frame object are; null for a version that is not known.
class FrameLocals {
 public:
  // Of CPython 3.`minor`; `basic_size` is that of the type of frame objects.
  FrameLocals(int minor, std::int64_t basic_size) : minor_(minor), basic_size_(basic_size) {}

  bool known() const { return minor_ >= 9 && minor_ <= 14; }
  // The object in place `index` of the frame's variables (arguments and locals, then cells, then
  // free variables), or null where none is. Needs the GIL.
  PyObject* At(PyObject* frame, std::int64_t index) const;

 private:
  int minor_;
  std::int64_t basic_size_;
};

}  // namespace memprof::holders
