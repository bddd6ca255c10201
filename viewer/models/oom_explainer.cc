// Explains failed requests, in words and with names.
#include "viewer/models/oom_explainer.h"

#include <QObject>

#include "analysis/oom/words.h"
#include "viewer/geometry/names.h"
#include "viewer/geometry/units.h"
#include "viewer/geometry/words.h"

namespace memprof::viewer {
namespace {

using analysis::FailedRequest;
using analysis::FailureReport;
using analysis::Remedy;

QString NoStack() { return QObject::tr("(no call stack)"); }

}  // namespace

QString OomExplainer::SiteOf(const FailedRequest& request) {
  const std::lock_guard lock(mutex_);
  return request.stack.valid() ? ShortSite(explainer_.SiteOf(request)) : NoStack();
}

OomExplainer::Explained OomExplainer::Explain(const FailedRequest& request) {
  const std::lock_guard lock(mutex_);
  Explained found;
  found.report = explainer_.Explain(request);
  const FailureReport& report = found.report;
  found.verdict = Words(analysis::FailureVerdict(report));
  found.requested_by = request.stack.valid() ? ShortSite(report.site) : NoStack();
  const QString api = ToQString(session_->string(request.api));
  if (request.driver.valid() && request.framework) {
    found.driver_call = QObject::tr("The allocator asked the driver for a segment of %1")
                            .arg(FormatBytes(request.driver_bytes));
    if (request.attempts > 1) found.driver_call += QObject::tr(", %1 times").arg(request.attempts);
    if (!api.isEmpty()) found.driver_call += QObject::tr(" (%1)").arg(api);
  } else if (!api.isEmpty()) {
    found.driver_call = QObject::tr("Call: %1, CUresult %2").arg(api).arg(request.result);
  }
  const auto name_of = [this](analysis::StackId stack) { return SiteName(*symbols_, stack); };
  const analysis::SiteNamer names = {
      [&](analysis::StackId stack) { return name_of(stack).toStdString(); },
      [&](std::uint32_t group) { return name_of(sites_.Example(group)).toStdString(); }};
  for (const Remedy& remedy : report.remedies)
    found.remedies.push_back(ToQString(analysis::RemedyWords(*session_, report, remedy, names)));
  const auto know = [&](std::uint32_t group) {
    if (found.sites.try_emplace(group, sites_.Example(group)).second)
      found.site_names.try_emplace(group, name_of(sites_.Example(group)));
  };
  for (const analysis::SiteUse& use : report.sites) know(use.site);
  for (const analysis::SiteChange& change : report.changes) know(change.site);
  for (const Remedy& remedy : report.remedies)
    for (const analysis::SiteUse& use : remedy.sites) know(use.site);
  return found;
}

}  // namespace memprof::viewer
