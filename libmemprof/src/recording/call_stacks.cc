// Memo, walk and trie; with an interpreter, native and Python stacks are merged.
#include "libmemprof/src/recording/call_stacks.h"

#include <bit>

#include "libmemprof/src/base/hash.h"
#include "libmemprof/src/recording/entry_guard.h"
#include "libmemprof/src/recording/recorder.h"
#include "libmemprof/src/stacks/unwinder.h"

namespace memprof::recorder {
namespace {

// Of a merged stack, until the lines of its Python code are compared.
constexpr std::uint32_t kUsesPerCheck = 16;
// What is compared then.
constexpr std::uint64_t kFingerprint = (1 << 23) - 1;

// Called by the interpreter with the GIL held. In a forked child, the recorder that requested the
// call may be the parent's; the current one is used.
int OnPendingCall(void*) {
  WorkGuard guard;
  if (Recorder* recorder = TheRecorder()) recorder->stacks()->python()->CompareWithInterpreter();
  return 0;
}

// Walks the native stack into `state->walk`, by cached frame rules, or else by an unwinder, which
// does not report where frames begin.
NativeStack Walk(ThreadState* state, const Registers& start, int depth) {
  StackWalk& walk = state->walk;
  FrameRules* rules = TheFrameRules();
  if (rules != nullptr && WalkStack(rules, state->stack_bounds, OwnCode(), start, depth, &walk))
    return {walk.frames, walk.offsets, start.sp, walk.frame_count, walk.truncated};
  NativeStack native{walk.frames, nullptr, start.sp, 0, false};
  native.count = CaptureStack(walk.frames, depth, &native.truncated);
  return native;
}

}  // namespace

CallStacks::CallStacks(Definitions* definitions, RingBuffer* ring)
    : ring_(ring),
      modules_(definitions),
      table_(definitions, &modules_),
      python_(definitions, ring, OnPendingCall) {}

void CallStacks::Create(int depth, std::uint64_t memory_bytes) {
  // 4 MiB of 256.
  const auto buckets = std::bit_floor(static_cast<std::uint32_t>(memory_bytes >> 8));
  depth_ = table_.Create(buckets) ? depth : 0;
  if (depth_ == 0) return;
  if (!LoadUnwinder()) ring_->Count(log::Anomaly::kStacksUnavailable);
  python_.FindInterpreter(modules_.changes());
}

void CallStacks::Refresh() {
  modules_.Refresh();
  if (modules_.generation() == seen_generation_) return;
  seen_generation_ = modules_.generation();
  ForgetUnloadedCode();
}

StackMemo::Result CallStacks::WalkAndIntern(ThreadState* state, const Registers& start) {
  const std::uint32_t generation = MemoGeneration(MemoContent::kNodes);
  if (state->memo.generation() != generation) state->memo.Reset(generation);
  SystemSection system;
  LoaderSection section(&state->loader);
  const NativeStack native = Walk(state, start, depth_);
  const StackMemo::Result result{table_.Intern(native.frames, native.count, &state->stacks),
                                 native.truncated};
  if (result.stack != 0 && native.offsets != nullptr) state->memo.Store(start, state->walk, result);
  python_.FindInterpreter(modules_.changes());
  return result;
}

// An interpreter puts many native frames between two of the program's.
int CallStacks::MergedDepth() const {
  constexpr int kNativePerPython = 4;
  const int depth = depth_ * kNativePerPython;
  return depth < PythonThread::kMaxMerged ? depth : PythonThread::kMaxMerged;
}

PythonThread::Entry CallStacks::Merge(PythonThread* python, const NativeStack& native,
                                      ThreadState* state, int depth) {
  python_.Name(python->stack, python->ids);
  bool truncated = false;
  const int count = MergeStacks(native, python->stack, python->ids, python_.code(), python->merged,
                                depth, &truncated);
  PythonThread::Entry entry{};
  entry.truncated = truncated;
  entry.fingerprint = python_.Fingerprint(python->stack) & kFingerprint;
  entry.node = table_.Intern(python->merged, count, &state->stacks);
  return entry;
}

// The merged stack is cached by the keys of both stacks; only stacks that are not in the cache are
// merged.
StackMemo::Result CallStacks::InternWithPython(ThreadState* state, const Registers& start) {
  SystemSection system;
  if (state->python == nullptr)
    state->python =
        static_cast<PythonThread*>(MapMemory(sizeof(PythonThread), Need::kThread, InChild::kKept));
  PythonThread* python = state->python;
  if (python == nullptr) return WalkAndIntern(state, start);
  python_.Take(&python->stack);
  const std::uint32_t generation = MemoGeneration(MemoContent::kNumbers);
  if (state->memo.generation() != generation) state->memo.Reset(generation);
  const int depth = MergedDepth();
  NativeStack native;
  StackMemo::Result found;
  if (!state->memo.Find(start, &found)) {
    LoaderSection section(&state->loader);
    native = Walk(state, start, depth);
    const std::uint64_t hash = HashFrames(native.frames, native.count, generation);
    found = {static_cast<std::uint32_t>(hash ^ hash >> 32), native.truncated};
    if (native.offsets != nullptr) state->memo.Store(start, state->walk, found);
  }
  const std::uint64_t key = Mix(Mix(python->stack.hash, found.stack), generation);
  PythonThread::Entry& entry = *python->Find(key);
  const bool known = entry.key == key && entry.node != 0;
  if (!known || (++entry.uses % kUsesPerCheck == 0 &&
                 entry.fingerprint != (python_.Fingerprint(python->stack) & kFingerprint))) {
    LoaderSection section(&state->loader);
    if (native.frames == nullptr) native = Walk(state, start, depth);
    entry = Merge(python, native, state, depth);
    entry.key = key;
  }
  return {entry.node, entry.truncated != 0};
}

}  // namespace memprof::recorder
