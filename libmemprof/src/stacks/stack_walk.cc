// Steps from frame to frame by cached rules.
#include "libmemprof/src/stacks/stack_walk.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

namespace memprof::recorder {
namespace {

// Reads a word of the program's stack; sanitizers would report it as an invalid access.
__attribute__((no_sanitize("address", "thread", "undefined"))) inline std::uint64_t ReadWord(
    std::uint64_t address) {
  return *reinterpret_cast<const std::uint64_t*>(address);
}

class Walker {
 public:
  Walker(FrameRules* rules, const StackBounds& bounds, const Registers& start, StackWalk* walk)
      : rules_(rules), bounds_(bounds), start_(start), at_(start), walk_(walk) {}

  enum class Outcome { kStepped, kBottom, kRefused };
  // Steps from the current frame to its caller.
  Outcome Step();
  std::uint64_t pc() const { return at_.pc; }
  std::uint32_t offset() const { return static_cast<std::uint32_t>(at_.sp - start_.sp); }

 private:
  bool Readable(std::uint64_t address) const {
    return address % 8 == 0 && address >= start_.sp && address <= bounds_.high - 8;
  }
  // Stores that the walk depends on a word.
  bool DependOn(std::uint64_t address, std::uint64_t value);
  bool UseFramePointer();
  bool FindCfa(const FrameRule& rule, std::uint64_t* cfa);
  bool RestoreFramePointer(const FrameRule& rule, std::uint64_t cfa);

  FrameRules* rules_;
  const StackBounds& bounds_;
  const Registers& start_;
  Registers at_;
  StackWalk* walk_;
  // Where at_.fp is found. Most frames do not need it: functions use it for other values, which
  // change from call to call. So it is read, and the walk depends on it, only when a frame is
  // located by it.
  enum class FramePointer {
    kFromStart,
    kFromStack,
    kNoted,
    kUnknown
  } fp_ = FramePointer::kFromStart;
  std::uint64_t fp_address_ = 0;
};

bool Walker::DependOn(std::uint64_t address, std::uint64_t value) {
  if (walk_->word_count == StackWalk::kMaxWords) return false;
  walk_->words[walk_->word_count++] = {static_cast<std::uint32_t>(address - start_.sp), value};
  return true;
}

bool Walker::UseFramePointer() {
  switch (fp_) {
    case FramePointer::kFromStart:
      walk_->uses_frame_pointer = true;
      return true;
    case FramePointer::kFromStack:
      if (!Readable(fp_address_)) return false;
      at_.fp = ReadWord(fp_address_);
      fp_ = FramePointer::kNoted;
      return DependOn(fp_address_, at_.fp);
    case FramePointer::kNoted:
      return true;
    case FramePointer::kUnknown:
      break;
  }
  return false;
}

bool Walker::FindCfa(const FrameRule& rule, std::uint64_t* cfa) {
  const auto offset = static_cast<std::uint64_t>(std::int64_t{rule.cfa_words} * 8);
  if (rule.base == CfaBase::kStackPointer) {
    *cfa = at_.sp + offset;
    return true;
  }
  if (!UseFramePointer()) return false;
  *cfa = at_.fp + offset;
  if (rule.base == CfaBase::kFramePointer) return true;
  const std::uint64_t slot = *cfa;
  if (!Readable(slot)) return false;
  *cfa = ReadWord(slot);
  return DependOn(slot, *cfa);
}

bool Walker::RestoreFramePointer(const FrameRule& rule, std::uint64_t cfa) {
  if (rule.fp == SavedFp::kSame) return true;
  if (rule.fp == SavedFp::kUnusable) {
    fp_ = FramePointer::kUnknown;
    return true;
  }
  if (rule.fp == SavedFp::kAtFrame && !UseFramePointer()) return false;
  const std::uint64_t base = rule.fp == SavedFp::kAtCfa ? cfa : at_.fp;
  fp_address_ = base + static_cast<std::uint64_t>(std::int64_t{rule.saved_words} * 8);
  fp_ = FramePointer::kFromStack;
  return true;
}

Walker::Outcome Walker::Step() {
  const FrameRule rule = rules_->Find(at_.pc - 1);
  if (rule.base == CfaBase::kOutermost) return Outcome::kBottom;
  std::uint64_t cfa;
  if (rule.base == CfaBase::kUnsupported || !FindCfa(rule, &cfa)) return Outcome::kRefused;
  // The stack grows downwards: a caller's frame must be above, or the walk might not end.
  const std::uint64_t slot = rule.ReturnAddressSlot(cfa);
  if (cfa <= at_.sp || !RestoreFramePointer(rule, cfa) || !Readable(slot)) return Outcome::kRefused;
  at_.sp = cfa;
  at_.pc = arch::CodeAddress(ReadWord(slot));
  if (!DependOn(slot, at_.pc)) return Outcome::kRefused;
  return at_.pc == 0 ? Outcome::kBottom : Outcome::kStepped;
}

// Bounds of the main thread's stack. Its top is where the kernel has put the arguments. It may grow
// to the limit that the process was started with, and the kernel maps nothing else there.
StackBounds MainStackBounds() {
  constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 30;
  const auto* end = static_cast<void* const*>(dlsym(RTLD_DEFAULT, "__libc_stack_end"));
  rlimit limit;
  if (end == nullptr || *end == nullptr || getrlimit(RLIMIT_STACK, &limit) != 0) return {};
  const auto high = reinterpret_cast<std::uint64_t>(*end) & ~std::uint64_t{7};
  const std::uint64_t size = limit.rlim_cur < kMaxSize ? limit.rlim_cur : kMaxSize;
  return {high - size, high};
}

}  // namespace

StackBounds FindStackBounds() {
  if (getpid() == gettid()) return MainStackBounds();
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
  void* low = nullptr;
  std::size_t bytes = 0;
  const int error = pthread_attr_getstack(&attributes, &low, &bytes);
  pthread_attr_destroy(&attributes);
  if (error != 0) return {};
  const auto begin = reinterpret_cast<std::uint64_t>(low);
  return {begin, (begin + bytes) & ~std::uint64_t{7}};
}

bool WalkStack(FrameRules* rules, const StackBounds& bounds, const CodeRange& own,
               const Registers& start, int depth, StackWalk* walk) {
  walk->frame_count = 0;
  walk->word_count = 0;
  walk->uses_frame_pointer = false;
  walk->truncated = false;
  if (!bounds.Contains(start.sp) || start.sp % 8 != 0 || bounds.high - start.sp > UINT32_MAX)
    return false;
  if (depth > StackWalk::kMaxFrames) depth = StackWalk::kMaxFrames;
  Walker walker(rules, bounds, start, walk);
  while (true) {
    const std::uint64_t pc = walker.pc();
    if (walk->frame_count > 0 || !own.Contains(pc)) {
      if (walk->frame_count == depth) {
        walk->truncated = true;
        return true;
      }
      walk->offsets[walk->frame_count] = walker.offset();
      walk->frames[walk->frame_count++] = reinterpret_cast<void*>(pc);
    }
    const Walker::Outcome outcome = walker.Step();
    if (outcome == Walker::Outcome::kBottom) return true;
    if (outcome == Walker::Outcome::kRefused) return false;
  }
}

}  // namespace memprof::recorder
