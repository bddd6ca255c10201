// Finds instants.
#include "cli/shared/instants.h"

#include <algorithm>
#include <charconv>
#include <span>

#include "absl/status/status.h"
#include "analysis/base/units.h"
#include "cli/console/text.h"

namespace memprof::cli {
namespace {

using analysis::EventId;
using analysis::Op;
using analysis::Session;

constexpr std::string_view kSnapshot = "snapshot=", kStepIs = "step=", kEvent = "event=";

std::optional<std::int64_t> ReadNumber(std::string_view text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || at != end || number < 0) return std::nullopt;
  return number;
}

// The last event of one kind; none if there is none.
EventId LastOf(const Session& session, Op op) {
  for (std::size_t i = session.events().size(); i-- > 0;)
    if (session.events().op(i) == op) return EventId(static_cast<std::uint32_t>(i));
  return EventId();
}

// The last one of that number; null if there is none.
const analysis::StepInfo* LastStep(std::span<const analysis::StepInfo> steps, std::int64_t number) {
  for (std::size_t i = steps.size(); i-- > 0;)
    if (steps[i].number == number) return &steps[i];
  return nullptr;
}

analysis::TimeNs EndOf(const analysis::StepInfo& step) {
  return step.end > step.begin ? step.end - 1 : step.begin;
}

// A framework's allocator retries after the driver refused: the instant is where it finally failed.
absl::StatusOr<MarkedInstant> FindOom(const Session& session) {
  EventId event = LastOf(session, Op::kFrameworkOom);
  if (!event.valid()) event = LastOf(session, Op::kAllocFailed);
  if (!event.valid())
    return absl::NotFoundError(Cat(session.path(), ": no request for memory failed"));
  return MarkedInstant{event, Cat("the failed request of ",
                                  analysis::FormatBytes(session.events()[event.value].bytes),
                                  " (event ", event.value, ")")};
}

}  // namespace

bool IsMarkedInstant(std::string_view text) {
  if (text.starts_with(kEvent)) return ReadNumber(text.substr(kEvent.size())).has_value();
  return text == "oom" || (text.starts_with(kSnapshot) && text.size() > kSnapshot.size());
}

absl::StatusOr<MarkedInstant> FindMarkedInstant(const Session& session, std::string_view text) {
  if (text == "oom") return FindOom(session);
  if (text.starts_with(kEvent)) {
    const std::int64_t number = ReadNumber(text.substr(kEvent.size())).value_or(0);
    if (static_cast<std::uint64_t>(number) >= session.events().size())
      return absl::NotFoundError(Cat(session.path(), ": there is no event ", number));
    return MarkedInstant{EventId(static_cast<std::uint32_t>(number)), Cat("event ", number)};
  }
  const std::string_view label = text.substr(kSnapshot.size());
  const auto snapshots = session.snapshots();
  for (std::size_t i = snapshots.size(); i-- > 0;)
    if (snapshots[i].label == label)
      return MarkedInstant{snapshots[i].event, Cat("the snapshot '", Printable(label), "'")};
  std::string known;
  for (const analysis::SnapshotInfo& snapshot :
       snapshots.first(std::min<std::size_t>(snapshots.size(), 5)))
    Append(known, known.empty() ? "; there are: " : ", ", Printable(snapshot.label));
  return absl::NotFoundError(
      Cat(session.path(), ": there is no snapshot '", Printable(label), "'", known));
}

absl::StatusOr<analysis::StepInfo> FindStep(const Session& session, std::int64_t number) {
  if (const analysis::StepInfo* step = LastStep(session.steps(), number)) return *step;
  return absl::NotFoundError(Cat(session.path(), ": there is no step ", number));
}

std::optional<When> ParseWhen(std::string_view text) {
  if (text == "peak") return When();
  if (text == "end") return When{.end = true};
  if (IsMarkedInstant(text)) return When{.marked = std::string(text)};
  if (!text.starts_with(kStepIs)) return std::nullopt;
  const std::optional<std::int64_t> number = ReadNumber(text.substr(kStepIs.size()));
  if (!number) return std::nullopt;
  return When{.step = number};
}

absl::StatusOr<Instants> FindInstants(const Session& session, std::int64_t device,
                                      const When& when) {
  Instants found{analysis::FindPeaks(session), ""};
  if (device != kAllDevices) {
    std::erase_if(found.of_devices,
                  [device](const analysis::Peak& peak) { return peak.device != device; });
    if (found.of_devices.empty())
      return absl::NotFoundError(Cat(session.path(), ": no memory of device ", device));
  }
  if (when.IsPeak()) return found;
  analysis::TimeNs time = session.events().last_time();
  found.words = "the end";
  if (when.step) {
    const auto step = FindStep(session, *when.step);
    if (!step.ok()) return step.status();
    time = EndOf(*step);
    found.words = Cat("the end of step ", *when.step);
  }
  if (!when.marked.empty()) {
    const auto marked = FindMarkedInstant(session, when.marked);
    if (!marked.ok()) return marked.status();
    time = session.events().time(marked->event.value);
    found.words = marked->words;
  }
  for (analysis::Peak& peak : found.of_devices) {
    analysis::TimeNs at = time;
    // Of several ranks, each has its own steps.
    if (when.step && peak.event.valid()) {
      const auto own = session.StepsOf(session.ProcessOf(peak.event));
      if (const analysis::StepInfo* step = LastStep(own, *when.step)) at = EndOf(*step);
    }
    peak = analysis::DescribeInstant(session, peak.device, at);
    if (when.step) peak.step = *when.step;
  }
  return found;
}

}  // namespace memprof::cli
