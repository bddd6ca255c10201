// Changes of a training that would have made room.
#include <algorithm>

#include "analysis/oom/internal/scene_parts.h"

namespace memprof::analysis::oom {

void AddTraining(const PeakRemedies& training, FailureReport* report) {
  std::vector<Remedy> added;
  for (const PeakRemedy& remedy : training.remedies) {
    if (remedy.device != report->request.device || !remedy.ends_failures) continue;
    added.push_back({.kind = RemedyKind::kTraining,
                     .fits = true,
                     .bytes = remedy.saving.saves_bytes,
                     .change = remedy.name});
  }
  std::vector<Remedy>& remedies = report->remedies;
  const auto at = std::find_if(remedies.begin(), remedies.end(), [](const Remedy& r) {
    return !r.fits || r.kind >= RemedyKind::kOtherProcesses;
  });
  remedies.insert(at, added.begin(), added.end());
}

}  // namespace memprof::analysis::oom
