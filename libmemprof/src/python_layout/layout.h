// The offsets in CPython's structures from which Python frames are read. They change from one minor
// version to the next.
//
// From 3.13 on an interpreter describes itself, in `_PyRuntime.debug_offsets` (CPython's
// Include/internal/pycore_debug_offsets.h, in 3.13 pycore_runtime.h); the few offsets that are
// missing there are the same in all builds of a minor version. For older versions the offsets
// follow from the headers (cpython/code.h, cpython/pystate.h, cpython/unicodeobject.h,
// internal/pycore_frame.h; before 3.11 frameobject.h), for 64-bit builds without Py_TRACE_REFS. All
// of them are checked against the running interpreter before they are used (python/stacks.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof::recorder {

// How frames are linked.
enum class FrameChain : std::uint8_t {
  kObjects,  // 3.8 to 3.10: PyFrameObject, one for each call of the evaluation loop in C
  kEntries,  // 3.11: several frames in one C loop; the outermost is marked
  kShims,    // from 3.12 on: each C loop has a frame without code, on the C stack, under its own
};

enum class LineFormat : std::uint8_t {
  kLnotab,     // to 3.9
  kRanges,     // 3.10, PEP 626
  kLocations,  // from 3.11 on, PEP 657
};

struct PythonLayout {
  int minor = 0;  // of 3.minor
  FrameChain chain = FrameChain::kObjects;
  LineFormat lines = LineFormat::kLnotab;
  // Of the thread state: a frame, or the C loop's record if there is `loop_frame`.
  std::uint16_t thread_frame = 0;
  std::uint16_t thread_loop = 0;    // 3.10 and 3.11; 0 = none
  std::uint16_t loop_frame = 0;     // 3.11 and 3.12: the loop's innermost frame
  std::uint16_t loop_previous = 0;  // the loop that called it
  bool by_loop = false;             // frames begin at the loop's record
  // Of a frame.
  std::uint16_t frame_code = 0;
  std::uint16_t frame_previous = 0;
  std::uint16_t frame_instruction = 0;  // a pointer; kObjects: an index
  std::uint16_t frame_mark = 0;         // kEntries: is_entry; kShims: owner
  std::uint8_t instruction_scale = 1;   // kObjects: bytes for each step of the index
  // Of a code object.
  std::uint16_t code_first_line = 0;
  std::uint16_t code_file = 0;
  std::uint16_t code_name = 0;  // the qualified one, where there is one
  std::uint16_t code_line_table = 0;
  std::uint16_t code_instructions = 0;
  std::uint16_t code_version = 0;  // a number that no other code object has; 0 = there is none
  // Of objects, bytes and text.
  std::uint16_t object_type = 8;
  std::uint16_t bytes_size = 16;
  std::uint16_t bytes_data = 32;
  std::uint16_t text_length = 16;
  std::uint16_t text_state = 32;
  std::uint16_t text_ascii_header = 48;    // data of ASCII text begins here
  std::uint16_t text_compact_header = 72;  // ... and that of other text
};

// The owner of a shim.
inline constexpr std::uint8_t kOwnerOfShim = 3;
// 3.14: owner of other frames without code.
inline constexpr std::uint8_t kOwnerCStack = 4;

inline constexpr int kFirstMinor = 8;
inline constexpr int kLastMinor = 14;
// The largest size of a known version.
inline constexpr std::size_t kDebugOffsetsBytes = 760;

enum class LayoutResult : std::uint8_t {
  kOk,
  kUnknownVersion,
  kNoOffsets,     // 3.13 or later, and they are not what they should be
  kFreeThreaded,  // its frames refer to bytecode of the thread: not supported
};

// The layout of CPython 3.`minor`. `debug_offsets`: kDebugOffsetsBytes bytes from the beginning of
// _PyRuntime; not read before 3.13.
LayoutResult FindPythonLayout(int minor, const void* debug_offsets, PythonLayout* layout);

}  // namespace memprof::recorder
