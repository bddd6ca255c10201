// Tests every allocation against the conditions of a filter.
#include "analysis/filter/allocation_filter.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analysis/base/text.h"
#include "analysis/base/units.h"
#include "analysis/filter/filter_text.h"

namespace memprof::analysis {
namespace {

// Answers for a text: by frame, by stack (its frames and those of its callers), by string.
class TextMatcher {
 public:
  TextMatcher(const Session& session, Symbols& symbols, const std::string& text)
      : session_(session),
        symbols_(symbols),
        text_(Lower(text)),
        frames_(session.frame_count(), kUnknown),
        stacks_(session.stack_count(), kUnknown) {}

  bool Stack(StackId stack) {
    // Up to the first caller with a known result, then back down: every node is visited once.
    std::vector<StackId> path;
    char found = kNo;
    for (; stack.valid() && stack.value < stacks_.size(); stack = session_.StackParent(stack)) {
      if (stacks_[stack.value] != kUnknown) {
        found = stacks_[stack.value];
        break;
      }
      path.push_back(stack);
    }
    for (auto at = path.rbegin(); at != path.rend(); ++at) {
      if (found == kNo && Frame(session_.StackFrame(*at))) found = kYes;
      stacks_[at->value] = found;
    }
    return found == kYes;
  }
  bool Tensor(TensorId id) {
    const TensorInfo* tensor = session_.tensor(id);
    return tensor != nullptr && Contains(tensor->name);
  }

 private:
  static constexpr char kNo = 0, kYes = 1, kUnknown = 2;

  bool Contains(std::string_view text) const {
    return Lower(text).find(text_) != std::string::npos;
  }
  bool Frame(FrameId frame) {
    if (!frame.valid() || frame.value >= frames_.size()) return false;
    char& known = frames_[frame.value];
    if (known != kUnknown) return known == kYes;
    const std::vector<SourceFrame>& sources = symbols_.Resolve(frame);
    const bool found = std::any_of(sources.begin(), sources.end(), [&](const SourceFrame& source) {
      return Contains(source.function) || Contains(source.file) || Contains(source.module);
    });
    known = found ? kYes : kNo;
    return found;
  }

  const Session& session_;
  Symbols& symbols_;
  const std::string text_;
  std::vector<char> frames_, stacks_;
};

}  // namespace

AllocationSet Matching(const Session& session, Symbols& symbols, const Categories* categories,
                       const AllocationFilter& filter) {
  const std::span<const AllocationRecord> records = session.records();
  const EventTable& events = session.events();
  const TimeNs end = std::max(session.run().end_time, events.last_time());
  const std::vector<FilterTerm> terms = FilterTerms(filter.text);
  std::vector<TextMatcher> matchers;
  matchers.reserve(terms.size());
  for (const FilterTerm& term : terms) matchers.emplace_back(session, symbols, term.text);
  const auto has_text = [&](AllocationId id, TextMatcher& matcher) {
    const AllocationRecord& a = records[id.value];
    if (matcher.Stack(a.stack)) return true;
    if (a.layer == Layer::kTensor) return matcher.Tensor(a.tensor());
    for (const AllocationId child : session.Children(id)) {
      const AllocationRecord& inside = records[child.value];
      if (inside.layer == Layer::kTensor && matcher.Tensor(inside.tensor())) return true;
    }
    return false;
  };
  const auto passes = [&](AllocationId id) {
    const AllocationRecord& a = records[id.value];
    if ((filter.layers & LayerBit(a.layer)) == 0) return false;
    if (a.bytes < filter.least_bytes || a.bytes > filter.most_bytes) return false;
    if (filter.alive_at_end && !a.alive()) return false;
    if (filter.site && *filter.site != a.stack) return false;
    if (filter.stream && *filter.stream != events.stream(a.birth.value)) return false;
    if (filter.process && *filter.process != session.ProcessOf(a.birth)) return false;
    const TimeNs death = a.death.valid() ? events.time(a.death.value) : end;
    const TimeNs lifetime = death - events.time(a.birth.value);
    if (lifetime < filter.least_lifetime || lifetime > filter.most_lifetime) return false;
    if (filter.category &&
        (categories == nullptr || categories->Of(id).category != *filter.category))
      return false;
    for (std::size_t t = 0; t < terms.size(); ++t)
      if (has_text(id, matchers[t]) == terms[t].excluded) return false;
    return true;
  };
  std::vector<bool> chosen(records.size());
  for (std::uint32_t i = 0; i < records.size(); ++i) chosen[i] = passes(AllocationId(i));
  return AllocationSet(std::move(chosen));
}

std::vector<std::string> DescribeFilter(const Session& session, Symbols& symbols,
                                        const AllocationFilter& filter) {
  const AllocationFilter any;
  std::vector<std::string> words;
  for (const FilterTerm& term : FilterTerms(filter.text))
    words.push_back(absl::StrCat(term.excluded ? "not \"" : "\"", term.text, "\""));
  if (filter.site) words.push_back(Symbols::Describe(symbols.Site(*filter.site)));
  if (filter.category) words.emplace_back(CategoryName(*filter.category));
  if (filter.layers != any.layers) {
    std::string layers;
    for (std::size_t i = 0; i < kLayerCount; ++i) {
      const auto layer = static_cast<Layer>(i);
      if ((filter.layers & LayerBit(layer)) == 0) continue;
      const std::string_view name = LayerName(layer);
      absl::StrAppend(&layers, layers.empty() ? "" : ", ",
                      absl::string_view(name.data(), name.size()));
    }
    words.push_back(layers.empty() ? "no layer" : layers);
  }
  if (filter.stream) words.push_back(absl::StrCat("stream ", *filter.stream));
  if (filter.process && *filter.process < session.processes().size()) {
    const int rank = session.processes()[*filter.process].rank;
    words.push_back(rank >= 0 ? absl::StrCat("rank ", rank)
                              : absl::StrCat("process ", *filter.process + 1));
  }
  if (filter.least_bytes > 0)
    words.push_back(absl::StrCat("at least ", FormatBytes(filter.least_bytes)));
  if (filter.most_bytes != any.most_bytes)
    words.push_back(absl::StrCat("at most ", FormatBytes(filter.most_bytes)));
  if (filter.least_lifetime > 0)
    words.push_back(absl::StrCat("lives at least ", FormatDuration(filter.least_lifetime)));
  if (filter.most_lifetime != any.most_lifetime)
    words.push_back(absl::StrCat("lives at most ", FormatDuration(filter.most_lifetime)));
  if (filter.alive_at_end) words.emplace_back("alive at the end");
  return words;
}

}  // namespace memprof::analysis
