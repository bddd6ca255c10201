// Keeps names that another machine found.
#include "analysis/symbols/names_elsewhere.h"

#include <iterator>
#include <utility>

namespace memprof::analysis {
namespace {

constexpr std::size_t kMostBytes = 512u << 20;
constexpr std::size_t kOfAnEntry = 128;  // the memory of one without its texts, roughly

}  // namespace

bool NamesElsewhere::Take(std::size_t bytes) {
  if (bytes > kMostBytes - bytes_) return false;
  bytes_ += bytes;
  return true;
}

NamesElsewhere::File* NamesElsewhere::FileOf(const ModuleInfo& module) {
  const auto key = std::make_pair(module.path, module.build_id);
  const auto found = files_.find(key);
  if (found != files_.end()) return &found->second;
  return Take(kOfAnEntry + module.path.size() + module.build_id.size()) ? &files_[key] : nullptr;
}

// What is sent again after a lost connection takes no more room.
bool NamesElsewhere::Add(const ModuleInfo& module, std::uint64_t address,
                         std::vector<SourceFrame> frames) {
  std::size_t bytes = kOfAnEntry;
  for (const SourceFrame& frame : frames)
    bytes += sizeof frame + frame.function.size() + frame.file.size() + frame.module.size();
  const std::lock_guard lock(mutex_);
  File* const file = FileOf(module);
  if (file == nullptr) return false;
  if (file->frames.contains(address)) return true;
  if (!Take(bytes)) return false;
  file->frames.emplace(address, std::move(frames));
  return true;
}

bool NamesElsewhere::Add(const ModuleInfo& module, ModuleSymbols::Range variable) {
  const std::lock_guard lock(mutex_);
  File* const file = FileOf(module);
  if (file == nullptr) return false;
  auto& variables = file->variables[variable.thread_local_data ? 1 : 0];
  const std::uint64_t begin = variable.begin;
  const auto same = variables.find(begin);
  if (same != variables.end() && same->second.name == variable.name &&
      same->second.end == variable.end)
    return true;
  if (!Take(kOfAnEntry + variable.name.size())) return false;
  // Of several at one place, ModuleSymbols answers with the last.
  variables.insert_or_assign(begin, std::move(variable));
  return true;
}

std::vector<SourceFrame> NamesElsewhere::At(const ModuleInfo& module, std::uint64_t address) const {
  const std::lock_guard lock(mutex_);
  const auto file = files_.find({module.path, module.build_id});
  if (file == files_.end()) return {};
  const auto at = file->second.frames.find(address);
  return at != file->second.frames.end() ? at->second : std::vector<SourceFrame>();
}

ModuleSymbols::Variable NamesElsewhere::VariableAt(const ModuleInfo& module, std::uint64_t address,
                                                   bool thread_local_data) const {
  const std::lock_guard lock(mutex_);
  const auto file = files_.find({module.path, module.build_id});
  if (file == files_.end()) return {};
  const auto& variables = file->second.variables[thread_local_data ? 1 : 0];
  const auto after = variables.upper_bound(address);
  if (after == variables.begin() || address >= std::prev(after)->second.end) return {};
  return {std::prev(after)->second.name, address - std::prev(after)->first};
}

}  // namespace memprof::analysis
