// Growth of a run that no step was found in: a line of the program that a loop enters again and
// again, and that leaves more behind each time.
//
// Layers of a model, tensors of a checkpoint and states of an optimizer repeat, too, within one
// call of one line. So a line has an iteration only where the same function has allocated at
// another of its lines since, and this other line's memory was freed again; and the loop is still
// running: the failed request came from one of its lines.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "analysis/oom/internal/scene_parts.h"
#include "analysis/store/lifetime_walk.h"
#include "analysis/symbols/plumbing.h"

namespace memprof::analysis::oom {
namespace {

// Fewer iterations are no evidence of growth.
constexpr std::size_t kFewIterations = 5;

bool IsSame(const SourceFrame& a, const SourceFrame& b) {
  return a.function == b.function && a.file == b.file && a.line == b.line;
}

bool IsUsers(const SourceFrame& frame) { return !IsPlumbing(frame) && !IsPackage(frame); }

// The program's lines on the stack, outermost first, up to the line that may run in iterations: in
// Python the last one before the first frame of a package (a model's modules loop over layers, not
// over batches), else the site.
std::vector<SourceFrame> UsersLines(Symbols& symbols, StackId stack) {
  const std::vector<SourceFrame> frames = symbols.ResolveStack(stack);
  const bool python = std::any_of(frames.begin(), frames.end(),
                                  [](const SourceFrame& f) { return f.python && IsUsers(f); });
  const SourceFrame site = symbols.Site(stack);
  std::vector<SourceFrame> lines;
  for (std::size_t i = frames.size(); i-- > 0;) {
    if (python && !frames[i].python) continue;
    if (IsUsers(frames[i]) || IsSame(frames[i], site))
      lines.push_back(frames[i]);
    else if (python && !lines.empty())
      break;
    if (!python && IsSame(frames[i], site)) break;
  }
  return lines;
}

// A line together with the calls that led to it.
struct Place {
  std::uint32_t caller = 0, function = 0;
  std::size_t births = 0, deaths = 0;  // through it
  EventId first;                       // birth

  // Lines of one function in one call of it.
  bool Beside(const Place& other) const {
    return caller == other.caller && function == other.function;
  }
};

// How a line was entered in one function's loop: the innermost that it shares with the allocation
// before.
struct Turns {
  std::vector<std::uint64_t> levels;  // of the line's live memory at each entry
  absl::flat_hash_set<std::uint32_t>
      others;    // places in the loop that had allocated before an entry
  EventId last;  // entry
};

struct Line {
  StackId example;
  SourceFrame frame;
  std::uint64_t live = 0, blocks = 0;
  std::map<std::uint32_t, Turns> turns;  // by the first place seen of the function that loops
};

// Follows the live memory of lines.
class Iterations {
 public:
  Iterations(const Session& session, Symbols& symbols, const FailedRequest& request)
      : session_(session),
        symbols_(symbols),
        request_(request),
        of_stack_(session.stack_count() + 1) {}

  void Birth(EventId event, AllocationId id) {
    const AllocationRecord& a = session_.record(id);
    if (!Counts(a)) return;
    const Stack& stack = Of(a.stack);
    for (const std::uint32_t at : stack.path) {
      Place& place = places_[at];
      if (place.births++ == 0) place.first = event;
    }
    Line& line = lines_[stack.line];
    const Stack*& before = before_[session_.events().thread(event.value)];
    if (before != nullptr && before != &stack) Enter(event, stack, *before, &line);
    before = &stack;
    line.live += a.bytes;
    ++line.blocks;
  }
  void Death(EventId, AllocationId id) {
    const AllocationRecord& a = session_.record(id);
    if (!Counts(a)) return;
    const Stack& stack = Of(a.stack);
    for (const std::uint32_t at : stack.path) ++places_[at].deaths;
    Line& line = lines_[stack.line];
    line.live -= a.bytes;
    --line.blocks;
  }
  void After(EventId) {}

  // The line that left most behind in the loop that the failed request is in; its turns. Null if
  // none did.
  std::pair<const Line*, const Turns*> Largest(std::uint64_t* growth) {
    std::pair<const Line*, const Turns*> largest;
    if (!request_.stack.valid()) return largest;
    const std::vector<std::uint32_t> failed = Of(request_.stack).path;
    for (const Line& line : lines_)
      for (const auto& [loop, turns] : line.turns) {
        const std::uint64_t bytes = Growth(turns);
        if (bytes > *growth && Passes(failed, loop, turns)) {
          *growth = bytes;
          largest = {&line, &turns};
        }
      }
    return largest;
  }
  bool IsOf(StackId stack, const Line& line) const {
    const auto& of = of_stack_[Slot(stack)];
    return of != nullptr && &lines_[of->line] == &line;
  }

 private:
  struct Stack {
    std::vector<std::uint32_t> path;  // places, outermost first
    std::uint32_t line = 0;
  };

  bool Counts(const AllocationRecord& a) const {
    return a.device == request_.device && a.stack.valid() &&
           (request_.framework ? a.layer == Layer::kBlock : OccupiesDevice(a.layer));
  }
  std::size_t Slot(StackId stack) const {
    return std::min<std::size_t>(stack.value, of_stack_.size() - 1);
  }

  const Stack& Of(StackId id) {
    std::unique_ptr<Stack>& stack = of_stack_[Slot(id)];
    if (stack != nullptr) return *stack;
    stack = std::make_unique<Stack>();
    std::vector<SourceFrame> frames = UsersLines(symbols_, id);
    if (frames.empty()) frames.push_back(symbols_.Site(id));
    std::uint32_t caller = 0;
    std::string name;
    for (const SourceFrame& frame : frames) {
      const std::string function = frame.function + '\n' + frame.file;
      name = function + '\n' + std::to_string(frame.line);
      const std::uint32_t function_id = Number(&functions_, function);
      const auto [at, fresh] =
          numbers_.try_emplace({caller, name}, static_cast<std::uint32_t>(places_.size()));
      if (fresh) places_.push_back({.caller = caller, .function = function_id});
      stack->path.push_back(at->second);
      caller = at->second;
    }
    stack->line = Number(&by_name_, name);
    if (stack->line == lines_.size()) lines_.push_back({.example = id, .frame = frames.back()});
    return *stack;
  }
  static std::uint32_t Number(absl::flat_hash_map<std::string, std::uint32_t>* numbers,
                              const std::string& name) {
    return numbers->try_emplace(name, static_cast<std::uint32_t>(numbers->size())).first->second;
  }

  void Enter(EventId event, const Stack& stack, const Stack& before, Line* line) {
    const auto [now, then] =
        std::mismatch(stack.path.begin(), stack.path.end(), before.path.begin(), before.path.end());
    if (now == stack.path.end() || then == before.path.end() ||
        !places_[*now].Beside(places_[*then]))
      return;
    const auto loop =
        loops_.try_emplace({places_[*now].caller, places_[*now].function}, *now).first->second;
    Turns& turns = line->turns[loop];
    turns.levels.push_back(line->live);
    turns.others.insert(*then);
    turns.last = event;
  }

  // The bytes left behind in the iterations up to the last, if they rose all the time; else 0.
  std::uint64_t Growth(const Turns& turns) const {
    const std::vector<std::uint64_t>& levels = turns.levels;
    if (levels.size() < kFewIterations || levels.back() <= levels.front()) return 0;
    const std::uint64_t growth = levels.back() - levels.front();
    for (std::size_t quarter = 0; quarter < 4; ++quarter) {
      const std::uint64_t before = levels[(levels.size() - 1) * quarter / 4];
      if (levels[(levels.size() - 1) * (quarter + 1) / 4] < before + growth / 10) return 0;
    }
    const bool frees =
        std::any_of(turns.others.begin(), turns.others.end(), [&](std::uint32_t other) {
          const Place& place = places_[other];
          return place.births >= kFewIterations - 1 && place.deaths >= place.births / 2;
        });
    return frees ? growth : 0;
  }

  // Whether the path leads through a line of the loop that had allocated in it before.
  bool Passes(const std::vector<std::uint32_t>& path, std::uint32_t loop,
              const Turns& turns) const {
    return std::any_of(path.begin(), path.end(), [&](std::uint32_t at) {
      const Place& place = places_[at];
      return place.Beside(places_[loop]) && place.first.valid() && place.first < turns.last;
    });
  }

  const Session& session_;
  Symbols& symbols_;
  const FailedRequest& request_;
  std::vector<std::unique_ptr<Stack>> of_stack_;
  absl::flat_hash_map<std::string, std::uint32_t> functions_, by_name_;
  absl::flat_hash_map<std::pair<std::uint32_t, std::string>, std::uint32_t> numbers_;  // of places
  absl::flat_hash_map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>
      loops_;                                                // by caller and function
  absl::flat_hash_map<std::uint32_t, const Stack*> before_;  // by thread
  std::vector<Place> places_{{}};                            // the first is of no line
  std::vector<Line> lines_;
};

}  // namespace

std::optional<FailureGrowth> FindIterations(const Scene& scene, Symbols& symbols,
                                            SiteGroups& groups,
                                            absl::flat_hash_set<std::uint32_t>* growing) {
  const Session& session = *scene.session;
  const EventId end = scene.request.event;
  Iterations iterations(session, symbols, scene.request);
  WalkLifetimes(session, EventId(0), end, iterations);
  std::uint64_t growth = 0;
  const auto [line, turns] = iterations.Largest(&growth);
  if (line == nullptr) return std::nullopt;
  FailureGrowth found{.stack = line->example, .site = line->frame};
  found.sites = 1;
  found.iterations = turns->levels.size();
  found.bytes = line->live;
  found.replaced = line->blocks < found.iterations / 2;
  found.bytes_per_step = static_cast<double>(growth) / static_cast<double>(found.iterations - 1);
  for (const AllocationId id : session.LiveAfter(end, kDeviceLayers | LayerBit(Layer::kBlock)))
    if (const AllocationRecord& a = session.record(id); iterations.IsOf(a.stack, *line))
      growing->insert(groups.Of(a.stack));
  return found;
}

}  // namespace memprof::analysis::oom
