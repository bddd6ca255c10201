// The Python side of call stacks: whether there is an interpreter whose frames can be read, and
// what the frames are called in the log.
//
//           an interpreter is loaded       a thread with frames, whose every pointer was checked
//   kAbsent ----------------------> kFound ------------------------------------------> kOn
//                |  its version is not known |  they are not what they must be            |
//                +-------------> kOff <------+--------------------------------------------+
//                                    the comparison with the interpreter, with the GIL held,
//                                    shows a difference; or a value cannot be a pointer
//
// The second check is a pending call: the interpreter makes it soon, between two instructions of
// its main thread. There the stack of this thread, as read here, is compared with its frame
// objects. Until then, stacks are used after the first check only. (In 3.8 a pending call is not
// safe while the interpreter ends, which cannot be seen: there the first call with the GIL held is
// used.)
//
// While an interpreter ends, its threads' frames are not read.
// Thread-safety: every function may be called by any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "libmemprof/src/base/hash_table.h"
#include "libmemprof/src/base/locks.h"
#include "libmemprof/src/log/definitions.h"
#include "libmemprof/src/python/internal/code.h"
#include "libmemprof/src/python/internal/runtime.h"
#include "libmemprof/src/python/walk.h"
#include "libmemprof/src/python_layout/layout.h"

namespace memprof::recorder {

// The state of a thread that has recorded Python frames; zeroed at first.
struct PythonThread {
  static constexpr int kMaxMerged = 512;
  static constexpr std::size_t kSets = 512, kWays = 4;
  // Cache from a native and a Python stack to the node of the merged stack. A stack has four
  // places, in one cache line: to merge costs far more than to find, and with one place, some of
  // the two hundred stacks that a training loop repeats would drive each other out.
  struct Entry {
    std::uint64_t key;
    std::uint32_t node;              // 0 = empty
    std::uint32_t fingerprint : 23;  // of the Python stack; compared now and then
    std::uint32_t uses : 8;
    std::uint32_t truncated : 1;
  };
  static_assert(sizeof(Entry) * kWays == 64);
  // The place of a key, or the one that it is to have.
  Entry* Find(std::uint64_t key) {
    Entry* const set = entries[key % kSets];
    for (std::size_t way = 0; way < kWays; ++way)
      if (set[way].key == key && set[way].node != 0) return &set[way];
    for (std::size_t way = 0; way < kWays; ++way)
      if (set[way].node == 0) return &set[way];
    return &set[key / kSets % kWays];
  }
  PythonStack stack;
  std::uint32_t ids[PythonStack::kMaxFrames];
  void* merged[kMaxMerged];
  alignas(64) Entry entries[kSets][kWays];
};

class PythonStacks {
 public:
  // The interpreter calls `pending_call` with the GIL held; it has to call CompareWithInterpreter
  // of this process's recording. (A forked child inherits the interpreter's pending calls.)
  PythonStacks(Definitions* definitions, RingBuffer* ring, int (*pending_call)(void*))
      : definitions_(definitions), ring_(ring), pending_call_(pending_call) {}
  PythonStacks(const PythonStacks&) = delete;
  PythonStacks& operator=(const PythonStacks&) = delete;

  // Searches for an interpreter, unless one was found or no library was loaded since the last
  // search (`changes` as of Modules). May take the loader's list lock, see loader_gate.h.
  void FindInterpreter(std::uint64_t changes);
  // Uses this interpreter; tests pass the layout.
  void Use(const PythonRuntime& runtime, const PythonLayout& layout);

  // Whether there may be Python frames.
  bool on() const {
    const State state = state_.load(std::memory_order_acquire);
    return state == State::kFound || state == State::kOn;
  }
  // Reads the calling thread's frames; none if it has none or they must not be read.
  void Take(PythonStack* stack);
  // Ids of PythonFrame definitions; 0 for frames to be left out.
  void Name(const PythonStack& stack, std::uint32_t* ids);
  std::uint64_t Fingerprint(const PythonStack& stack) const {
    return FingerprintOf(layout_, stack);
  }
  const InterpreterCode& code() const { return runtime_.code; }

  // Needs the GIL and a thread that runs Python code.
  void CompareWithInterpreter();

 private:
  enum class State : std::uint32_t { kAbsent, kFound, kOn, kOff };
  struct NamedFrame {
    std::uint64_t fingerprint;  // 0 = empty; else odd
    std::uint32_t id;

    bool empty() const { return fingerprint == 0; }
    std::uint64_t hash() const { return fingerprint >> 1; }
  };
  static constexpr std::size_t kFirstNamed = 1024;
  static constexpr std::size_t kMaxNamed = 1u << 18;  // 4 MiB; when it is full, it is cleared

  void AskForComparison();
  bool Check(std::uint64_t thread_state, PythonStack* stack);
  void Refuse(const char* why);
  void ReportState(std::uint32_t source_state, const char* why);
  std::uint32_t NameOf(const PythonStack::Frame& frame);

  Definitions* definitions_;
  RingBuffer* ring_;
  int (*pending_call_)(void*);
  std::atomic<State> state_{State::kAbsent};
  std::atomic<bool> to_compare_{false};  // when this thread next holds the GIL
  std::atomic<std::uint64_t> searched_changes_{~std::uint64_t{0}};
  PythonRuntime runtime_;
  PythonLayout layout_;
  Mutex<LockRank::kPython> mutex_;  // guards what follows
  PythonSource source_;
  HashTable<NamedFrame> named_{kFirstNamed, kMaxNamed};
};

// Compares `stack`, read from the calling thread, with its frame objects. Needs the GIL. Returns
// null when they agree, else what differs.
const char* DifferenceFromFrames(const PythonRuntime& runtime, const PythonLayout& layout,
                                 const PythonStack& stack, PythonSource* source);

}  // namespace memprof::recorder
