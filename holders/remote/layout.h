// Where CPython 3.9 to 3.14 keeps what objects refer to, in 64-bit builds with a GIL and without
// Py_TRACE_REFS. What is the same in all of them is a constant here. From its headers: object.h,
// cpython/{object,dictobject,funcobject,genobject,code,setobject}.h,
// internal/pycore_{dict,frame,interp,runtime}.h.
//
// Frames, code objects and text: libmemprof/src/python_layout/layout.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof::holders {

namespace at {
inline constexpr std::uint64_t kReferences = 0, kType = 8, kSize = 16;
inline constexpr std::uint64_t kListItems = 24;
inline constexpr std::uint64_t kDictUsed = 16, kDictKeys = 32, kDictValues = 40;
inline constexpr std::uint64_t kSetUsed = 24, kSetMask = 32, kSetTable = 40;
inline constexpr std::uint64_t kDequeLeft = 24, kDequeFirst = 40;
inline constexpr std::uint64_t kCellContent = 16, kModuleDict = 16;
inline constexpr std::uint64_t kTags = 3;            // bits of references in frames from 3.14 on
inline constexpr std::uint64_t kFrameOfObject = 24;  // of a frame object from 3.11 on
inline constexpr std::uint64_t kMethodFunction = 16, kMethodSelf = 24;
inline constexpr std::uint64_t kPartialFunction = 16, kPartialArguments = 24, kPartialKeywords = 32;
inline constexpr std::uint64_t kCacheResults = 72, kCacheFunction = 88, kResultOfLink = 48;
inline constexpr std::uint64_t kBuiltinMethod = 16;  // its description, which begins with its name
inline constexpr std::uint64_t kTypeName = 24, kTypeBasicSize = 32, kTypeItemSize = 40,
                               kTypeFlags = 168, kTypeMembers = 240, kTypeBase = 256,
                               kTypeDict = 264, kTypeDictOffset = 288;
}  // namespace at

inline constexpr std::uint64_t kHeapType = 1 << 9;  // a flag of a type

struct ObjectLayout {
  int minor = 0;
  // Of the interpreter.
  std::uint64_t runtime_interpreters = 0, interpreter_next = 0, interpreter_threads = 0,
                interpreter_modules = 0;
  std::uint64_t thread_next = 8, thread_interpreter = 16;
  // Of objects.
  std::uint64_t tuple_items = 24;
  std::uint64_t exception_traceback = 40;  // then context and cause
  std::uint64_t type_cached_keys = 0;
  std::uint64_t dict_values = 0;  // in a dictionary's separate values
  std::uint64_t function_code = 0, function_qualname = 0, function_defaults = 0,
                function_kwdefaults = 0, function_closure = 0, function_dict = 0;
  std::uint64_t generator_frame = 0;  // to 3.10 a pointer to it
  std::uint64_t generator_state = 0;  // from 3.11 on
  std::uint64_t generator_qualname = 0;
  std::uint64_t thread_local_dicts = 48;
  // Of frames and code.
  std::uint64_t frame_locals = 0;               // from 3.11 on
  std::uint64_t code_arguments = 16;            // the number of positional ones
  std::uint64_t code_names = 0;                 // of variables
  std::uint64_t code_attributes = 0;            // and of all else that it uses
  std::uint64_t code_cells = 0, code_free = 0;  // to 3.10: names of cells
};

// `debug_offsets`: kDebugOffsetsBytes from the beginning of _PyRuntime; not read before 3.13. False
// for a version that is not known.
bool FindObjectLayout(int minor, const void* debug_offsets, ObjectLayout* layout);

}  // namespace memprof::holders
