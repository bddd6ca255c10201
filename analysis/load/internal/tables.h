// The tables of a session that events refer to by id: threads, contexts, strings, stacks, …
//
// Built on one thread from Definitions chunks; then read from several. The ids of a log may be
// arbitrary numbers, so they are looked up, and never used as an index.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

// Maps ids of the log to rows of a table. Nearly dense ids cost an array look-up; scattered ids
// cost a hash look-up, and never memory up to the largest id.
class IdMap {
 public:
  static constexpr std::uint32_t kNone = EventId::kNone;

  std::uint32_t Find(std::uint32_t id) const {
    if (id < dense_.size()) return dense_[id];
    return sparse_.empty() ? kNone : FindSparse(id);
  }
  void Set(std::uint32_t id, std::uint32_t row);
  // Every row becomes `rows[row]`.
  void Replace(const std::vector<std::uint32_t>& rows);

 private:
  std::uint32_t FindSparse(std::uint32_t id) const;

  std::vector<std::uint32_t> dense_;
  absl::flat_hash_map<std::uint32_t, std::uint32_t> sparse_;
};

class SessionTables {
 public:
  // Adds one Definitions message. False if it is malformed; what was read before stays.
  bool Add(std::string_view definitions);

  // Rows for ids of the log; none for 0 and for unknown ids.
  StringId String(std::uint32_t id) const { return StringId(string_ids_.Find(id)); }
  StackId Stack(std::uint32_t id) const { return StackId(stack_ids_.Find(id)); }
  TensorId Tensor(std::uint32_t id) const { return TensorId(tensor_ids_.Find(id)); }
  std::uint32_t Context(std::uint32_t id) const { return context_ids_.Find(id); }
  // An undefined thread gets a row without a name; none if there are too many.
  std::uint32_t Thread(std::uint32_t id);
  // Adds a device that only appears in events.
  void SeeDevice(int ordinal);

  // A stack that is only known by names, as Python's are; each line is a frame, the innermost
  // first: "function (file:line)". None for an empty text. After Finish.
  StackId AddNamedStack(std::string_view lines);

  // Looks up names by id and makes frames distinct. Call once, after the last Add.
  void Finish();

  std::vector<DeviceInfo> devices;
  std::vector<ThreadInfo> threads;
  std::vector<ContextInfo> contexts;
  std::vector<PoolInfo> pools;
  std::vector<ModuleInfo> modules;
  std::vector<SourceInfo> sources;
  std::string torch_release;
  std::vector<std::string> strings;
  std::vector<TensorInfo> tensors;
  std::uint64_t stacks_truncated = 0;  // nodes without their caller, because they are too deep
  std::vector<StackId> stack_parent;
  std::vector<FrameId> stack_frame;
  std::vector<Frame> frames;

 private:
  struct PythonFrame {
    std::uint32_t function = 0, file = 0, line = 0;
  };
  struct TensorNames {
    std::uint32_t name = 0, dtype = 0;
  };

  bool AddString(std::string_view bytes);
  bool AddModule(std::string_view bytes);
  bool AddThread(std::string_view bytes);
  bool AddDevice(std::string_view bytes);
  bool AddContext(std::string_view bytes);
  bool AddTensor(std::string_view bytes);
  bool AddPythonFrame(std::string_view bytes);
  bool AddTrie(std::string_view bytes);
  bool AddSource(std::string_view bytes);
  bool AddFramework(std::string_view bytes);
  bool AddPool(std::string_view bytes);
  FrameId InternFrame(bool python, std::uint32_t module, std::uint64_t address);

  std::vector<std::uint16_t> stack_depth_;  // of each node: 0 = outermost
  IdMap string_ids_, stack_ids_, tensor_ids_, context_ids_, thread_ids_, module_ids_, python_ids_;
  std::vector<PythonFrame> python_frames_;
  std::vector<TensorNames> tensor_names_;
  // (module id of the log, or kPython; address or Python frame id) → row of `frames`
  absl::flat_hash_map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> frame_rows_;
};

}  // namespace memprof::analysis
