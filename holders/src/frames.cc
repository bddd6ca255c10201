// Offsets of 64-bit builds: frameobject.h to 3.10, then internal/pycore_frame.h.
#include "holders/src/frames.h"

#include "holders/src/python_api.h"

namespace memprof::holders {
namespace {

constexpr std::size_t kOfInterpreterFrame = 24;  // in a frame object since 3.11
constexpr std::size_t kLocals311 = 72;           // in an interpreter frame, 3.11 to 3.13
constexpr std::size_t kLocals314 = 80;
constexpr std::uint64_t kTags = 3;  // since 3.14, how a reference is counted

}  // namespace

PyObject* FrameLocals::At(PyObject* frame, std::int64_t index) const {
  if (!known()) return nullptr;
  const auto place = static_cast<std::size_t>(index) * sizeof(void*);
  if (minor_ < 11)  // the object ends with an array of one variable
    return FieldAt<PyObject*>(frame, static_cast<std::size_t>(basic_size_) - sizeof(void*) + place);
  const auto* inner = FieldAt<const char*>(frame, kOfInterpreterFrame);
  if (inner == nullptr) return nullptr;
  const auto word = FieldAt<std::uint64_t>(inner, (minor_ < 14 ? kLocals311 : kLocals314) + place);
  return reinterpret_cast<PyObject*>(word & ~kTags);
}

}  // namespace memprof::holders
