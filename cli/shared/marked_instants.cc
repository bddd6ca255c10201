// Looks for marks.
#include "cli/shared/marked_instants.h"

#include <algorithm>

#include "absl/status/status.h"
#include "analysis/base/units.h"
#include "cli/console/text.h"

namespace memprof::cli {
namespace {

using analysis::EventId;
using analysis::Op;
using analysis::Session;

constexpr std::string_view kSnapshot = "snapshot=";

// The last event of one kind; none where there is no such.
EventId LastOf(const Session& session, Op op) {
  for (std::size_t i = session.events().size(); i-- > 0;)
    if (session.events().op(i) == op) return EventId(static_cast<std::uint32_t>(i));
  return EventId();
}

// A framework's allocator tries again after the driver refused: what counts is where it gave up.
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
  return text == "oom" || (text.starts_with(kSnapshot) && text.size() > kSnapshot.size());
}

absl::StatusOr<MarkedInstant> FindMarkedInstant(const Session& session, std::string_view text) {
  if (text == "oom") return FindOom(session);
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

}  // namespace memprof::cli
