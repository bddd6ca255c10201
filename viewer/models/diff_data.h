// The comparison of two runs, or of two moments of one, as text and rows, made in a job. Pure;
// thread-safe.
#pragma once

#include <QString>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "analysis/diff/diff.h"
#include "analysis/diff/groups.h"
#include "analysis/diff/moments.h"
#include "analysis/store/allocation_set.h"

namespace memprof::viewer {

enum class DiffBy { kSite, kCategory, kLayer };

// Which of two moments is moved to the same place of its step as the other, so that what every step
// holds there is no change.
enum class DiffAlign {
  kNone,
  kFrom,  // `from` is to be in the third step, after warm-up
  kTo,    // `to` stays in its step
};

// One side of a comparison.
struct DiffSource {
  std::shared_ptr<const analysis::Session> session;
  std::shared_ptr<analysis::Symbols> symbols;
  std::shared_ptr<const analysis::Categories> categories;  // null = not known yet
};

struct DiffQuestion {
  DiffSource before, after;  // the same session for two moments
  bool moments = false;
  analysis::TimeNs from = 0, to = 0;  // of two moments
  DiffAlign align = DiffAlign::kNone;
  // For two moments: the data of the run, and what passes the filter; null = not known yet.
  std::shared_ptr<const analysis::MomentDiff> run;
  std::shared_ptr<const analysis::AllocationSet> passing;
  analysis::DiffMoment at = analysis::DiffMoment::kPeak;
  DiffBy by = DiffBy::kSite;
  analysis::AllocationFilter filter;
  bool this_is_before = false;  // which side a filter by call site belongs to
};

struct DiffRow {
  QString name, detail;
  std::uint64_t before = 0, after = 0;  // bytes
  std::int64_t blocks = 0;              // change of their number
  double step = 0;                      // change of the bytes allocated in a steady step
  double growth = 0;                    // change of bytes per step that are never freed
  bool fresh = false, gone = false, within_variation = false;
  std::uint32_t place = analysis::StackAlignment::kNone;
  analysis::StackId before_stack, after_stack;

  std::int64_t change() const { return static_cast<std::int64_t>(after - before); }
};

struct DiffFigureRow {
  QString name, before, after, change, note;
  double difference = 0;  // > 0: more
};

struct DiffData {
  // With the categories that were used for it, and the moments that were compared.
  DiffQuestion question;
  analysis::DiffReport report;
  std::vector<DiffFigureRow> figures;
  std::vector<DiffRow> rows;  // largest change first
  // What passes the filter on each side (null: all), except for a call site; and the row of the
  // alignment that is this call site's (kNone: all).
  std::shared_ptr<const analysis::AllocationSet> passing_before, passing_after;
  std::uint32_t only = analysis::StackAlignment::kNone;
  QString before, after;  // what the sides are: "b4.mprof, 12 steps", "step 3, 1.20 s"
  QString place;          // of both moments: "63 % of their step (backward)"; "" = not the same
};

// Null after a request to stop.
std::shared_ptr<const DiffData> Compare(DiffQuestion question,
                                        const std::function<void(double)>& progress,
                                        std::stop_token stop);

// "+2.00 MiB", "-512 KiB", "=" for none.
QString SignedBytes(std::int64_t bytes);
// A figure before or after, and its change, in its own unit.
DiffFigureRow DescribeFigure(const analysis::DiffFigure& figure, bool several_devices);

}  // namespace memprof::viewer
