// Function, file and line of a Python frame, copied from its code object.
//
// Used for new frames: every read is checked (checked_memory.h), so that a wrong layout, or an
// object that is no code, costs the name and nothing else.
#pragma once

#include <cstdint>

#include "libmemprof/src/base/byte_buffer.h"
#include "libmemprof/src/python_layout/layout.h"
#include "libmemprof/src/python/internal/runtime.h"
#include "libmemprof/src/python/walk.h"

namespace memprof::recorder {

// Longer names and paths are cut.
inline constexpr std::uint64_t kMaxPythonText = 4096;

struct PythonSource {
  ByteBuffer function;  // qualified from 3.11 on; UTF-8
  ByteBuffer file;
  std::uint32_t line = 0;
};

enum class SourceResult : std::uint8_t {
  kOk,
  kNoSource,  // code that the interpreter made itself, without a file
  kWrong,     // not a code object, or its fields have wrong types
};

SourceResult ReadSource(const PythonLayout& layout, const PythonRuntime& runtime,
                        const PythonStack::Frame& frame, PythonSource* source);

// Appends the `str` at `address` as UTF-8; lone surrogates become U+FFFD. False when it is no
// `str`.
bool AppendPythonText(const PythonLayout& layout, std::uint64_t text_type, std::uint64_t address,
                      ByteBuffer* out);

}  // namespace memprof::recorder
