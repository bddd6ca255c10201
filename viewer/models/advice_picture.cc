// The content of the advice view, computed once for a session.
#include "viewer/models/advice_picture.h"

#include <algorithm>
#include <map>

#include "analysis/advice/passing.h"
#include "viewer/geometry/names.h"
#include "viewer/geometry/units.h"
#include "viewer/geometry/words.h"
#include "viewer/models/document.h"

namespace memprof::viewer {
namespace {

using analysis::AdviceExample;
using analysis::Finding;
using analysis::Session;

// The maximum for each finding: as many as can be read one by one.
constexpr std::size_t kMaxAffected = 100;

QStringList NotesOf(const analysis::AdviceReport& report) {
  QStringList notes;
  for (const std::string& note : report.notes) notes << Words(note);
  std::map<std::string, QStringList> missing;  // evidence → patterns
  for (std::size_t i = 0; i < report.patterns.size(); ++i)
    if (!report.patterns[i].looked_for)
      missing[report.patterns[i].missing]
          << ToQString(PatternName(static_cast<analysis::Pattern>(i)));
  for (const auto& [evidence, patterns] : missing)
    notes << QStringLiteral("Not looked for, because the log lacks %1: %2.")
                 .arg(ToQString(evidence), patterns.join(QStringLiteral(", ")));
  return notes;
}

AdviceEntry MakeEntry(const Session& session, analysis::Symbols& symbols, SiteNumbers& sites,
                      Finding finding, double seconds) {
  AdviceEntry entry;
  if (finding.stack.valid()) {
    entry.site = sites.Name(finding.stack);
    entry.stack = symbols.ResolveStack(finding.stack);
    entry.frame = symbols.Site(finding.stack);
  } else {
    entry.site =
        finding.layer == analysis::Layer::kSegment ? QStringLiteral("the framework's allocator")
        : finding.pattern == analysis::Pattern::kSetting ? QObject::tr("PyTorch's allocator")
                                                         : QStringLiteral("(no call stack)");
  }
  if (seconds > 0) entry.held = finding.byte_seconds / seconds;
  if (finding.peak_of) {
    entry.peak_before = finding.new_peak.bytes + finding.saves_bytes;
    if (finding.new_peak.event.valid() && !finding.upper_bound) {
      entry.peak_step = session.StepOf(finding.new_peak.event);
      entry.peak_time = session.events().time(finding.new_peak.event.value);
    }
  }
  entry.finding = std::move(finding);
  return entry;
}

}  // namespace

std::uint32_t SiteNumbers::Of(analysis::StackId stack) {
  const auto known = by_stack_.find(stack.value);
  if (known != by_stack_.end()) return known->second;
  QString name = SiteName(symbols_, stack);
  const auto [at, fresh] =
      by_name_.try_emplace(name.toStdString(), static_cast<std::uint32_t>(names_.size()));
  if (fresh) names_.push_back(std::move(name));
  return by_stack_[stack.value] = at->second;
}

std::shared_ptr<const AdvicePicture> MakeAdvicePicture(const Session& session,
                                                       analysis::Symbols& symbols,
                                                       const std::function<void(double)>& progress,
                                                       const std::stop_token& stop) {
  SiteNumbers sites(symbols);
  analysis::AdviceOptions options;
  options.site_of = [&sites](analysis::StackId stack) { return sites.Of(stack); };
  options.symbols = &symbols;
  options.keep_noise = true;
  options.max_examples = kMaxAffected;
  options.progress = [&](double share) {
    if (progress) progress(share);
    return !stop.stop_requested();
  };
  analysis::AdviceReport report = analysis::FindAdvice(session, options);
  if (stop.stop_requested()) return nullptr;
  auto picture = std::make_shared<AdvicePicture>();
  picture->hidden = report.hidden;
  picture->noise_bytes = report.noise_bytes;
  picture->notes = NotesOf(report);
  const double seconds =
      static_cast<double>(session.events().last_time() - session.events().first_time()) * 1e-9;
  for (Finding& finding : report.findings) {
    if (stop.stop_requested()) return nullptr;
    picture->entries.push_back(MakeEntry(session, symbols, sites, std::move(finding), seconds));
  }
  return picture;
}

std::vector<bool> PassingEntries(const Session& session, analysis::Symbols& symbols,
                                 const AdvicePicture& picture,
                                 const analysis::AllocationSet& passing) {
  std::vector<Finding> findings;
  for (const AdviceEntry& entry : picture.entries) {
    Finding& finding = findings.emplace_back();
    finding.stack = entry.finding.stack;
    finding.layer = entry.finding.layer;
    finding.device = entry.finding.device;
  }
  SiteNumbers sites(symbols);
  return analysis::PassingFindings(
      session, findings, [&sites](analysis::StackId stack) { return sites.Of(stack); }, passing);
}

std::vector<FactColumn> AffectedColumns() {
  return {{QObject::tr("Bytes"), true, {}},
          {QObject::tr("Step"), true, {}},
          {QObject::tr("Time"), true, QObject::tr("Since the start of the log")},
          {QObject::tr("What"), false, {}}};
}

std::vector<FactRow> AffectedRows(const Session& session, const AdviceEntry& entry) {
  std::vector<FactRow> rows;
  const analysis::TimeNs start = std::min(session.run().start_time, session.events().first_time());
  for (const AdviceExample& example : entry.finding.examples) {
    FactRow row;
    row.allocation = example.allocation;
    row.site = entry.finding.stack;
    FactCell bytes, step, time;
    QString what = ToQString(example.what);
    if (example.allocation.valid()) {
      const analysis::AllocationRecord& a = session.record(example.allocation);
      bytes = FactCell::Bytes(a.bytes);
      row.site = a.stack;
      const QString tensor = TensorLabel(session, example.allocation);
      what = tensor.isEmpty() ? what
             : what.isEmpty() ? tensor
                              : tensor + QStringLiteral(": ") + what;
      if (what.isEmpty()) what = FormatAddress(a.address);
    }
    if (example.event.valid()) {
      const analysis::TimeNs at = session.events().time(example.event.value);
      const std::int64_t number = session.StepOf(example.event);
      if (number >= 0)
        step = FactCell::Number(QString::number(number), static_cast<double>(number));
      time = FactCell::Number(FormatDuration(at - std::min(at, start)),
                              static_cast<double>(at - std::min(at, start)) * 1e-9);
      row.time = at;
    }
    row.cells = {bytes, step, time, what};
    rows.push_back(std::move(row));
  }
  return rows;
}

QString GainText(const AdviceEntry& entry) {
  const Finding& f = entry.finding;
  if (f.pattern == analysis::Pattern::kSetting) return QObject::tr("what it was set for");
  QStringList gains;
  const QString most = f.upper_bound ? QObject::tr("at most ") : QString();
  if (f.peak_of) {
    const QString what = *f.peak_of == analysis::PeakLayer::kBlocks
                             ? QObject::tr("the peak of blocks")
                             : QObject::tr("the peak");
    gains << (f.saves_bytes == 0
                  ? QObject::tr("nothing off %1").arg(what)
                  : QObject::tr("%1%2 off %3").arg(most, FormatBytes(f.saves_bytes), what));
  } else if (f.saves_bytes > 0) {
    const QString saves = analysis::OccupiesHost(f.layer) ? QObject::tr("%1%2 of host memory")
                                                          : QObject::tr("%1%2 of reserve");
    gains << saves.arg(most, FormatBytes(f.saves_bytes));
  }
  if (f.new_reserved > 0)
    gains << QObject::tr("reserved then %1, now %2, by a replay")
                 .arg(FormatBytes(f.new_reserved), FormatBytes(f.reserved));
  if (entry.held >= 1024)
    gains << QObject::tr("%1 less held on average of the run")
                 .arg(FormatBytes(static_cast<std::uint64_t>(entry.held)));
  if (f.moved_bytes > 0) {
    const QString moved = f.pattern == analysis::Pattern::kPageableCopy
                              ? QObject::tr("%1 no longer copied twice")
                          : f.pattern == analysis::Pattern::kManagedFaults
                              ? QObject::tr("%1 moved at once, not page by page")
                              : QObject::tr("%1 less moved");
    gains << moved.arg(FormatBytes(f.moved_bytes));
  }
  return gains.isEmpty() ? QObject::tr("time, not memory") : gains.join(QStringLiteral("; "));
}

}  // namespace memprof::viewer
