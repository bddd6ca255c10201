// The content of a PyTorch memory snapshot as types: the pickle that
// torch.cuda.memory._dump_snapshot() writes, with the allocator's final state and the last actions
// of each device.
//
// Written for the structure of PyTorch 2.1 to 2.9. Fields that older versions lack stay empty;
// unknown keys are ignored.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/pickle/pickle.h"

namespace memprof::analysis::torch {

enum class Action : std::uint8_t {
  kAlloc,
  kFreeRequested,
  kFreeCompleted,
  kSegmentAlloc,
  kSegmentFree,
  kSegmentMap,
  kSegmentUnmap,
  kSnapshot,
  kOom,
  kUnknown,
};

// One action of the allocator. Sizes are bytes; those of blocks as requested.
struct Entry {
  Action action = Action::kUnknown;
  std::uint64_t address = 0;  // of kOom: the free bytes of the device
  std::uint64_t bytes = 0;
  std::uint64_t stream = 0;
  std::uint64_t time_us = 0;  // since 1970; 0 = not in the file
  PickleValue frames;         // a list of dictionaries, innermost first
  PickleValue metadata;       // of the user, text or a dictionary; or the compiler's context
};

struct Block {
  std::uint64_t address = 0, bytes = 0, requested = 0;
  bool pending_free = false;  // freed by the program, still used by another stream
  PickleValue frames;
};

struct Segment {
  std::uint64_t address = 0, bytes = 0, stream = 0;
  std::uint64_t pool = 0;   // both numbers of its id, the first in the upper half
  bool expandable = false;  // mapped pages of an expandable segment
  PickleValue frames;
};

struct Device {
  std::vector<Segment> segments;  // at the end
  std::vector<Block> blocks;      // in use at the end
  std::vector<Entry> trace;       // oldest first
};

struct Annotation {
  std::string_view name;
  bool start = false;
  int device = 0;
  std::uint64_t time_us = 0;
};

struct Settings {
  std::string_view configuration;         // PYTORCH_CUDA_ALLOC_CONF
  std::uint64_t max_split_bytes = ~0ull;  // larger blocks are not split
  bool expandable_segments = false;
  bool trace_overflowed = false;        // only in new versions
  std::uint64_t trace_max_entries = 0;  // likewise; 0 = not in the file
  // By power of two from 1 MiB to 32 GiB: the number of steps between it and the next; 0 or 1 =
  // none.
  std::array<std::uint64_t, 16> roundup_divisions{};
};

struct Snapshot {
  std::vector<Device> devices;  // by ordinal
  std::vector<Annotation> annotations;
  Settings settings;
  std::uint64_t unknown_actions = 0;
};

// `pickle` must outlive the result. Errors (kInvalidArgument) name why it is no snapshot.
absl::StatusOr<Snapshot> ReadSnapshot(const Pickle& pickle);

}  // namespace memprof::analysis::torch
