// Memory by line of the program's source.
#include "analysis/source/line_bytes.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "analysis/leaks/leaks.h"
#include "analysis/leaks/survivors.h"

namespace memprof::analysis {
namespace {

constexpr std::uint32_t kHostLayers = LayerBit(Layer::kPinned) | LayerBit(Layer::kRegistered);

// Sums by stack of what a query asks for.
class StackSums {
 public:
  StackSums(const Session& session, const LineQuery& query)
      : session_(session), query_(query), sums_(session.stack_count()) {}

  void AddLive(TimeNs at, std::uint64_t LineBytes::*figure) {
    const std::uint32_t layers =
        query_.device == kNoDevice ? kHostLayers : kDeviceLayers | LayerBit(Layer::kBlock);
    for (const AllocationId id : session_.LiveAt(at, layers)) Add(id, figure);
  }
  void AddLeaks() {
    const auto report = LeaksOf(session_);
    ForEachSurvivor(session_, report->leaks,
                    [this](std::size_t, AllocationId id) { Add(id, &LineBytes::leaked); });
  }
  std::vector<StackBytes> Take() const {
    std::vector<StackBytes> found;
    for (std::uint32_t i = 0; i < sums_.size(); ++i)
      if (sums_[i].most() > 0) found.push_back({StackId(i), sums_[i]});
    std::stable_sort(found.begin(), found.end(), [](const StackBytes& a, const StackBytes& b) {
      return a.bytes.most() > b.bytes.most();
    });
    return found;
  }

 private:
  void Add(AllocationId id, std::uint64_t LineBytes::*figure) {
    const AllocationRecord& a = session_.record(id);
    if (a.device != query_.device || a.stack.value >= sums_.size()) return;
    if (query_.passing != nullptr && !query_.passing->Has(id)) return;
    if (a.layer != Layer::kBlock && session_.IsSuballocated(id)) return;
    sums_[a.stack.value].*figure += a.bytes;
  }

  const Session& session_;
  const LineQuery& query_;
  std::vector<LineBytes> sums_;
};

}  // namespace

std::vector<StackBytes> BytesByStack(const Session& session, const LineQuery& query) {
  StackSums sums(session, query);
  sums.AddLive(query.at, &LineBytes::live);
  sums.AddLive(query.peak, &LineBytes::peak);
  sums.AddLeaks();
  return sums.Take();
}

std::vector<FileBytes> FilesOfSites(Symbols& symbols, std::span<const StackBytes> stacks) {
  absl::flat_hash_map<std::string, LineBytes> sums;
  for (const StackBytes& stack : stacks) {
    const SourceFrame site = symbols.Site(stack.stack);
    if (!site.file.empty() && site.line > 0) sums[site.file] += stack.bytes;
  }
  std::vector<FileBytes> files;
  for (auto& [file, bytes] : sums) files.push_back({file, bytes});
  std::sort(files.begin(), files.end(), [](const FileBytes& a, const FileBytes& b) {
    return std::pair(b.self.most(), std::cref(a.file).get()) <
           std::pair(a.self.most(), std::cref(b.file).get());
  });
  return files;
}

std::vector<std::string> FilesNamed(const Session& session, Symbols& symbols,
                                    const std::string& name) {
  std::set<std::string> files;
  const std::string end = "/" + name;
  for (std::uint32_t i = 0; i < session.frame_count(); ++i)
    for (const SourceFrame& frame : symbols.Resolve(FrameId(i)))
      if (frame.file == name || frame.file.ends_with(end)) files.insert(frame.file);
  if (files.contains(name)) return {name};
  return {files.begin(), files.end()};
}

std::vector<SourceLine> LinesOfFile(const Session& session, Symbols& symbols,
                                    std::span<const StackBytes> stacks, const std::string& file) {
  // The lines of the file in each frame, which may have several where functions were inlined.
  std::vector<std::vector<int>> lines_of(session.frame_count());
  std::vector<bool> known(session.frame_count());
  const auto lines_in = [&](FrameId id) -> const std::vector<int>& {
    static const std::vector<int> kNone;
    if (id.value >= lines_of.size()) return kNone;
    if (!known[id.value]) {
      known[id.value] = true;
      for (const SourceFrame& frame : symbols.Resolve(id))
        if (frame.line > 0 && frame.file == file) lines_of[id.value].push_back(frame.line);
    }
    return lines_of[id.value];
  };
  std::map<int, SourceLine> sums;
  std::vector<int> lines;
  for (const StackBytes& stack : stacks) {
    lines.clear();
    std::size_t depth = 0;
    for (StackId node = stack.stack; node.valid() && depth < Session::kMaxStackDepth;
         node = session.StackParent(node), ++depth) {
      const std::vector<int>& more = lines_in(session.StackFrame(node));
      lines.insert(lines.end(), more.begin(), more.end());
    }
    if (lines.empty()) continue;
    std::sort(lines.begin(), lines.end());
    lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
    for (const int line : lines) {
      sums[line].inclusive += stack.bytes;
      ++sums[line].stacks;
      if (sums[line].through.size() < kMostStacks) sums[line].through.push_back(stack.stack);
    }
    const SourceFrame site = symbols.Site(stack.stack);
    if (site.file != file || site.line <= 0) continue;
    sums[site.line].self += stack.bytes;
    if (sums[site.line].sites.size() < kMostStacks) sums[site.line].sites.push_back(stack.stack);
  }
  std::vector<SourceLine> found;
  for (auto& [number, line] : sums) {
    line.line = number;
    found.push_back(std::move(line));
  }
  return found;
}

}  // namespace memprof::analysis
