#include "analysis/source/generated_code.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/base/text.h"
#include "analysis/source/enclosing.h"
#include "analysis/source/internal/open_file.h"
#include "analysis/symbols/generated_lines.h"

namespace memprof::analysis {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostGraphBytes = 64u << 20;
constexpr std::size_t kMostReadBytes = 256u << 20;
constexpr std::size_t kMostGraphs = 100'000;  // that are listed
constexpr std::size_t kMostSources = 200;     // that are read for the names of functions

// By the folder of the cache, the names of generated files in it without ".py".
using Wanted = std::map<std::string, std::vector<std::string>>;

Wanted GeneratedFilesOf(const Session& session) {
  Wanted wanted;
  for (std::uint32_t i = 0; i < session.frame_count(); ++i) {
    const Frame& frame = session.frame(FrameId(i));
    if (!frame.python) continue;
    const std::string_view file = session.string(frame.file);
    if (!IsGeneratedFile(file)) continue;
    const fs::path path(file);
    std::vector<std::string>& names = wanted[path.parent_path().parent_path().string()];
    const std::string name = path.stem().string();
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return wanted;
}

// The pickled graphs of a cache, newest first.
std::vector<std::string> GraphsIn(const std::string& folder) {
  std::vector<std::pair<fs::file_time_type, std::string>> graphs;
  std::error_code error;
  fs::recursive_directory_iterator at(fs::path(folder) / "fxgraph", error), end;
  for (; !error && at != end && graphs.size() < kMostGraphs; at.increment(error)) {
    std::error_code unknown;
    if (at->symlink_status(unknown).type() == fs::file_type::regular)
      graphs.emplace_back(at->last_write_time(unknown), at->path().string());
  }
  std::sort(graphs.rbegin(), graphs.rend());
  std::vector<std::string> paths;
  for (auto& [time, path] : graphs) paths.push_back(std::move(path));
  return paths;
}

void AddLines(const std::string& folder, const std::vector<std::string>& names, std::size_t* budget,
              KeptSources* lines) {
  std::size_t missing = names.size();
  for (const std::string& path : GraphsIn(folder)) {
    if (missing == 0 || *budget == 0) return;
    std::string bytes;
    if (!OpenFile(path).Read(std::min(kMostGraphBytes, *budget), &bytes)) continue;
    *budget -= std::min(*budget, bytes.size());
    for (const std::string& name : names) {
      const std::string file = absl::StrCat(folder, "/", name.substr(1, 2), "/", name, ".py");
      if (lines->contains(LinesName(file)) || bytes.find(name) == std::string::npos) continue;
      Pickle::Limits limits;
      limits.marks = 1000;
      limits.objects = true;
      const absl::StatusOr<Pickle> graph = Pickle::Parse(bytes, limits);
      if (!graph.ok()) break;
      std::string text = LinesTextOf(*graph, name);
      if (text.empty() || text.size() > kMostKeptFileBytes) continue;
      lines->emplace(LinesName(file), std::move(text));
      --missing;
    }
  }
}

// Names functions with their classes, by the files they are in.
class FunctionNames {
 public:
  // Of a text as LinesTextOf makes.
  std::string Complete(std::string_view lines) {
    std::string text;
    while (!lines.empty()) {
      const std::string_view line = lines.substr(0, lines.find('\n'));
      lines.remove_prefix(std::min(line.size() + 1, lines.size()));
      const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
      if (const auto frame = FrameOfTraceback(line.substr(begin))) {
        text.append(line.substr(0, line.size() - frame->function.size()))
            .append(QualifiedName(TextOf(frame->file), frame->line, frame->function));
      } else {
        text.append(line);
      }
      text.push_back('\n');
    }
    return text;
  }

 private:
  const std::string& TextOf(const std::string& path) {
    if (texts_.size() >= kMostSources && !texts_.contains(path)) return none_;
    const auto [it, fresh] = texts_.try_emplace(path);
    if (fresh && !OpenFile(path).Read(kMostKeptFileBytes, &it->second)) it->second.clear();
    return it->second;
  }

  std::map<std::string, std::string> texts_;
  const std::string none_;
};

}  // namespace

std::string LinesTextOf(const Pickle& graph, std::string_view key) {
  const PickleValue state = graph.State(graph.root());
  if (graph.At(state, "cache_key").Text() != key) return "";
  std::string text;
  for (const PickleValue entry : graph.Items(graph.At(state, "cache_linemap"))) {
    const auto pair = graph.Items(entry);
    if (pair.size() != 2 || !pair[0].is_integer()) return "";
    absl::StrAppend(&text, pair[0].Unsigned(), "\n");
    // Under each "File …" line is the source itself, which is left out.
    std::string_view stack = pair[1].Text();
    while (!stack.empty()) {
      const std::string_view line = stack.substr(0, stack.find('\n'));
      stack.remove_prefix(std::min(line.size() + 1, stack.size()));
      if (Contains(line, "File \"")) text.append(line).append("\n");
    }
  }
  return text;
}

KeptSources LinesOfGeneratedCode(const Session& session) {
  KeptSources lines;
  std::size_t budget = kMostReadBytes;
  for (const auto& [folder, names] : GeneratedFilesOf(session))
    AddLines(folder, names, &budget, &lines);
  FunctionNames complete;
  for (auto& [name, text] : lines) text = complete.Complete(text);
  return lines;
}

}  // namespace memprof::analysis
