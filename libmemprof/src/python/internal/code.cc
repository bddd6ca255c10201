// Reads code objects, text and line tables.
#include "libmemprof/src/python/internal/code.h"

#include "libmemprof/src/base/checked_memory.h"
#include "libmemprof/src/base/text.h"
#include "libmemprof/src/python_layout/lines.h"

namespace memprof::recorder {
namespace {

constexpr std::uint64_t kMaxTableBytes = std::uint64_t{16} << 20;

bool HasType(const PythonLayout& layout, std::uint64_t object, std::uint64_t type) {
  std::uint64_t found;
  return MayBeObject(object) && ReadChecked(object + layout.object_type, &found) && found == type;
}

bool ReadLine(const PythonLayout& layout, const PythonRuntime& runtime,
              const PythonStack::Frame& frame, ByteBuffer* scratch, std::uint32_t* line) {
  std::uint32_t first_line;
  std::uint64_t table, bytes;
  if (!ReadChecked(frame.code + layout.code_first_line, &first_line) ||
      !ReadChecked(frame.code + layout.code_line_table, &table) ||
      !HasType(layout, table, runtime.bytes_type) ||
      !ReadChecked(table + layout.bytes_size, &bytes) || bytes > kMaxTableBytes)
    return false;
  scratch->Clear();
  if (bytes > 0 && !scratch->Reserve(bytes)) return false;
  scratch->AppendZeros(bytes);
  if (bytes > 0 && !ReadChecked(table + layout.bytes_data, scratch->data(), bytes)) return false;
  const std::uint64_t start =
      layout.chain == FrameChain::kObjects ? 0 : frame.code + layout.code_instructions;
  const int found =
      LineAt(layout.lines, reinterpret_cast<const unsigned char*>(scratch->data()), bytes,
             static_cast<int>(first_line), static_cast<std::int64_t>(frame.instruction - start));
  *line = found > 0 ? static_cast<std::uint32_t>(found) : first_line;
  return true;
}

}  // namespace

bool AppendPythonText(const PythonLayout& layout, std::uint64_t text_type, std::uint64_t address,
                      ByteBuffer* out) {
  std::uint64_t length;
  std::uint32_t state;
  if (!HasType(layout, address, text_type) || !ReadChecked(address + layout.text_length, &length) ||
      !ReadChecked(address + layout.text_state, &state))
    return false;
  // Bits: 2 interned, 3 width, 1 compact, 1 ASCII.
  const std::uint32_t width = state >> 2 & 7;
  const bool compact = (state >> 5 & 1) != 0;
  const bool ascii = (state >> 6 & 1) != 0;
  if (!compact || (width != 1 && width != 2 && width != 4)) return false;
  if (length > kMaxPythonText) length = kMaxPythonText;
  std::uint64_t at = address + (ascii ? layout.text_ascii_header : layout.text_compact_header);
  if (length > 0 && !IsReadable(at, length * width)) return false;
  for (std::uint64_t i = 0; i < length; ++i, at += width) {
    std::uint32_t point = 0;
    if (!ReadChecked(at, &point, width)) return false;
    char bytes[4];
    out->Append(bytes, EncodeUtf8(point, bytes));
  }
  return !out->failed();
}

SourceResult ReadSource(const PythonLayout& layout, const PythonRuntime& runtime,
                        const PythonStack::Frame& frame, PythonSource* source) {
  if (!HasType(layout, frame.code, runtime.code_type)) return SourceResult::kWrong;
  std::uint64_t file, name;
  if (!ReadChecked(frame.code + layout.code_file, &file) ||
      !ReadChecked(frame.code + layout.code_name, &name))
    return SourceResult::kWrong;
  std::uint32_t first_line;
  if (!ReadChecked(frame.code + layout.code_first_line, &first_line)) return SourceResult::kWrong;
  // Code that the interpreter made itself, such as the call of an __init__ from 3.12 on.
  if (file == 0 || name == 0 || first_line == 0) return SourceResult::kNoSource;
  if (!ReadLine(layout, runtime, frame, &source->file, &source->line)) return SourceResult::kWrong;
  source->function.Clear();
  source->file.Clear();
  if (!AppendPythonText(layout, runtime.text_type, name, &source->function) ||
      !AppendPythonText(layout, runtime.text_type, file, &source->file))
    return SourceResult::kWrong;
  return SourceResult::kOk;
}

}  // namespace memprof::recorder
