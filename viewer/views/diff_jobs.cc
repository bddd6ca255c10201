// The comparison of two logs, or of two moments of one: reading and computing.
#include <QCheckBox>
#include <QComboBox>
#include <QProgressBar>
#include <QTimer>
#include <utility>

#include "analysis/base/status_text.h"
#include "viewer/geometry/units.h"
#include "viewer/models/load_log.h"
#include "viewer/views/diff_view.h"

namespace memprof::viewer {
namespace {

using analysis::Session;
using SessionPointer = std::shared_ptr<const Session>;

}  // namespace

// The first choice of the moment to compare with: in the third step, after warm-up. Aligned, it is
// the same place of that step. Without steps, after a tenth of the time.
analysis::TimeNs DiffView::DefaultMoment() const {
  const auto steps = document_->session()->steps();
  const analysis::TimeWindow bounds = selection_->bounds();
  return steps.size() > 2 ? steps[2].begin : bounds.begin + (bounds.end - bounds.begin) / 10;
}

void DiffView::Refresh() {
  const SessionPointer& session = document_->session();
  if (session != session_) {
    const bool grew = document_->grew() && session_ != nullptr;
    session_ = session;
    if (!grew) {
      pinned_.reset();
      Show(nullptr);
    }
    run_job_.Cancel();
    run_ = {};
  }
  cancelled_ = false;
  if (session == nullptr) {
    job_.Cancel();
  } else if (two_logs() && other_ == nullptr) {
    if (error_.isEmpty() && !load_job_.running()) Load();
  } else {
    Start();
  }
  ShowState();
}

void DiffView::Load() {
  progress_->setValue(0);
  const auto report = load_job_.Reporter(
      [this](double share) { progress_->setValue(static_cast<int>(share * 1000)); });
  std::vector<std::string> paths;
  for (const QString& path : other_paths_) paths.push_back(path.toStdString());
  load_job_.Start([paths = std::move(paths),
                   report](std::stop_token stop) { return LoadLogs(paths, report, stop); },
                  [this](absl::StatusOr<SessionPointer> session) { Loaded(std::move(session)); });
}

void DiffView::Loaded(absl::StatusOr<SessionPointer> session) {
  if (!session.ok()) {
    error_ = ToQString(analysis::StatusText(session.status())).simplified();
    ShowState();
    return;
  }
  other_ = *std::move(session);
  other_symbols_ = std::make_shared<analysis::Symbols>(other_);
  Start();
  ShowState();
}

// The data of the whole run for moments is computed once, also if other moments are chosen
// meanwhile.
void DiffView::ReadRun() {
  progress_->setValue(0);
  const auto report = run_job_.Reporter(
      [this](double share) { progress_->setValue(static_cast<int>(share * 1000)); });
  run_job_.Start(
      [session = session_, symbols = document_->symbols(), report](std::stop_token stop) {
        return DiffRun{session, std::make_shared<const analysis::MomentDiff>(*session, *symbols,
                                                                             stop, report)};
      },
      [this](DiffRun run) {
        run_ = std::move(run);
        if (!two_logs()) Start();  // another log may have been named meanwhile
        ShowState();
      });
}

void DiffView::Start() {
  if (!two_logs() && run_.session != document_->session()) {
    job_.Cancel();
    if (!run_job_.running()) ReadRun();
    return;
  }
  // Most comparisons are quick: then no progress is shown, so that nothing moves.
  if (!job_.running()) slow_->start();
  DiffQuestion question;
  question.after = {document_->session(), document_->symbols(), document_->categories()};
  question.by = static_cast<DiffBy>(by_->currentData().toInt());
  question.at = static_cast<analysis::DiffMoment>(at_->currentData().toInt());
  question.filter = selection_->filter();
  if (two_logs()) {
    question.before = {other_, other_symbols_, other_categories_};
    question.this_is_before = swapped_;
    if (swapped_) std::swap(question.before, question.after);
  } else {
    question.before = question.after;
    question.moments = true;
    question.run = run_.moments;
    question.passing = document_->passing();
    question.from = pinned_.value_or(DefaultMoment());
    question.to = selection_->instant();
    if (align_->isChecked()) question.align = pinned_ ? DiffAlign::kTo : DiffAlign::kFrom;
  }
  progress_->setValue(0);
  const auto report =
      job_.Reporter([this](double share) { progress_->setValue(static_cast<int>(share * 1000)); });
  job_.Start([question = std::move(question),
              report](std::stop_token stop) { return Compare(question, report, stop); },
             [this](std::shared_ptr<const DiffData> found) {
               Show(std::move(found));
               ShowState();
             });
}

void DiffView::Cancel() {
  job_.Cancel();
  run_job_.Cancel();
  load_job_.Cancel();
  cancelled_ = true;
  ShowState();
}

}  // namespace memprof::viewer
