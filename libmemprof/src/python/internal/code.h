// What a Python frame says to people: its function, file and line, copied out of the code object.
//
// For frames that are met for the first time: every read is checked (checked_memory.h), so that a
// layout which is wrong, or an object that is no code, costs the names and nothing else.
#pragma once

#include <cstdint>

#include "libmemprof/src/base/byte_buffer.h"
#include "libmemprof/src/python/internal/layout.h"
#include "libmemprof/src/python/internal/runtime.h"
#include "libmemprof/src/python/internal/walk.h"

namespace memprof::recorder {

// Characters of a name or path that are kept.
inline constexpr std::uint64_t kMaxPythonText = 4096;

struct PythonSource {
  ByteBuffer function;  // qualified from 3.11 on; UTF-8
  ByteBuffer file;
  std::uint32_t line = 0;
};

enum class SourceResult : std::uint8_t {
  kOk,
  kNoSource,  // the interpreter's own code, which is from no file
  kWrong,     // no code object, or its parts are not what they must be
};

SourceResult ReadSource(const PythonLayout& layout, const PythonRuntime& runtime,
                        const PythonStack::Frame& frame, PythonSource* source);

// Appends the `str` at `address` as UTF-8; lone surrogates become U+FFFD. False when it is none.
bool AppendPythonText(const PythonLayout& layout, std::uint64_t text_type, std::uint64_t address,
                      ByteBuffer* out);

}  // namespace memprof::recorder
