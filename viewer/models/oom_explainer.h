// Explains failed requests as text with names, for all views.
#pragma once

#include <QString>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "analysis/oom/oom.h"
#include "analysis/symbols/symbols.h"

namespace memprof::viewer {

// Explains failures, one at a time, on any thread. The constructor reads the whole log.
class OomExplainer {
 public:
  OomExplainer(std::shared_ptr<const analysis::Session> session,
               std::shared_ptr<analysis::Symbols> symbols)
      : session_(std::move(session)),
        symbols_(std::move(symbols)),
        sites_(*session_, *symbols_),
        explainer_(*session_, *symbols_, sites_) {}

  struct Explained {
    analysis::FailureReport report;
    QString verdict, requested_by, driver_call;
    std::vector<QString> remedies;  // as text, in the order of report.remedies
    // For the groups in the report: a stack and the name of each.
    std::map<std::uint32_t, analysis::StackId> sites;
    std::map<std::uint32_t, QString> site_names;
  };
  Explained Explain(const analysis::FailedRequest& request);
  QString SiteOf(const analysis::FailedRequest& request);

 private:
  std::mutex mutex_;
  const std::shared_ptr<const analysis::Session> session_;
  const std::shared_ptr<analysis::Symbols> symbols_;
  analysis::SiteGroups sites_;
  analysis::FailureExplainer explainer_;
};

}  // namespace memprof::viewer
