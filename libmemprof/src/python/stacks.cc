// Finding, checking and naming.
#include "libmemprof/src/python/stacks.h"

#include <stdio.h>

#include "libmemprof/src/base/checked_memory.h"
#include "libmemprof/src/log/vocabulary.h"

namespace memprof::recorder {
namespace {

const char* Explain(LayoutResult result) {
  switch (result) {
    case LayoutResult::kUnknownVersion:
      return "is a version whose frames this memprof does not know";
    case LayoutResult::kNoOffsets:
      return "does not describe its frames as that version does";
    case LayoutResult::kFreeThreaded:
      return "runs without a GIL, with frames that refer to each thread's own bytecode";
    case LayoutResult::kOk:
      break;
  }
  return "";
}

}  // namespace

void PythonStacks::ReportState(std::uint32_t source_state, const char* why) {
  char text[256];
  const char* version = runtime_.version();
  int length = 0;
  while (version[length] != '\0' && version[length] != ' ' && length < 32) ++length;
  snprintf(text, sizeof text, "CPython %.*s %s", length, version, why);
  definitions_->AddSource("python", source_state, text);
}

// Stops reading frames for good.
void PythonStacks::Refuse(const char* why) {
  if (state_.exchange(State::kOff, std::memory_order_acq_rel) == State::kOff) return;
  ReportState(kSourceRefused, why);
  ring_->Count(log::Anomaly::kPythonFramesOff);
}

void PythonStacks::FindInterpreter(std::uint64_t changes) {
  if (state_.load(std::memory_order_acquire) != State::kAbsent ||
      searched_changes_.exchange(changes, std::memory_order_relaxed) == changes)
    return;
  const PythonRuntime found = FindPythonRuntime();
  if (!found.found()) return;
  LockGuard lock(mutex_);
  if (state_.load(std::memory_order_relaxed) != State::kAbsent) return;
  runtime_ = found;
  char offsets[kDebugOffsetsBytes] = {};
  ReadChecked(reinterpret_cast<std::uint64_t>(found.runtime), offsets, sizeof offsets);
  const LayoutResult result = FindPythonLayout(MinorVersion(found.version()), offsets, &layout_);
  if (result == LayoutResult::kOk)
    state_.store(State::kFound, std::memory_order_release);
  else
    Refuse(Explain(result));
}

void PythonStacks::Use(const PythonRuntime& runtime, const PythonLayout& layout) {
  LockGuard lock(mutex_);
  runtime_ = runtime;
  layout_ = layout;
  state_.store(State::kFound, std::memory_order_release);
}

void PythonStacks::AskForComparison() {
  constexpr int kFirstSafe = 9;
  if (layout_.minor >= kFirstSafe)
    runtime_.add_pending(pending_call_, nullptr);
  else
    to_compare_.store(runtime_.holder != nullptr, std::memory_order_release);
}

// Checks the first stack: every pointer and every type. True when stacks may be read without checks
// from now on.
bool PythonStacks::Check(std::uint64_t thread_state, PythonStack* stack) {
  LockGuard lock(mutex_);
  if (state_.load(std::memory_order_relaxed) != State::kFound)
    return state_.load(std::memory_order_relaxed) == State::kOn;
  WalkPythonChecked(layout_, thread_state, stack);
  bool named = false;
  for (int i = 0; stack->sound && i < stack->count; ++i) {
    const SourceResult result = ReadSource(layout_, runtime_, stack->frames[i], &source_);
    stack->sound = result != SourceResult::kWrong;
    named = named || result == SourceResult::kOk;
  }
  if (!stack->sound) {
    Refuse("does not keep its frames where that version does");
    return false;
  }
  if (!named) return false;  // this thread runs no Python code; check the next one
  AskForComparison();
  state_.store(State::kOn, std::memory_order_release);
  ReportState(kSourceOn,
              layout_.minor >= 13 ? "by its debug offsets" : "by the table of its version");
  return true;
}

void PythonStacks::Take(PythonStack* stack) {
  stack->count = 0;
  stack->cut = false;
  stack->hash = 1;
  if (runtime_.finalizing() != 0) return;
  const auto thread_state = reinterpret_cast<std::uint64_t>(runtime_.thread_state());
  if (thread_state == 0) return;
  if (state_.load(std::memory_order_acquire) != State::kOn && !Check(thread_state, stack)) {
    stack->count = 0;
    return;
  }
  WalkPython(layout_, thread_state, stack);
  if (to_compare_.load(std::memory_order_relaxed) && runtime_.holder() == runtime_.thread_state() &&
      to_compare_.exchange(false))
    CompareWithInterpreter();
  if (stack->sound) return;
  Refuse("had a frame that is none");
  stack->count = 0;
}

void PythonStacks::CompareWithInterpreter() {
  if (state_.load(std::memory_order_acquire) != State::kOn || runtime_.finalizing() != 0) return;
  const auto thread_state = reinterpret_cast<std::uint64_t>(runtime_.thread_state());
  if (thread_state == 0) return;
  PythonStack stack;
  PythonSource source;
  WalkPythonChecked(layout_, thread_state, &stack);
  const char* difference = DifferenceFromFrames(runtime_, layout_, stack, &source);
  if (difference == nullptr) return;
  char why[128];
  snprintf(why, sizeof why, "contradicts what was read of a stack: %s", difference);
  Refuse(why);
}

std::uint32_t PythonStacks::NameOf(const PythonStack::Frame& frame) {
  const std::uint64_t fingerprint = FingerprintOf(layout_, frame.code, frame.instruction) | 1;
  const NamedFrame* known = named_.Find(fingerprint >> 1, [fingerprint](const NamedFrame& named) {
    return named.fingerprint == fingerprint;
  });
  if (known != nullptr) return known->id;
  if (ReadSource(layout_, runtime_, frame, &source_) != SourceResult::kOk) return 0;
  const std::uint32_t function =
      definitions_->InternString(source_.function.data(), source_.function.size());
  const std::uint32_t file = definitions_->InternString(source_.file.data(), source_.file.size());
  const std::uint32_t id = function == 0 || file == 0
                               ? 0
                               : definitions_->InternPythonFrame(function, file, source_.line);
  if (id == 0) return 0;
  if (named_.Insert({fingerprint, id}) == nullptr) {
    named_.Clear();  // live frames are read again
    named_.Insert({fingerprint, id});
  }
  return id;
}

void PythonStacks::Name(const PythonStack& stack, std::uint32_t* ids) {
  LockGuard lock(mutex_);
  for (int i = 0; i < stack.count; ++i) ids[i] = NameOf(stack.frames[i]);
}

}  // namespace memprof::recorder
