// Programs that are recorded and then compared.
#pragma once

#include <algorithm>

#include "analysis/diff/diff.h"
#include "analysis/peak/run_profile.h"
#include "tests/support/random_log.h"

namespace memprof::analysis::testing {

struct Recorded {
  std::shared_ptr<const Session> session;
  std::unique_ptr<Symbols> symbols;

  explicit Recorded(const LogBuilder& log)
      : session(LoadLog(log)), symbols(std::make_unique<Symbols>(session)) {}
};

inline DiffReport Diff(const Recorded& a, const Recorded& b,
                       DiffMoment moment = DiffMoment::kPeak) {
  return DiffRuns(*a.session, *a.symbols, *b.session, *b.symbols, moment);
}

inline const DiffFigure* Find(const DiffReport& report, DiffFigureKind kind,
                              int device = kNoDevice) {
  for (const DiffFigure& figure : report.figures)
    if (figure.kind == kind && figure.device == device) return &figure;
  return nullptr;
}

inline const DiffSite* Find(const DiffReport& report, const std::string& function) {
  for (const DiffSite& site : report.sites)
    if (report.alignment.places[site.place].site.function == function) return &site;
  return nullptr;
}

}  // namespace memprof::analysis::testing
