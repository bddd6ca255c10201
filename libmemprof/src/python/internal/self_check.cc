// Reads a thread's stack through the interpreter's public interface, for comparison.
#include <string.h>

#include "libmemprof/src/python/stacks.h"

namespace memprof::recorder {
namespace {

constexpr int kMaxCompared = 64;

class Comparer {
 public:
  Comparer(const PythonRuntime& runtime, const PythonLayout& layout, PythonSource* source)
      : runtime_(runtime), layout_(layout), source_(source) {}

  const char* Compare(const PythonStack& stack) {
    void* frame = runtime_.frame();  // borrowed; the outer frames are owned references
    const char* difference = nullptr;
    int i = 0;
    bool owned = false;
    for (int compared = 0; difference == nullptr && compared < kMaxCompared; ++compared) {
      while (i < stack.count &&
             ReadSource(layout_, runtime_, stack.frames[i], source_) == SourceResult::kNoSource)
        ++i;
      void* code = frame == nullptr ? nullptr : Attribute(frame, "f_code");
      if (code == nullptr) {  // None: the end
        if (i < stack.count) difference = "it has fewer frames";
        break;
      }
      difference =
          i == stack.count ? "it has more frames" : CompareOne(stack.frames[i++], frame, code);
      runtime_.release(code);
      void* caller = Attribute(frame, "f_back");
      if (owned) runtime_.release(frame);
      frame = caller;
      owned = true;
    }
    if (owned && frame != nullptr) runtime_.release(frame);
    return difference;
  }

 private:
  void* Attribute(void* object, const char* name) {
    void* value = runtime_.attribute(object, name);
    if (value == nullptr) runtime_.clear_error();
    return value;
  }
  const char* CompareOne(const PythonStack::Frame& frame, void* object, void* code) {
    if (reinterpret_cast<std::uint64_t>(code) != frame.code) return "its code is another";
    if (ReadSource(layout_, runtime_, frame, source_) != SourceResult::kOk)
      return "its code could not be read";
    const char* name = layout_.minor >= 11 ? "co_qualname" : "co_name";
    if (!SameText(code, name, source_->function)) return "a function has another name";
    if (!SameText(code, "co_filename", source_->file)) return "a file has another name";
    return SameLine(object) ? nullptr : "a line has another number";
  }
  // Text that is not UTF-8, or longer than what is kept, is not compared.
  bool SameText(void* code, const char* attribute, const ByteBuffer& ours) {
    void* object = Attribute(code, attribute);
    if (object == nullptr) return false;
    const char* theirs = runtime_.text(object);
    if (theirs == nullptr) runtime_.clear_error();
    const bool same =
        theirs == nullptr || strlen(theirs) > kMaxPythonText ||
        (strlen(theirs) == ours.size() && memcmp(theirs, ours.data(), ours.size()) == 0);
    runtime_.release(object);
    return same;
  }
  // The line is None in code that the compiler generated without one; our result is then the first
  // line.
  bool SameLine(void* frame) {
    void* object = Attribute(frame, "f_lineno");
    if (object == nullptr) return false;
    const long line = runtime_.number(object);
    if (line == -1) runtime_.clear_error();
    runtime_.release(object);
    return line <= 0 || line == static_cast<long>(source_->line);
  }

  const PythonRuntime& runtime_;
  const PythonLayout& layout_;
  PythonSource* source_;
};

}  // namespace

const char* DifferenceFromFrames(const PythonRuntime& runtime, const PythonLayout& layout,
                                 const PythonStack& stack, PythonSource* source) {
  return Comparer(runtime, layout, source).Compare(stack);
}

}  // namespace memprof::recorder
