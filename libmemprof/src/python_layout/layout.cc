// The tables of layouts, and the reader of debug offsets.
#include "libmemprof/src/python_layout/layout.h"

#include <string.h>

namespace memprof::recorder {
namespace {

// 3.8 and 3.9.
PythonLayout FrameObjects(int minor) {
  PythonLayout layout;
  layout.minor = minor;
  layout.thread_frame = 24;
  layout.frame_code = 32;
  layout.frame_previous = 24;
  layout.frame_instruction = 104;
  layout.code_first_line = 40;
  layout.code_file = 104;
  layout.code_name = 112;
  layout.code_line_table = 120;
  return layout;
}

PythonLayout Layout310() {
  PythonLayout layout = FrameObjects(10);
  layout.lines = LineFormat::kRanges;
  layout.thread_loop = 48;
  layout.loop_previous = 8;
  layout.frame_instruction = 96;
  layout.instruction_scale = 2;
  return layout;
}

PythonLayout Layout311() {
  PythonLayout layout;
  layout.minor = 11;
  layout.chain = FrameChain::kEntries;
  layout.lines = LineFormat::kLocations;
  layout.thread_loop = 56;
  layout.loop_frame = 8;
  layout.loop_previous = 16;
  layout.by_loop = true;
  layout.frame_code = 32;
  layout.frame_previous = 48;
  layout.frame_instruction = 56;
  layout.frame_mark = 68;
  layout.code_first_line = 72;
  layout.code_file = 112;
  layout.code_name = 128;
  layout.code_line_table = 136;
  layout.code_instructions = 184;
  return layout;
}

PythonLayout Layout312() {
  PythonLayout layout;
  layout.minor = 12;
  layout.chain = FrameChain::kShims;
  layout.lines = LineFormat::kLocations;
  layout.thread_loop = 56;
  layout.loop_frame = 0;
  layout.by_loop = true;
  layout.frame_code = 0;
  layout.frame_previous = 8;
  layout.frame_instruction = 56;
  layout.frame_mark = 70;
  layout.code_first_line = 68;
  layout.code_file = 112;
  layout.code_name = 128;
  layout.code_line_table = 136;
  layout.code_instructions = 192;
  layout.code_version = 92;
  layout.text_ascii_header = 40;
  layout.text_compact_header = 56;
  return layout;
}

// Positions, in bytes, of the fields of a minor version's debug offsets.
struct WhereOffsets {
  int minor;
  std::uint16_t thread_frame, frame_previous, frame_code, frame_instruction, frame_owner;
  std::uint16_t code_file, code_qualname, code_line_table, code_first_line, code_instructions;
  std::uint16_t object_type, bytes_size, bytes_data, text_state, text_length, text_header;
};
constexpr WhereOffsets kWhere[] = {
    {13, 184, 232, 240, 248, 264, 280, 296, 304, 312, 344, 360, 520, 528, 544, 552, 560},
    {14, 208, 256, 264, 272, 288, 320, 336, 344, 352, 384, 408, 600, 608, 624, 632, 640},
};
constexpr char kCookie[] = "xdebugpy";
constexpr std::size_t kVersionAt = 8;
constexpr std::size_t kFreeThreadedAt = 16;
constexpr std::uint64_t kMaxOffset = 4096;
// In both versions, and not among the debug offsets.
constexpr std::uint16_t kCodeVersion = 92;
constexpr std::uint16_t kCompactBeyondAscii = 16;

std::uint64_t WordAt(const void* offsets, std::size_t at) {
  std::uint64_t word;
  memcpy(&word, static_cast<const char*>(offsets) + at, sizeof word);
  return word;
}

LayoutResult ReadDebugOffsets(const WhereOffsets& where, const void* offsets,
                              PythonLayout* layout) {
  if (memcmp(offsets, kCookie, 8) != 0) return LayoutResult::kNoOffsets;
  const std::uint64_t version = WordAt(offsets, kVersionAt);
  if (version >> 24 != 3 || (version >> 16 & 0xff) != static_cast<std::uint64_t>(where.minor))
    return LayoutResult::kNoOffsets;
  if (WordAt(offsets, kFreeThreadedAt) != 0) return LayoutResult::kFreeThreaded;
  bool sound = true;
  const auto read = [&](std::uint16_t at) {
    const std::uint64_t offset = WordAt(offsets, at);
    sound = sound && offset < kMaxOffset;
    return static_cast<std::uint16_t>(offset);
  };
  *layout = {};
  layout->minor = where.minor;
  layout->chain = FrameChain::kShims;
  layout->lines = LineFormat::kLocations;
  layout->thread_frame = read(where.thread_frame);
  layout->frame_previous = read(where.frame_previous);
  layout->frame_code = read(where.frame_code);
  layout->frame_instruction = read(where.frame_instruction);
  layout->frame_mark = read(where.frame_owner);
  layout->code_file = read(where.code_file);
  layout->code_name = read(where.code_qualname);
  layout->code_line_table = read(where.code_line_table);
  layout->code_first_line = read(where.code_first_line);
  layout->code_instructions = read(where.code_instructions);
  layout->code_version = kCodeVersion;
  layout->object_type = read(where.object_type);
  layout->bytes_size = read(where.bytes_size);
  layout->bytes_data = read(where.bytes_data);
  layout->text_state = read(where.text_state);
  layout->text_length = read(where.text_length);
  layout->text_ascii_header = read(where.text_header);
  layout->text_compact_header =
      static_cast<std::uint16_t>(layout->text_ascii_header + kCompactBeyondAscii);
  return sound ? LayoutResult::kOk : LayoutResult::kNoOffsets;
}

}  // namespace

LayoutResult FindPythonLayout(int minor, const void* debug_offsets, PythonLayout* layout) {
  switch (minor) {
    case 8:
    case 9:
      *layout = FrameObjects(minor);
      return LayoutResult::kOk;
    case 10:
      *layout = Layout310();
      return LayoutResult::kOk;
    case 11:
      *layout = Layout311();
      return LayoutResult::kOk;
    case 12:
      *layout = Layout312();
      return LayoutResult::kOk;
    default:
      break;
  }
  for (const WhereOffsets& where : kWhere)
    if (where.minor == minor) return ReadDebugOffsets(where, debug_offsets, layout);
  return LayoutResult::kUnknownVersion;
}

}  // namespace memprof::recorder
