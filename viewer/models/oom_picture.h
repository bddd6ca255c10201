// The content of the page on failed requests: the failures, and for the chosen one the cause, the
// use of every byte, and what would have made it fit.
#pragma once

#include <QString>
#include <memory>
#include <vector>

#include "analysis/categories/categories.h"
#include "analysis/oom/oom.h"
#include "analysis/oom/words.h"
#include "analysis/symbols/symbols.h"
#include "viewer/geometry/byte_bars.h"
#include "viewer/models/fact_table.h"
#include "viewer/models/oom_explainer.h"

namespace memprof::viewer {

// All failures of a session; or, without failures, how near it came to one.
struct FailuresPicture {
  std::vector<analysis::FailedRequest> failures;
  std::vector<FactRow> rows;                // key = index into `failures`
  std::shared_ptr<OomExplainer> explainer;  // null without failures
  std::vector<analysis::Headroom> rooms;    // without failures
  // The one to show first: the last final failure, else the last; -1 without failures.
  int first = -1;
};
std::shared_ptr<const FailuresPicture> MakeFailuresPicture(
    const std::shared_ptr<const analysis::Session>& session,
    const std::shared_ptr<analysis::Symbols>& symbols);
std::vector<FactColumn> FailureColumns();

// One failure, explained.
struct OomPicture {
  analysis::FailedRequest request;
  analysis::FailureCause cause = analysis::FailureCause::kUnknown;
  QString headline;  // "1.00 MiB on device 0 at step 15, after 2.57 s"
  QString verdict, requested_by, driver_call;
  std::uint64_t whole = 0;  // bytes of the full width of the bars
  bool whole_is_capacity = false;
  ByteBar by_site, by_category;  // the use of every byte; the second is empty if unknown
  std::vector<ByteBar> scale;    // the request against the free memory
  std::vector<FactRow> space;    // the table whose sum is the device
  std::vector<FactRow> remedies, live, changes;
  QString since;                 // heading of `changes`; empty if there are none
  analysis::HolderTree held_by;  // who holds what was live
  std::uint64_t live_bytes = 0, live_pieces = 0;
};
std::shared_ptr<const OomPicture> MakeOomPicture(const analysis::Session& session,
                                                 OomExplainer& explainer,
                                                 const analysis::Categories* categories,
                                                 const analysis::FailedRequest& request);
std::vector<FactColumn> SpaceColumns();
std::vector<FactColumn> RemedyColumns();
std::vector<FactColumn> LiveColumns();
std::vector<FactColumn> ChangeColumns();

// How near the devices came to a failure, as a sentence and as bars.
QString HeadroomSentence(const analysis::Session& session,
                         const std::vector<analysis::Headroom>& rooms);
std::vector<ByteBar> HeadroomBars(const std::vector<analysis::Headroom>& rooms);

}  // namespace memprof::viewer
