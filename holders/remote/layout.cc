// The table of versions.
#include "holders/remote/layout.h"

#include <cstring>

namespace memprof::holders {
namespace {

// Positions of offsets in the debug offsets of 3.13 and 3.14.
struct Described {
  std::size_t interpreters, next, threads, modules;
};
constexpr Described kDescribed13 = {40, 64, 72, 88}, kDescribed14 = {40, 64, 72, 96};
constexpr std::uint64_t kMostOffset = std::uint64_t{1} << 20;

bool ReadDescribed(const void* offsets, const Described& where, ObjectLayout* layout) {
  const auto word = [&](std::size_t position) {
    std::uint64_t value;
    std::memcpy(&value, static_cast<const char*>(offsets) + position, sizeof value);
    return value;
  };
  layout->runtime_interpreters = word(where.interpreters);
  layout->interpreter_next = word(where.next);
  layout->interpreter_threads = word(where.threads);
  layout->interpreter_modules = word(where.modules);
  return layout->runtime_interpreters < kMostOffset && layout->interpreter_next < kMostOffset &&
         layout->interpreter_threads < kMostOffset && layout->interpreter_modules < kMostOffset;
}

void SetFunction(ObjectLayout* layout) {
  layout->function_qualname = 40;
  layout->function_code = 48;
  layout->function_defaults = 56;
  layout->function_kwdefaults = 64;
  layout->function_closure = 72;
  layout->function_dict = 88;
}

// 3.9 and 3.10.
void SetOld(ObjectLayout* layout) {
  SetFunction(layout);
  layout->runtime_interpreters = 32;
  layout->interpreter_threads = 8;
  layout->interpreter_modules = 856;
  layout->type_cached_keys = 872;
  layout->generator_frame = 16;
  layout->generator_qualname = 48;
  layout->code_attributes = 64;
  layout->code_names = 72;
  layout->code_free = 80;
  layout->code_cells = 88;
  layout->exception_traceback = 32;
  if (layout->minor == 10) return;
  layout->type_cached_keys = 864;
  layout->generator_qualname = 56;
  layout->function_code = 16;
  layout->function_defaults = 32;
  layout->function_kwdefaults = 40;
  layout->function_closure = 48;
  layout->function_dict = 72;
  layout->function_qualname = 104;
}

void Set311(ObjectLayout* layout) {
  SetFunction(layout);
  layout->runtime_interpreters = 40;
  layout->interpreter_threads = 16;
  layout->interpreter_modules = 888;
  layout->type_cached_keys = 872;
  layout->generator_frame = 80;
  layout->generator_state = 75;
  layout->generator_qualname = 40;
  layout->code_arguments = 56;
  layout->code_attributes = 32;
  layout->code_names = 96;
  layout->frame_locals = 72;
}

// From 3.12 on.
void SetNew(ObjectLayout* layout) {
  Set311(layout);
  layout->interpreter_threads = 72;
  layout->interpreter_modules = 944;
  layout->type_cached_keys = 880;
  layout->generator_frame = 72;
  layout->generator_state = 67;
  layout->generator_qualname = 32;
  layout->code_arguments = 52;
  if (layout->minor == 12) return;
  layout->dict_values = 8;
  layout->thread_local_dicts = 40;
  if (layout->minor == 13) return;
  layout->tuple_items = 32;
  layout->frame_locals = 80;
}

}  // namespace

bool FindObjectLayout(int minor, const void* debug_offsets, ObjectLayout* layout) {
  *layout = {};
  layout->minor = minor;
  switch (minor) {
    case 9:
    case 10:
      SetOld(layout);
      return true;
    case 11:
      Set311(layout);
      return true;
    case 12:
      SetNew(layout);
      return true;
    case 13:
    case 14:
      SetNew(layout);
      return ReadDescribed(debug_offsets, minor == 13 ? kDescribed13 : kDescribed14, layout);
    default:
      return false;
  }
}

}  // namespace memprof::holders
