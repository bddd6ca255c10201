// Explains failed requests, in words and with names, for whoever shows them.
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

// Explains failures, one at a time, from any thread. Making it looks at all of the log.
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
    QString verdict, asked_by, driver_call;
    std::vector<QString> remedies;  // in words, as report.remedies
    // Of the groups that the report names: a stack of each, and its name.
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
