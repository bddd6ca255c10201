// What happened to the memory, in one sentence.
#include "viewer/models/verdict.h"

#include <QObject>
#include <QStringList>
#include <algorithm>

#include "analysis/leaks/forecast.h"
#include "analysis/oom/words.h"
#include "analysis/store/losses.h"
#include "viewer/geometry/names.h"
#include "viewer/geometry/units.h"
#include "viewer/geometry/words.h"
#include "viewer/models/verdict_sentence.h"

namespace memprof::viewer {
namespace {

using analysis::LeakTier;

QString CountLeaks(const std::vector<LeakRow>& leaks) {
  const auto count = [&](LeakTier tier) {
    return static_cast<std::uint64_t>(std::count_if(
        leaks.begin(), leaks.end(), [tier](const LeakRow& row) { return row.leak.tier == tier; }));
  };
  QStringList counts;
  const auto add = [&](LeakTier tier, const QString& words) {
    if (count(tier) > 0) counts << FormatPlural(count(tier), words);
  };
  add(LeakTier::kDefinite, QObject::tr("definite leak"));
  add(LeakTier::kSuspected, QObject::tr("suspected leak"));
  add(LeakTier::kGrowing, QObject::tr("growing site"));
  return counts.join(QObject::tr(" and "));
}

// The growth of all, and when the device would be full.
void SaySlope(Sentence& sentence, const std::vector<LeakRow>& leaks, VerdictTarget worst) {
  double per_step = 0, per_second = 0, steps_left = -1;
  for (const LeakRow& row : leaks) {
    per_step += row.leak.bytes_per_step;
    per_second += row.leak.bytes_per_second;
    const double left = row.leak.steps_to_oom;
    if (left >= 0 && (steps_left < 0 || left < steps_left)) steps_left = left;
  }
  const QString help = QObject::tr("Show the evidence of the growth");
  const QString total = leaks.size() > 1 ? QObject::tr(" in total") : QString();
  worst.view = VerdictView::kLeaks;
  sentence.Say(QStringLiteral(", "));
  if (per_step > 0)
    sentence.Link(QObject::tr("%1 per step").arg(FormatSignedBytes(per_step)), worst, help);
  else if (per_second > 0)
    sentence.Link(QObject::tr("%1 per second").arg(FormatSignedBytes(per_second)), worst, help);
  else
    sentence.Link(FormatBytes(leaks.front().leak.bytes), worst, help);
  sentence.Say(per_step > 0 || per_second > 0 ? total : QString());
  if (steps_left >= 0)
    sentence.Optional().Say(
        QObject::tr(", out of memory %1").arg(ToQString(analysis::StepsAhead(steps_left))));
}

void SayLeaks(Sentence& sentence, const VerdictInput& input,
              const std::vector<analysis::FailedRequest>& failures) {
  const std::vector<LeakRow>& leaks = input.report->leaks;
  const analysis::Leak& worst = leaks.front().leak;
  const VerdictTarget of = ToSite(worst.stack, worst.device);
  sentence
      .Say(CountLeaks(leaks) +
           OfProcess(*input.session, worst.process,
                     leaks.size() > 1 ? QObject::tr(", the worst in ") : QObject::tr(" in ")))
      .Say(QStringLiteral(": "))
      .Name(SiteName(*input.symbols, worst.stack), of);
  if (leaks.size() > 1) sentence.Say(QObject::tr(" and %1 more").arg(leaks.size() - 1));
  SaySlope(sentence, leaks, of);
  if (!failures.empty())
    sentence.Optional()
        .Say(QStringLiteral("; "))
        .Link(ToQString(analysis::FailureCountWords(failures)), InView(VerdictView::kFailures, {}),
              QObject::tr("Show the failed requests"));
  SayShow(sentence, InView(VerdictView::kLeaks, of),
          QObject::tr("Show the leaks and their evidence"));
}

// Without failures and leaks.
VerdictTone SayNoLeak(Sentence& sentence, const VerdictInput& input) {
  const analysis::LeakReport& leaks = input.report->report.leaks;
  const std::vector<LeakRow>& rising = input.report->rising;
  VerdictTarget show;
  show.view = VerdictView::kLeaks;
  if (leaks.horizon_too_short) {
    sentence.Say(QObject::tr("Too short to tell")).Say(QObject::tr(" whether memory leaks, "));
    sentence.Link(
        leaks.basis == analysis::LeakBasis::kSteps && leaks.steps > 0
            ? FormatPlural(static_cast<std::uint64_t>(leaks.steps), QObject::tr("completed step"))
            : QObject::tr("no steps"),
        show, Words(leaks.verdict));
    sentence.Say(QStringLiteral("."));
    return VerdictTone::kPlain;
  }
  if (rising.empty()) {
    sentence.Say(QObject::tr("No leak found")).Say(QStringLiteral("."));
    return VerdictTone::kGood;
  }
  const analysis::Leak& first = rising.front().leak;
  show = InView(VerdictView::kLeaks, ToSite(first.stack, first.device));
  sentence.Say(FormatPlural(rising.size(), QObject::tr("rising site")))
      .Say(QObject::tr(", not sure to leak: "))
      .Name(SiteName(*input.symbols, first.stack), show)
      .Say(QStringLiteral("."));
  return VerdictTone::kWarning;
}

}  // namespace

const TimelineBands* VerdictInput::Bands(int device) const {
  if (timelines == nullptr) return nullptr;
  for (const TimelineBands& bands : *timelines)
    if (bands.device == device) return &bands;
  return nullptr;
}

QString RunVerdict::Text() const {
  QString text;
  for (const VerdictPart& part : parts) text += part.text;
  return text.simplified();
}

void SayLeakCount(Sentence& sentence, const VerdictInput& input) {
  const std::vector<LeakRow>& leaks = input.report->leaks;
  VerdictTarget target;
  target.view = VerdictView::kLeaks;
  sentence.Optional()
      .Say(QStringLiteral("; "))
      .Link(!leaks.empty() ? CountLeaks(leaks)
            : input.report->report.leaks.horizon_too_short
                ? QObject::tr("too short to tell whether memory leaks")
                : QObject::tr("no leak found"),
            target, Words(input.report->report.leaks.verdict));
}

RunVerdict MakeVerdict(const VerdictInput& input) {
  RunVerdict verdict;
  Sentence sentence;
  if (const analysis::Losses losses = analysis::LossesOf(*input.session); losses.much()) {
    verdict.detail = QObject::tr(
        "Each birth that is missing hides memory, and each free makes memory look "
        "alive: no figure of this log is right.");
    sentence.Say(ToQString(analysis::LossWords(losses))).Say(QObject::tr(": no figure is right."));
    verdict.tone = VerdictTone::kBad;
    verdict.parts = sentence.Take();
    return verdict;
  }
  const auto failures = analysis::FailuresOf(*input.session);
  verdict.failures = failures->size();
  const bool final = !failures->empty() && !WorstOf(*failures).recovered;
  const std::vector<LeakRow>& leaks = input.report->leaks;
  verdict.detail = Words(input.report->report.leaks.verdict);
  if (final || (!failures->empty() && leaks.empty())) {
    SayFailure(sentence, input, *failures, &verdict.detail);
    verdict.tone = final ? VerdictTone::kBad : VerdictTone::kWarning;
  } else if (!leaks.empty()) {
    SayLeaks(sentence, input, *failures);
    const bool sure = std::any_of(leaks.begin(), leaks.end(), [](const LeakRow& row) {
      return row.leak.tier != LeakTier::kGrowing;
    });
    verdict.tone = sure ? VerdictTone::kBad : VerdictTone::kWarning;
  } else if (input.session->records().empty()) {
    sentence.Say(QObject::tr("The log has no allocation."));
  } else {
    verdict.tone = SayNoLeak(sentence, input);
    SayPeak(sentence, input);
  }
  verdict.parts = sentence.Take();
  return verdict;
}

}  // namespace memprof::viewer
