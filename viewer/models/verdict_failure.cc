// A failed request in one sentence.
#include <QObject>
#include <algorithm>

#include "analysis/oom/words.h"
#include "viewer/geometry/names.h"
#include "viewer/geometry/units.h"
#include "viewer/models/oom_explainer.h"
#include "viewer/models/verdict_sentence.h"

namespace memprof::viewer {
namespace {

using analysis::FailedRequest;
using analysis::FailureCause;
using analysis::FailureReport;

// Why, in a few words that begin as those of analysis/oom/words.h.
QString ShortCause(const FailureReport& report) {
  const analysis::DeviceSpace& space = report.space;
  switch (report.cause) {
    case FailureCause::kCapacity:
      return QObject::tr("capacity, %1 too little").arg(FormatBytes(report.missing));
    case FailureCause::kFragmentation:
      return QObject::tr("fragmentation, enough was unused but not in one piece");
    case FailureCause::kOtherPool:
      return QObject::tr("stranded memory, a free piece of %1 belongs to another pool")
          .arg(FormatBytes(space.largest_other));
    case FailureCause::kAllocatorRule:
      return QObject::tr("the allocator's own rules, a free piece of %1 was not used")
          .arg(FormatBytes(space.largest_own));
    case FailureCause::kSegmentSize:
      return QObject::tr("segment size, the allocator takes no less than %1 and %2 was free")
          .arg(FormatBytes(report.request.driver_bytes), FormatBytes(space.free));
    case FailureCause::kReserve:
      return QObject::tr("reserve, %1 was unused and could have been released")
          .arg(FormatBytes(space.cached.bytes + space.pools));
    case FailureCause::kDespiteFree:
      return QObject::tr("the driver refused although it reported %1 free")
          .arg(FormatBytes(space.free));
    case FailureCause::kTooLarge:
      return QObject::tr("too large, more than the device has (%1)").arg(FormatBytes(space.total));
    case FailureCause::kHostMemory:
      return QObject::tr("page-locked memory of the host");
    case FailureCause::kRefused:
      return QObject::tr("not a lack of memory, CUresult %1").arg(report.request.result);
    case FailureCause::kUnknown:
      break;
  }
  return report.request.bytes == 0 ? QObject::tr("what it needed is not in the log")
                                   : QObject::tr("what was free is not in the log");
}

// What was requested, by whom, and why it failed.
void SayRequest(Sentence& sentence, const FailureReport& report, const QString& site,
                VerdictTarget at) {
  const FailedRequest& request = report.request;
  VerdictTarget of = at;
  of.site = request.stack;
  if (request.bytes > 0)
    sentence
        .Link(FormatBytes(request.bytes), InView(VerdictView::kFailures, at),
              QObject::tr("Show the use of every byte when this request failed"))
        .Say(QObject::tr(" requested by "));
  else
    sentence.Say(QObject::tr("a call without a size by "));
  sentence.Name(site, of);
  if (report.growth) sentence.Optional();
  sentence.Say(QObject::tr(": %1").arg(ShortCause(report)));
}

void SayGrowth(Sentence& sentence, const FailureReport& report, VerdictTarget at) {
  const analysis::FailureGrowth& growth = *report.growth;
  const bool iterations = growth.iterations > 0;
  VerdictTarget of = at;
  of.site = growth.stack;
  // An iteration's line is no leak of the list: the failure's own table has its figures.
  const VerdictView evidence = iterations ? VerdictView::kFailures : VerdictView::kLeaks;
  sentence.Name(ShortSite(growth.site), of)
      .Say(growth.sites > 1 ? QObject::tr(" and %1 hold ")
                                  .arg(FormatPlural(growth.sites - 1, QObject::tr("other site")))
                            : QObject::tr(" holds "))
      .Link(FormatBytes(growth.bytes), InView(VerdictView::kFailures, of),
            QObject::tr("Show what was live when the request failed"));
  if (growth.bytes_per_step > 0)
    sentence.Say(QStringLiteral(", "))
        .Link(iterations
                  ? QObject::tr("%1 per iteration").arg(FormatSignedBytes(growth.bytes_per_step))
                  : QObject::tr("%1 per step").arg(FormatSignedBytes(growth.bytes_per_step)),
              InView(evidence, of), QObject::tr("Show the evidence of the growth"));
}

// Where something filled the device: what held most of it.
void SayMostHeld(Sentence& sentence, const OomExplainer::Explained& explained, VerdictTarget at) {
  const FailureCause cause = explained.report.cause;
  if (explained.report.sites.empty() || cause == FailureCause::kTooLarge ||
      cause == FailureCause::kHostMemory || cause == FailureCause::kRefused)
    return;
  const analysis::SiteUse& most = explained.report.sites.front();
  VerdictTarget of = at;
  of.site = explained.sites.at(most.site);
  sentence.Optional()
      .Say(QObject::tr("; most was held by "))
      .Name(explained.site_names.at(most.site), of)
      .Say(QStringLiteral(", "))
      .Link(FormatBytes(most.bytes), InView(VerdictView::kFailures, at),
            QObject::tr("Show what was live when the request failed"));
}

}  // namespace

const FailedRequest& WorstOf(const std::vector<FailedRequest>& failures) {
  const auto last = std::find_if(failures.rbegin(), failures.rend(),
                                 [](const FailedRequest& failed) { return !failed.recovered; });
  return last != failures.rend() ? *last : failures.back();
}

void SayFailure(Sentence& sentence, const VerdictInput& input,
                const std::vector<FailedRequest>& failures, QString* detail) {
  OomExplainer explainer(input.session, input.symbols);
  const OomExplainer::Explained explained = explainer.Explain(WorstOf(failures));
  const FailureReport& report = explained.report;
  const FailedRequest& request = report.request;
  *detail = explained.verdict;
  VerdictTarget at;
  at.instant = request.time;
  if (request.device != analysis::kNoDevice) at.device = request.device;
  const QString who =
      OfProcess(*input.session, input.session->ProcessOf(request.event), QObject::tr(" in "));
  const QString what = request.recovered ? ToQString(analysis::FailureCountWords(failures))
                       : report.cause == FailureCause::kRefused ? QObject::tr("A request failed")
                       : report.cause == FailureCause::kHostMemory
                           ? QObject::tr("Out of host memory")
                           : QObject::tr("Out of memory");
  sentence.Say(what + who)
      .Say(request.step >= 0 ? QObject::tr(" at ") : QObject::tr(" after "))
      .Link(VerdictInstant(*input.session, request.step, request.time), at,
            QObject::tr("Go to the instant at which the request failed"))
      .Say(QStringLiteral(": "));
  if (report.growth) {
    SayGrowth(sentence, report, at);
    sentence.Optional().Say(QStringLiteral("; "));
  }
  SayRequest(sentence, report, explained.requested_by, at);
  if (failures.size() > 1 && !request.recovered)
    sentence.Optional()
        .Say(QObject::tr("; "))
        .Link(QObject::tr("%1 failed").arg(FormatPlural(failures.size(), QObject::tr("request"))),
              InView(VerdictView::kFailures, at), ToQString(analysis::FailureCountWords(failures)));
  if (!report.growth) {
    SayLeakCount(sentence, input);
    SayMostHeld(sentence, explained, at);
  }
  SayShow(sentence, InView(VerdictView::kFailures, at),
          QObject::tr("Show why the request failed, and what would have made it fit"));
}

}  // namespace memprof::viewer
