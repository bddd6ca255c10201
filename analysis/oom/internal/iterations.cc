// Growth of a run that no step was found in: a line of the program that is run again and again, and
// leaves more behind each time.
#include <algorithm>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "analysis/categories/words.h"
#include "analysis/oom/internal/scene_parts.h"
#include "analysis/store/lifetime_walk.h"
#include "analysis/symbols/site_choice.h"

namespace memprof::analysis::oom {
namespace {

// Fewer iterations are no evidence of growth, neither of lines that alternate with another one nor
// of those found only by their allocations.
constexpr std::size_t kFewIterations = 4;

bool IsUsers(const SourceFrame& frame) {
  return !IsPlumbing(frame) && frame.file.find("-packages/") == std::string::npos;
}

// The line that runs in iterations: in Python the program's last line, from the outermost frame
// inward, before the first frame of a package (a model's modules loop over layers, not over
// batches).
SourceFrame IterationLine(Symbols& symbols, StackId stack) {
  const std::vector<SourceFrame> frames = symbols.ResolveStack(stack);
  const SourceFrame* line = nullptr;
  for (std::size_t i = frames.size(); i-- > 0;) {
    if (!frames[i].python) continue;
    if (IsUsers(frames[i]))
      line = &frames[i];
    else if (line != nullptr)
      break;
  }
  return line != nullptr ? *line : symbols.Site(stack);
}

bool IsWorkspace(Symbols& symbols, StackId stack) {
  const std::vector<SourceFrame> frames = symbols.ResolveStack(stack);
  return std::any_of(frames.begin(), frames.end(), [](const SourceFrame& frame) {
    return PhaseOfFrame(frame) == Phase::kWorkspace;
  });
}

using Kind = std::pair<std::uint32_t, std::uint64_t>;  // stack and bytes

struct Line {
  StackId example;
  std::string function;  // and file
  std::uint64_t live = 0;
  EventId first, last;                          // births
  absl::flat_hash_map<Kind, std::size_t> made;  // without workspaces of libraries
  Kind marker;                                  // begins an iteration
  std::vector<std::uint64_t> levels;            // live when iterations begin
};

// Follows the live memory of lines, in two passes: first with iterations that begin after another
// line of the same function, then with iterations that begin with a line's marker.
class Iterations {
 public:
  Iterations(const Session& session, Symbols& symbols, const FailedRequest& request)
      : session_(session), symbols_(symbols), request_(request) {
    line_of_.assign(session.stack_count() + 1, kUnseen);
  }

  void Birth(EventId event, AllocationId id) {
    const AllocationRecord& a = session_.record(id);
    if (!Counts(a)) return;
    const std::uint32_t at = LineOf(a.stack);
    Line& line = lines_[at];
    const Kind kind{a.stack.value, a.bytes};
    if (!by_marker_) {
      const bool other = previous_ != at && previous_ < lines_.size() &&
                         lines_[previous_].function == line.function;
      if (other || !line.first.valid()) line.levels.push_back(line.live);
      if (!line.first.valid()) line.first = event;
      line.last = event;
      if (!workspace_[a.stack.value]) ++line.made[kind];
      previous_ = at;
    } else if (kind == line.marker) {
      line.levels.push_back(line.live);
    }
    line.live += a.bytes;
  }
  void Death(EventId, AllocationId id) {
    const AllocationRecord& a = session_.record(id);
    if (Counts(a)) lines_[LineOf(a.stack)].live -= a.bytes;
  }
  void After(EventId) {}

  // Lines that alternate with no other line: an iteration begins with the allocation that the line
  // makes least often.
  void BeginByMarkers() {
    by_marker_ = true;
    for (Line& line : lines_) {
      line.live = 0;
      line.levels.clear();
      std::size_t least = ~std::size_t{0};
      for (const auto& [kind, count] : line.made)
        if (count < least || (count == least && kind < line.marker)) {
          least = count;
          line.marker = kind;
        }
    }
  }
  const std::vector<Line>& lines() const { return lines_; }
  bool IsOf(StackId stack, const Line& line) const {
    const std::size_t slot = std::min<std::size_t>(stack.value, line_of_.size() - 1);
    return line_of_[slot] != kUnseen && &lines_[line_of_[slot]] == &line;
  }

 private:
  static constexpr std::uint32_t kUnseen = ~std::uint32_t{0};

  bool Counts(const AllocationRecord& a) const {
    return a.device == request_.device && a.stack.valid() &&
           (request_.framework ? a.layer == Layer::kBlock : OccupiesDevice(a.layer));
  }
  std::uint32_t LineOf(StackId stack) {
    const std::size_t slot = std::min<std::size_t>(stack.value, line_of_.size() - 1);
    if (line_of_[slot] != kUnseen) return line_of_[slot];
    const SourceFrame frame = IterationLine(symbols_, stack);
    const std::string function = frame.function + '\n' + frame.file;
    const auto [at, fresh] = by_name_.try_emplace(function + '\n' + std::to_string(frame.line),
                                                  static_cast<std::uint32_t>(lines_.size()));
    if (fresh) {
      lines_.emplace_back();
      lines_.back().example = stack;
      lines_.back().function = function;
    }
    workspace_[stack.value] = IsWorkspace(symbols_, stack);
    return line_of_[slot] = at->second;
  }

  const Session& session_;
  Symbols& symbols_;
  const FailedRequest& request_;
  bool by_marker_ = false;
  std::vector<std::uint32_t> line_of_;  // by stack
  absl::flat_hash_map<std::uint32_t, bool> workspace_;
  absl::flat_hash_map<std::string, std::uint32_t> by_name_;
  std::vector<Line> lines_;
  std::uint32_t previous_ = kUnseen;
};

// The bytes that a line left behind in its iterations up to the last, if they rose all the time and
// still rise; else 0.
std::uint64_t Growth(const Line& line, EventId failure) {
  const std::vector<std::uint64_t>& levels = line.levels;
  if (levels.size() < kFewIterations + 1 || levels.back() <= levels.front()) return 0;
  const std::uint64_t growth = levels.back() - levels.front();
  for (std::size_t quarter = 0; quarter < 4; ++quarter) {
    const std::uint64_t before = levels[(levels.size() - 1) * quarter / 4];
    if (levels[(levels.size() - 1) * (quarter + 1) / 4] < before + growth / 10) return 0;
  }
  const std::uint32_t length = failure.value - line.first.value;
  return failure.value - line.last.value <= length / 4 ? growth : 0;
}

const Line* Largest(const std::vector<Line>& lines, EventId failure, std::uint64_t* growth) {
  const Line* largest = nullptr;
  for (const Line& line : lines) {
    const std::uint64_t bytes = Growth(line, failure);
    if (bytes <= *growth) continue;
    *growth = bytes;
    largest = &line;
  }
  return largest;
}

}  // namespace

std::optional<FailureGrowth> FindIterations(const Scene& scene, Symbols& symbols,
                                            SiteGroups& groups,
                                            absl::flat_hash_set<std::uint32_t>* growing) {
  const Session& session = *scene.session;
  const EventId end = scene.request.event;
  Iterations iterations(session, symbols, scene.request);
  WalkLifetimes(session, EventId(0), end, iterations);
  std::uint64_t growth = 0;
  const Line* line = Largest(iterations.lines(), end, &growth);
  if (line == nullptr) {
    iterations.BeginByMarkers();
    WalkLifetimes(session, EventId(0), end, iterations);
    line = Largest(iterations.lines(), end, &growth);
  }
  if (line == nullptr) return std::nullopt;
  FailureGrowth found{.stack = line->example, .site = IterationLine(symbols, line->example)};
  found.sites = 1;
  found.iterations = line->levels.size();
  found.bytes = line->live;
  found.bytes_per_step = static_cast<double>(growth) / static_cast<double>(found.iterations - 1);
  for (const AllocationId id : session.LiveAfter(end, kDeviceLayers | LayerBit(Layer::kBlock)))
    if (const AllocationRecord& a = session.record(id); iterations.IsOf(a.stack, *line))
      growing->insert(groups.Of(a.stack));
  return found;
}

}  // namespace memprof::analysis::oom
