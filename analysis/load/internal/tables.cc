// Builds the tables of a session from Definitions chunks.
#include "analysis/load/internal/tables.h"

#include <algorithm>
#include <initializer_list>
#include <variant>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "analysis/load/internal/cells.h"
#include "analysis/log/wire.h"

namespace memprof::analysis {
namespace {

constexpr std::size_t kMaxThreads = 1u << 16;   // made up for undefined ids; defined ones are free
constexpr std::uint64_t kPythonModule = ~0ull;  // in place of a module id
// Recorders stop at 512 frames. Every query walks stacks, so without a limit on their depth a small
// log could cause very much work.
constexpr std::uint16_t kMostDepth = 640;
// Recorders write no longer names. A name may belong to many tensors, each of which stores it. Long
// names may take kTensorNameBytes in all; beyond that each is cut to kShortName.
constexpr std::size_t kTensorNameBytes = 64u << 20, kShortName = 256;

std::uint32_t Id(const WireReader& reader) { return static_cast<std::uint32_t>(reader.number()); }

// Reads a message of scalar and text fields: calls `field(reader)` for each.
template <typename Field>
bool ReadMessage(std::string_view bytes, Field field) {
  WireReader reader(bytes);
  while (reader.Next()) field(reader);
  return reader.ok();
}

// The same for variables: the number of each field in proto/memprof.proto, and its destination.
struct Into {
  std::uint32_t field;
  std::variant<std::uint32_t*, std::uint64_t*, bool*, std::string*, std::string_view*> to;
};

void Put(const WireReader& reader, std::uint32_t* to) { *to = Id(reader); }
void Put(const WireReader& reader, std::uint64_t* to) { *to = reader.number(); }
void Put(const WireReader& reader, bool* to) { *to = reader.number() != 0; }
void Put(const WireReader& reader, std::string* to) { *to = LogText(reader.bytes()); }
void Put(const WireReader& reader, std::string_view* to) { *to = reader.bytes(); }

bool ReadFields(std::string_view bytes, std::initializer_list<Into> fields) {
  return ReadMessage(bytes, [fields](const WireReader& reader) {
    for (const Into& into : fields)
      if (into.field == reader.field())
        std::visit([&reader](auto* to) { Put(reader, to); }, into.to);
  });
}

// The row of `id` in `table`, appended if it is new.
template <typename T>
T& RowOf(std::uint32_t id, IdMap* ids, std::vector<T>* table) {
  std::uint32_t row = ids->Find(id);
  if (row == IdMap::kNone) {
    row = static_cast<std::uint32_t>(table->size());
    ids->Set(id, row);
    table->emplace_back();
  }
  return (*table)[row];
}

int Ordinal(std::uint64_t number) { return number < 1024 ? static_cast<int>(number) : kNoDevice; }

}  // namespace

void IdMap::Set(std::uint32_t id, std::uint32_t row) {
  if (id < dense_.size()) {
    dense_[id] = row;
  } else if (id < 1024 + 4 * dense_.size()) {
    dense_.resize(id + 1, kNone);
    dense_[id] = row;
    if (const auto at = sparse_.find(id); at != sparse_.end()) sparse_.erase(at);
  } else {
    sparse_[id] = row;
  }
}

void IdMap::Replace(const std::vector<std::uint32_t>& rows) {
  for (std::uint32_t& row : dense_)
    if (row != kNone) row = rows[row];
  for (auto& [id, row] : sparse_) row = rows[row];
}

std::uint32_t IdMap::FindSparse(std::uint32_t id) const {
  const auto at = sparse_.find(id);
  return at == sparse_.end() ? kNone : at->second;
}

bool SessionTables::Add(std::string_view definitions) {
  WireReader reader(definitions);
  bool ok = true;
  while (reader.Next()) {
    switch (reader.field()) {
      case 1:
        ok &= AddString(reader.bytes());
        break;
      case 2:
        ok &= AddModule(reader.bytes());
        break;
      case 3:
        ok &= AddThread(reader.bytes());
        break;
      case 4:
        ok &= AddDevice(reader.bytes());
        break;
      case 5:
        ok &= AddContext(reader.bytes());
        break;
      case 6:
        ok &= AddTensor(reader.bytes());
        break;
      case 7:
        ok &= AddPythonFrame(reader.bytes());
        break;
      case 8:
        ok &= AddTrie(reader.bytes());
        break;
      case 9:
        ok &= AddSource(reader.bytes());
        break;
      case 10:
        ok &= AddPool(reader.bytes());
        break;
      case 11:
        ok &= AddFramework(reader.bytes());
        break;
      default:
        break;
    }
  }
  return ok && reader.ok();
}

bool SessionTables::AddString(std::string_view bytes) {
  std::uint32_t id = 0;
  std::string value;
  const bool ok = ReadFields(bytes, {{1, &id}, {2, &value}});
  if (ok && id != 0) RowOf(id, &string_ids_, &strings) = std::move(value);
  return ok;
}

bool SessionTables::AddModule(std::string_view bytes) {
  std::uint32_t id = 0;
  ModuleInfo module;
  std::string_view build_id;  // raw bytes
  const bool ok = ReadFields(bytes, {{1, &id},
                                     {2, &module.path},
                                     {3, &build_id},
                                     {4, &module.load_bias},
                                     {5, &module.first_address},
                                     {6, &module.end_address}});
  module.build_id = std::string(build_id);
  if (ok && id != 0) RowOf(id, &module_ids_, &modules) = std::move(module);
  return ok;
}

bool SessionTables::AddThread(std::string_view bytes) {
  std::uint32_t id = 0;
  ThreadInfo thread;
  const bool ok = ReadFields(bytes, {{1, &id}, {2, &thread.tid}, {3, &thread.name}});
  if (ok && id != 0) RowOf(id, &thread_ids_, &threads) = std::move(thread);
  return ok;
}

std::uint32_t SessionTables::Thread(std::uint32_t id) {
  if (id == 0) return IdMap::kNone;
  const std::uint32_t row = thread_ids_.Find(id);
  if (row != IdMap::kNone || threads.size() >= kMaxThreads) return row;
  RowOf(id, &thread_ids_, &threads);
  return static_cast<std::uint32_t>(threads.size() - 1);
}

void SessionTables::SeeDevice(int ordinal) {
  if (ordinal < 0) return;
  const auto known = std::find_if(devices.begin(), devices.end(),
                                  [&](const DeviceInfo& device) { return device.id == ordinal; });
  if (known == devices.end()) devices.push_back({.id = ordinal});
}

bool SessionTables::AddDevice(std::string_view bytes) {
  DeviceInfo device;
  std::uint64_t ordinal = 0;
  std::string_view uuid;  // raw bytes
  const bool ok = ReadFields(bytes, {{1, &ordinal},
                                     {2, &device.name},
                                     {3, &device.capacity_bytes},
                                     {4, &uuid},
                                     {5, &device.simulated},
                                     {6, &device.driver_version},
                                     {7, &device.free_at_start_bytes},
                                     {8, &device.uses_system_memory},
                                     {9, &device.multiprocessors},
                                     {10, &device.threads_per_multiprocessor}});
  device.id = Ordinal(ordinal);
  device.uuid = std::string(uuid);
  if (!ok || device.id == kNoDevice) return ok;
  SeeDevice(device.id);
  for (DeviceInfo& known : devices)
    if (known.id == device.id) known = std::move(device);
  return true;
}

bool SessionTables::AddContext(std::string_view bytes) {
  std::uint32_t id = 0;
  std::uint64_t ordinal = 0;
  ContextInfo context;
  const bool ok =
      ReadFields(bytes, {{1, &id}, {2, &context.handle}, {3, &ordinal}, {4, &context.primary}});
  context.device = Ordinal(ordinal);
  if (ok && id != 0) RowOf(id, &context_ids_, &contexts) = context;
  return ok;
}

bool SessionTables::AddPool(std::string_view bytes) {
  PoolInfo pool;
  std::uint64_t ordinal = 0;
  const bool ok = ReadFields(bytes, {{1, &pool.handle}, {2, &ordinal}, {3, &pool.is_default}});
  pool.device = Ordinal(ordinal);
  if (ok) pools.push_back(pool);
  return ok;
}

bool SessionTables::AddTensor(std::string_view bytes) {
  std::uint32_t id = 0;
  TensorNames names;
  std::vector<std::uint64_t> shape;
  bool packed_ok = true;
  const bool ok = ReadMessage(bytes, [&](const WireReader& reader) {
    constexpr std::size_t kMaxRank = 64;
    if (reader.field() == 1) id = Id(reader);
    if (reader.field() == 2) names.name = Id(reader);
    if (reader.field() == 3) names.dtype = Id(reader);
    if (reader.field() != 4) return;
    if (!reader.packed() && shape.size() < kMaxRank) shape.push_back(reader.number());
    VarintReader in(reader.bytes());
    while (!in.done() && shape.size() < kMaxRank) shape.push_back(in.Next());
    packed_ok &= in.ok();
  });
  if (!ok || !packed_ok || id == 0) return ok && packed_ok;
  RowOf(id, &tensor_ids_, &tensors).shape = std::move(shape);
  tensor_names_.resize(tensors.size());
  tensor_names_[tensor_ids_.Find(id)] = names;
  return true;
}

bool SessionTables::AddPythonFrame(std::string_view bytes) {
  std::uint32_t id = 0;
  PythonFrame frame;
  const bool ok =
      ReadFields(bytes, {{1, &id}, {2, &frame.function}, {3, &frame.file}, {4, &frame.line}});
  if (ok && id != 0) RowOf(id, &python_ids_, &python_frames_) = frame;
  return ok;
}

FrameId SessionTables::InternFrame(bool python, std::uint32_t module, std::uint64_t address) {
  const auto [at, fresh] = frame_rows_.try_emplace(
      std::pair<std::uint64_t, std::uint64_t>(python ? kPythonModule : module, address),
      static_cast<std::uint32_t>(frames.size()));
  if (fresh) frames.push_back({.python = python, .address = address, .module = module});
  return FrameId(at->second);
}

bool SessionTables::AddTrie(std::string_view bytes) {
  std::uint32_t first_id = 0;
  std::string_view parent, address, module, kind;
  const bool ok =
      ReadFields(bytes, {{1, &first_id}, {2, &parent}, {3, &address}, {4, &module}, {5, &kind}});
  // Every node has an address; other columns may be absent, all zeroes.
  const std::size_t count = CountVarints(address);
  const auto fits = [count](std::string_view column) {
    return column.empty() || CountVarints(column) == count;
  };
  if (!ok || !fits(parent) || !fits(module) || !fits(kind)) return false;
  if (count > 0 && (first_id == 0 || count > EventId::kNone - first_id)) return false;
  VarintReader parents(parent), addresses(address), modules_in(module), kinds(kind);
  std::uint64_t last_address = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto parent_id = static_cast<std::uint32_t>(parent.empty() ? 0 : parents.Next());
    const std::int64_t delta = addresses.NextZigZag();
    const auto module_id = static_cast<std::uint32_t>(module.empty() ? 0 : modules_in.Next());
    const bool python = !kind.empty() && kinds.Next() == 1;
    if (!python) last_address += static_cast<std::uint64_t>(delta);
    const std::uint32_t id = first_id + i;
    if (stack_ids_.Find(id) != IdMap::kNone) continue;  // defined twice: the first holds
    // A parent comes before its child, so that walking up always ends.
    StackId caller = parent_id < id ? Stack(parent_id) : StackId();
    std::uint16_t depth = caller.valid() ? stack_depth_[caller.value] + 1 : 0;
    if (depth == kMostDepth) {
      caller = {};
      depth = 0;
      ++stacks_truncated;
    }
    stack_depth_.push_back(depth);
    stack_ids_.Set(id, static_cast<std::uint32_t>(stack_parent.size()));
    stack_parent.push_back(caller);
    stack_frame.push_back(InternFrame(python, python ? 0 : module_id,
                                      python ? static_cast<std::uint64_t>(delta) : last_address));
  }
  return parents.ok() && addresses.ok() && modules_in.ok() && kinds.ok();
}

bool SessionTables::AddSource(std::string_view bytes) {
  SourceInfo source;
  std::uint32_t state = 0;
  const bool ok =
      ReadFields(bytes, {{1, &source.name}, {2, &state}, {3, &source.detail}, {4, &source.time}});
  source.state = static_cast<int>(state);
  if (!ok) return false;
  const auto known = std::find_if(sources.begin(), sources.end(),
                                  [&](const SourceInfo& s) { return s.name == source.name; });
  constexpr std::size_t kMaxSources = 1024;
  if (known != sources.end())
    *known = std::move(source);
  else if (sources.size() < kMaxSources)
    sources.push_back(std::move(source));
  return true;
}

bool SessionTables::AddFramework(std::string_view bytes) {
  std::string name, release;
  if (!ReadFields(bytes, {{1, &name}, {2, &release}})) return false;
  if (name == "PyTorch") torch_release = LogText(release, kShortName);
  return true;
}

void SessionTables::Finish() {
  const auto text = [this](std::uint32_t id) {
    const StringId row = String(id);
    return row.valid() ? strings[row.value] : std::string();
  };
  std::size_t bytes = 0;
  const auto tensor_text = [&text, &bytes](std::uint32_t id) {
    std::string name = text(id);
    bytes += name.size();
    return bytes > kTensorNameBytes ? LogText(name, kShortName) : name;
  };
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    tensors[i].name = tensor_text(tensor_names_[i].name);
    tensors[i].dtype = tensor_text(tensor_names_[i].dtype);
  }
  for (Frame& frame : frames) {
    if (frame.python) {
      const std::uint32_t row = python_ids_.Find(static_cast<std::uint32_t>(frame.address));
      frame.module = EventId::kNone;
      frame.address = 0;
      if (row == IdMap::kNone) continue;
      const PythonFrame& python = python_frames_[row];
      frame.function = String(python.function);
      frame.file = String(python.file);
      frame.line = python.line;
    } else {
      frame.module = module_ids_.Find(frame.module);
    }
  }
  frame_rows_.clear();
  if (const auto first = JoinCells(&strings, &frames, &stack_parent, &stack_frame); !first.empty())
    stack_ids_.Replace(first);
}

StackId SessionTables::AddNamedStack(std::string_view lines) {
  const auto add = [this](std::string_view text) {
    strings.emplace_back(text);
    return StringId(static_cast<std::uint32_t>(strings.size() - 1));
  };
  std::vector<absl::string_view> innermost_first =
      absl::StrSplit(absl::string_view(lines.data(), lines.size()), '\n', absl::SkipEmpty());
  if (innermost_first.size() > kMostDepth) innermost_first.resize(kMostDepth);
  StackId stack;
  for (std::size_t i = innermost_first.size(); i-- > 0;) {
    absl::string_view line = innermost_first[i];
    const std::size_t place = line.rfind(" (");
    const std::size_t colon = line.rfind(':');
    Frame frame;
    frame.python = true;
    frame.function = add(std::string_view(line.data(), std::min(place, line.size())));
    if (place != line.npos && absl::ConsumeSuffix(&line, ")")) {
      const bool has_line = colon != line.npos && colon > place &&
                            absl::SimpleAtoi(line.substr(colon + 1), &frame.line);
      const std::size_t begin = place + 2;
      frame.file =
          add(std::string_view(line.data() + begin, (has_line ? colon : line.size()) - begin));
    }
    frames.push_back(frame);
    stack_parent.push_back(stack);
    stack_frame.push_back(FrameId(static_cast<std::uint32_t>(frames.size() - 1)));
    stack = StackId(static_cast<std::uint32_t>(stack_parent.size() - 1));
  }
  return stack;
}

}  // namespace memprof::analysis
