// Grades a log by its own records.
#include "viewer/models/quality_rows.h"

#include <algorithm>
#include <array>

#include "analysis/steps/found.h"
#include "analysis/store/sampling_words.h"
#include "viewer/geometry/units.h"
#include "viewer/geometry/words.h"
#include "viewer/models/anomaly_texts.h"

namespace memprof::viewer {
namespace {

using analysis::AnomalyCount;
using analysis::RunInfo;
using analysis::Session;

Grade GradeOf(log::Severity severity) {
  switch (severity) {
    case log::Severity::kInfo:
      return Grade::kInfo;
    case log::Severity::kNotice:
      return Grade::kNotice;
    case log::Severity::kDataLoss:
      return Grade::kDataLoss;
    case log::Severity::kError:
      return Grade::kError;
  }
  return Grade::kNotice;
}

class QualityFinder {
 public:
  QualityFinder(const Session& session, const ReportData* report)
      : session_(session), report_(report) {}

  std::vector<QualityRow> Find() {
    Anomalies();
    Sources();
    Completeness();
    Sampling();
    Cost();
    Clocks();
    Symbols();
    Steps();
    Devices();
    return std::move(rows_);
  }

 private:
  void Add(const char* area, const QString& subject, Grade grade, const QString& finding,
           const QString& advice = {}) {
    rows_.push_back({Tr(area), subject, grade, finding, advice});
  }
  std::uint64_t CountOf(log::Anomaly anomaly) const {
    for (const AnomalyCount& count : Counts())
      if (count.anomaly == anomaly) return count.count;
    return 0;
  }
  std::span<const AnomalyCount> Counts() const {
    if (report_ != nullptr) return report_->anomalies;
    return session_.anomalies();
  }

  void Anomalies() {
    const std::size_t first = rows_.size();
    for (const AnomalyCount& count : Counts()) {
      const auto i = static_cast<std::size_t>(count.anomaly);
      if (i >= std::size(kAnomalies) || count.count == 0) continue;
      QString name = QString::fromUtf8(kAnomalies[i].name);
      name.replace(QLatin1Char('_'), QLatin1Char(' '));
      Add("Anomalies", name, GradeOf(kAnomalies[i].severity), FormatCount(count.count),
          QString::fromUtf8(kAnomalies[i].advice));
    }
    std::stable_sort(rows_.begin() + static_cast<std::ptrdiff_t>(first), rows_.end(),
                     [](const QualityRow& a, const QualityRow& b) { return a.grade > b.grade; });
    if (rows_.size() == first)
      Add("Anomalies", Tr("none"), Grade::kGood, Tr("Nothing was lost, and nothing was unusual."));
  }

  void Sampling() {
    const std::string words = SamplingWords(session_, analysis::Drawn::kLeftOut);
    if (!words.empty())
      Add("Recording", Tr("always on"), Grade::kInfo, ToQString(words),
          Tr("Levels of what was left out are counted: lines in the timeline."));
  }

  void Sources() {
    if (session_.sources().empty())
      Add("Sources", Tr("none named"), Grade::kInfo,
          Tr("The log does not name the sources of its events."),
          Tr("Imported and older logs do not; nothing is wrong with the events."));
    for (const analysis::SourceInfo& source : session_.sources()) {
      const QString detail = ToQString(source.detail);
      const auto add = [&](Grade grade, const QString& state, const QString& advice) {
        Add("Sources", ToQString(source.name), grade,
            detail.isEmpty() ? state : QStringLiteral("%1: %2").arg(state, detail), advice);
      };
      switch (source.state) {
        case log::SOURCE_ON:
          add(Grade::kGood, Tr("on"), {});
          break;
        case log::SOURCE_OFF:
          add(Grade::kInfo, Tr("off"),
              Tr("It was not requested: what only it sees is not in the log."));
          break;
        case log::SOURCE_REFUSED:
          add(Grade::kNotice, Tr("refused"),
              Tr("It was requested, but not available: what only it sees is not in the log."));
          break;
        case log::SOURCE_LOST:
          add(Grade::kDataLoss, Tr("lost"),
              Tr("It was on and stopped: from then on, what only it sees is missing."));
          break;
        default:
          add(Grade::kNotice, Tr("unknown"), Tr("A newer memprof knows this state."));
      }
    }
  }

  void Completeness() {
    for (std::uint32_t i = 0; i < session_.processes().size(); ++i) {
      const analysis::ProcessInfo& process = session_.processes()[i];
      const RunInfo& run = process.run;
      const QString subject =
          session_.processes().size() > 1 ? BaseName(ToQString(process.path)) : Tr("the log's end");
      const QString reason = ToQString(run.end_reason);
      if (run.complete) {
        Add("Completeness", subject, Grade::kGood,
            reason.isEmpty() ? Tr("Closed: nothing is missing at its end.")
                             : Tr("Closed (%1): nothing is missing at its end.").arg(reason));
      } else if (run.growing) {
        Add("Completeness", subject, Grade::kInfo, Tr("Still being written."),
            Tr("The program runs. What it does from now on is shown as it comes."));
      } else {
        const bool recovered = CountOf(log::Anomaly::kRingRecovered) > 0;
        Add("Completeness", subject, recovered ? Grade::kInfo : Grade::kNotice,
            recovered
                ? Tr("Not closed, but its last events were recovered.")
                : Tr("Not closed: the program was killed, or the log was copied while it ran."),
            recovered ? QString()
                      : Tr("The last fraction of a second may be missing, and what was alive then "
                           "counts as alive at the end."));
      }
    }
  }

  void Cost() {
    const analysis::SelfAccounting& self = session_.self();
    if (self.events == 0 || self.writer_cpu_ns + self.hook_time_ns == 0) {
      Add("Recorder's cost", Tr("time"), Grade::kInfo,
          Tr("Unknown: the log holds no account of it."));
      return;
    }
    const RunInfo& run = session_.run();
    const analysis::TimeNs length = std::max(run.end_time, run.start_time + 1) - run.start_time;
    const double share = static_cast<double>(self.hook_time_ns) / static_cast<double>(length);
    // A twentieth of the run is about what users notice.
    const bool dear = share > 0.05 * static_cast<double>(session_.processes().size());
    if (self.hook_time_ns == 0) {
      Add("Recorder's cost", Tr("in the program"), Grade::kGood,
          Tr("Too few events to time the hooks."));
    } else {
      Add("Recorder's cost", Tr("in the program"), dear ? Grade::kNotice : Grade::kGood,
          Tr("%1 in its threads: %2 per event, %3 of one thread's time.")
              .arg(FormatDuration(self.hook_time_ns),
                   FormatDuration(self.hook_time_ns / self.events), FormatPercent(share)),
          dear ? Tr("The program ran slower than without; times are stretched. A smaller "
                    "MEMPROF_STACK_DEPTH makes recording cheaper.")
               : QString());
    }
    Add("Recorder's cost", Tr("beside it"), Grade::kGood,
        Tr("%1 of CPU time in the writer, %2 of memory.")
            .arg(FormatDuration(self.writer_cpu_ns), FormatBytes(self.resident_bytes)));
    if (self.events_written > 0)
      Add("Recorder's cost", Tr("the log"), Grade::kGood,
          Tr("%1, %2 bytes per event.")
              .arg(FormatBytes(self.bytes_written),
                   QString::number(static_cast<double>(self.bytes_written) /
                                       static_cast<double>(self.events_written),
                                   'f', 1)));
  }

  void Clocks() {
    std::uint64_t most = 0;
    bool hosts = false;
    const auto processes = session_.processes();
    for (const analysis::ProcessInfo& process : processes) {
      most = std::max(most, process.clock_shift_ns);
      hosts |= process.run.hostname != processes.front().run.hostname;
    }
    if (processes.size() < 2) {
      Add("Clocks", Tr("times"), Grade::kGood,
          Tr("One clock, which never steps (CLOCK_MONOTONIC)."));
    } else if (most == 0 && !hosts) {
      Add("Clocks", Tr("times"), Grade::kGood,
          Tr("All processes were on one machine, and share its clock."));
    } else {
      Add("Clocks", Tr("times"), Grade::kInfo,
          Tr("Aligned by the wall clocks of the machines, by up to %1.").arg(FormatDuration(most)),
          Tr("Events of different machines are as exact to each other as their wall clocks "
             "agree."));
    }
  }

  void Symbols() {
    const std::uint64_t frames = session_.frame_count();
    if (frames == 0) {
      Add("Call stacks", Tr("frames"), Grade::kNotice, Tr("The log has no call stacks."),
          Tr("Which code allocated is not known. Record with MEMPROF_STACK_DEPTH above 0."));
      return;
    }
    if (report_ == nullptr) {
      Add("Call stacks", Tr("names"), Grade::kInfo, Tr("Frames are still being looked up."));
      return;
    }
    const std::uint64_t without = std::min(frames, CountOf(log::Anomaly::kFramesUnsymbolised));
    const double share = static_cast<double>(frames - without) / static_cast<double>(frames);
    const Grade grade = share >= 0.99 ? Grade::kGood : share >= 0.9 ? Grade::kInfo : Grade::kNotice;
    Add("Call stacks", Tr("names"), grade,
        Tr("%1 of %2 have a function's name.")
            .arg(FormatPercent(share), FormatPlural(frames, Tr("frame"))),
        grade == Grade::kGood ? QString()
                              : Tr("Analyse where it was recorded, or install debug symbols."));
  }

  void Steps() {
    const std::uint64_t steps = session_.steps().size();
    const analysis::StepOrigin& origin = session_.step_origin();
    const QString why = ToQString(origin.why);
    const QString count = FormatPlural(steps, Tr("step"));
    switch (origin.source) {
      case analysis::StepSource::kMarks:
        Add("Steps", Tr("confidence"), Grade::kGood, Tr("%1 by marks.").arg(count));
        return;
      case analysis::StepSource::kNone:
        Add("Steps", Tr("confidence"), Grade::kInfo,
            why.isEmpty() ? Tr("None are known.") : Tr("None are known: %1").arg(why),
            Tr("Results by step (growth, slow leaks) need them: %1.").arg(MarkSteps()));
        return;
      case analysis::StepSource::kRanges:
      case analysis::StepSource::kPattern:
        break;
    }
    if (steps == 0) {  // too few allocations for a pattern
      Add("Steps", Tr("confidence"), Grade::kInfo, Tr("None are known."),
          Tr("Results by step (growth, slow leaks) need them: %1.").arg(MarkSteps()));
      return;
    }
    const bool ranges = origin.source == analysis::StepSource::kRanges;
    Add("Steps", Tr("confidence"), origin.confidence < 0.5 ? Grade::kNotice : Grade::kInfo,
        (ranges ? Tr("%1, found in named ranges; confidence %2. %3")
                : Tr("%1, found in the pattern of allocations; confidence %2. %3"))
            .arg(count, FormatPercent(origin.confidence), why),
        Tr("To make them certain, %1.").arg(MarkSteps()));
  }

  QString MarkSteps() const {
    return analysis::AgentWouldHelp(session_) ? Tr("record with memprof run --torch, or call "
                                                   "memprof_step() once in every iteration")
                                              : Tr("call memprof_step() once in every iteration");
  }

  void Devices() {
    for (const analysis::DeviceInfo& device : session_.devices()) {
      const QString subject = Tr("device %1").arg(device.id);
      if (device.simulated) {
        Add("Devices", subject, Grade::kInfo, Tr("Simulated: %1.").arg(ToQString(device.name)),
            Tr("What is allocated, and in which order, is real; speed and the driver's own memory "
               "are the stand-in's."));
      } else {
        Add("Devices", subject, Grade::kGood,
            device.name.empty() ? Tr("Not simulated.")
                                : Tr("Not simulated: %1.").arg(ToQString(device.name)));
      }
      if (report_ != nullptr) Ledger(device, subject);
    }
  }
  // Whether the log explains all used memory of the device.
  void Ledger(const analysis::DeviceInfo& device, const QString& subject) {
    for (const analysis::DeviceFigures& figures : report_->report.devices) {
      if (figures.info.id != device.id) continue;
      if (!figures.ledger.last) {
        Add("Devices", Tr("memory of %1").arg(subject), Grade::kInfo,
            Tr("Its free memory was never sampled."),
            Tr("How much of it other programs and the driver itself used is unknown."));
        return;
      }
      const analysis::LedgerEntry& last = *figures.ledger.last;
      const std::uint64_t used = last.sample.used_bytes();
      if (used == 0) return;
      const bool much = last.untracked_bytes * 20 > used;
      Add("Devices", Tr("memory of %1").arg(subject), much ? Grade::kInfo : Grade::kGood,
          Tr("Of %1 used when it was sampled last, %2 cannot be explained.")
              .arg(FormatBytes(used), FormatBytes(last.untracked_bytes)),
          device.uses_system_memory ? Tr("This GPU uses the system's memory: what it counts as "
                                         "used can include memory of "
                                         "the system, such as its page cache.")
          : much ? Tr("Contexts, kernels and libraries take memory that no call shows; Timeline › "
                      "Whole device shows the parts.")
                 : QString());
    }
  }

  const Session& session_;
  const ReportData* report_;
  std::vector<QualityRow> rows_;
};

}  // namespace

QString GradeName(Grade grade) {
  constexpr std::array<const char*, 5> kNames = {"good", "info", "notice", "data loss", "error"};
  return Tr(kNames[static_cast<std::size_t>(grade)]);
}

QString GradeLabel(Grade grade) {
  constexpr std::array<const char*, 5> kMarks = {"✓", "·", "!", "▼", "✕"};
  return QString::fromUtf8(kMarks[static_cast<std::size_t>(grade)]) + QLatin1Char(' ') +
         GradeName(grade);
}

std::vector<QualityRow> FindQuality(const Session& session, const ReportData* report) {
  return QualityFinder(session, report).Find();
}

QualityVerdict JudgeQuality(const std::vector<QualityRow>& rows) {
  std::array<std::uint64_t, 5> counts{};
  for (const QualityRow& row : rows) ++counts[static_cast<std::size_t>(row.grade)];
  QualityVerdict verdict;
  for (std::size_t i = counts.size(); i-- > 0;) {
    if (counts[i] == 0) continue;
    verdict.worst = static_cast<Grade>(i);
    break;
  }
  if (verdict.worst <= Grade::kInfo) {
    verdict.text = Tr("All is well: nothing was lost, and the figures can be trusted.");
    if (counts[1] > 0)
      verdict.text +=
          QLatin1Char(' ') + Tr("%1 for information.").arg(FormatPlural(counts[1], Tr("finding")));
    return verdict;
  }
  QStringList parts;
  if (counts[4] > 0) parts << FormatPlural(counts[4], Tr("error"));
  if (counts[3] > 0) parts << FormatCount(counts[3]) + QLatin1Char(' ') + Tr("of data loss");
  if (counts[2] > 0) parts << FormatPlural(counts[2], Tr("notice"));
  const QString list = parts.join(Tr(", "));
  verdict.text =
      verdict.worst == Grade::kNotice
          ? Tr("Nothing is known to be missing, but some figures may be slightly off: %1.")
                .arg(list)
      : verdict.worst == Grade::kDataLoss
          ? Tr("Some of what happened is missing: %1.").arg(list)
          : Tr("A part of the recording did not work: %1.").arg(list);
  return verdict;
}

}  // namespace memprof::viewer
