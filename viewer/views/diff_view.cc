// The comparison of two logs, or of two moments of one: display and choices. Computing is in
// diff_jobs.cc.
#include "viewer/views/diff_view.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QHeaderView>
#include <QMenu>
#include <QProgressBar>
#include <QPushButton>
#include <QRegularExpression>
#include <QSettings>
#include <QSplitter>
#include <QTimer>
#include <QTreeView>
#include <QVBoxLayout>
#include <algorithm>

#include "viewer/models/dropped_logs.h"
#include "viewer/models/recent.h"
#include "viewer/views/diff_icicle.h"
#include "viewer/views/diff_steps.h"
#include "viewer/views/rich_label.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {
DiffView::DiffView(Document* document, Selection* selection, QWidget* parent)
    : View(document, selection, parent) {
  setAcceptDrops(true);
  figures_ = new DiffFigureModel(this);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(2 * kSpace, kSpace, 2 * kSpace, kSpace);
  column->setSpacing(kSpace);
  column->addWidget(BuildHead());
  splitter_ = new QSplitter(Qt::Vertical, this);
  splitter_->setChildrenCollapsible(false);
  // The bar stays at the top while there is nothing below it.
  QSizePolicy keeps = splitter_->sizePolicy();
  keeps.setRetainSizeWhenHidden(true);
  splitter_->setSizePolicy(keeps);
  splitter_->addWidget(BuildTotals());
  sites_ = new DiffSites(document, selection, this);
  splitter_->addWidget(sites_);
  splitter_->setStretchFactor(0, 2);
  splitter_->setStretchFactor(1, 3);
  column->addWidget(splitter_, 1);
  // The icicle is of call stacks.
  connect(sites_, &DiffSites::PageChanged, this,
          [this] { by_->setVisible(sites_->page() == DiffSites::Page::kTable); });
  slow_ = new QTimer(this);
  slow_->setSingleShot(true);
  slow_->setInterval(150);
  connect(slow_, &QTimer::timeout, this, &DiffView::ShowState);
  const auto again = [this] { Invalidate(); };
  connect(document, &Document::StateChanged, this, again);
  connect(document, &Document::PassingChanged, this, again);
  connect(selection, &Selection::InstantChanged, this, [this] {
    if (two_logs() && document_->session() != nullptr) {
      steps_->SetStep(document_->session()->StepAt(selection_->instant()));
    } else {
      Invalidate();
    }
  });
  ShowState();
}

QWidget* DiffView::BuildHead() {
  auto* head = new QWidget(this);
  auto* column = new QVBoxLayout(head);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(kSpace);
  verdict_ = new RichLabel(head);
  column->addWidget(verdict_);
  auto* row = new QHBoxLayout();
  row->setSpacing(kSpace);
  with_ = new QPushButton(tr("Compare &with …"), head);
  with_->setToolTip(tr("Another log, which is then “before”. Or drop one here."));
  auto* menu = new QMenu(with_);
  with_->setMenu(menu);
  connect(menu, &QMenu::aboutToShow, this, [this, menu] { FillMenu(menu); });
  moments_ = new QPushButton(tr("&Moments of this log"), head);
  moments_->setToolTip(tr("Leave the other log, and compare two moments of this one"));
  pin_ = new QPushButton(tr("&Pin A here"), head);
  pin_->setToolTip(
      tr("What is held at the selected instant becomes “before”; then select another instant"));
  swap_ = new QPushButton(tr("&Swap"), head);
  swap_->setToolTip(tr("Before becomes after"));
  by_ = new QComboBox(head);
  by_->setAccessibleName(tr("Group by"));
  by_->addItem(tr("by call site"), static_cast<int>(DiffBy::kSite));
  by_->addItem(tr("by category"), static_cast<int>(DiffBy::kCategory));
  by_->addItem(tr("by layer"), static_cast<int>(DiffBy::kLayer));
  at_ = new QComboBox(head);
  at_->setAccessibleName(tr("When"));
  at_->addItem(tr("at each peak"), static_cast<int>(analysis::DiffMoment::kPeak));
  at_->addItem(tr("at the end"), static_cast<int>(analysis::DiffMoment::kEnd));
  align_ = new QCheckBox(tr("Ali&gn"), head);
  align_->setChecked(true);
  align_->setToolTip(
      tr("Compares the same place of two steps, counted in events: else a step's start compared "
         "with the middle of another shows all that a step holds for a while"));
  progress_ = new QProgressBar(head);
  progress_->setRange(0, 1000);
  progress_->setTextVisible(false);
  progress_->setMaximumWidth(160);
  cancel_ = new QPushButton(head);
  for (QWidget* widget :
       std::initializer_list<QWidget*>{with_, moments_, pin_, align_, swap_, by_, at_})
    row->addWidget(widget);
  row->addStretch(1);
  row->addWidget(progress_);
  row->addWidget(cancel_);
  column->addLayout(row);
  connect(moments_, &QPushButton::clicked, this, &DiffView::CompareMoments);
  connect(pin_, &QPushButton::clicked, this, &DiffView::PinHere);
  connect(swap_, &QPushButton::clicked, this, &DiffView::Swap);
  connect(by_, &QComboBox::currentIndexChanged, this, [this] { Invalidate(); });
  connect(at_, &QComboBox::currentIndexChanged, this, [this] { Invalidate(); });
  connect(align_, &QCheckBox::toggled, this, [this] { Invalidate(); });
  connect(verdict_, &RichLabel::linkActivated, this, [this] {
    if (shown() != nullptr) selection_->SetInstant(shown()->question.to);
  });
  connect(cancel_, &QPushButton::clicked, this, [this] {
    if (running()) {
      Cancel();
    } else {
      error_.clear();
      Invalidate();
    }
  });
  return head;
}

QWidget* DiffView::BuildTotals() {
  auto* totals = new QSplitter(Qt::Horizontal, this);
  totals->setChildrenCollapsible(false);
  figures_view_ = MakeDiffTable(figures_, tr("Totals of both"), totals);
  figures_view_->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
  figures_view_->header()->setSectionResizeMode(DiffFigureModel::kName, QHeaderView::Stretch);
  steps_ = new DiffSteps(totals);
  totals->addWidget(figures_view_);
  totals->addWidget(steps_);
  totals->setStretchFactor(0, 5);
  totals->setStretchFactor(1, 4);
  totals->setSizes({560, 520});
  connect(steps_, &DiffSteps::StepChosen, this, &DiffView::ChooseStep);
  return totals;
}

void DiffView::FillMenu(QMenu* menu) {
  menu->clear();
  menu->addAction(tr("&Open another log …"), this, &DiffView::AskForLog);
  menu->addSeparator();
  const QString own = QFileInfo(document_->path()).absoluteFilePath();
  for (const QString& path : QSettings().value(QStringLiteral("recent")).toStringList())
    if (path != own && PathsOfRecent(path).size() == 1)
      menu->addAction(path, this, [this, path] { CompareWith(path); });
}

void DiffView::AskForLog() {
  const QString path = QFileDialog::getOpenFileName(this, tr("The log to compare with"),
                                                    QFileInfo(document_->path()).absolutePath(),
                                                    tr("memprof logs (*.mprof);;All files (*)"));
  if (!path.isEmpty()) CompareWith(path);
}

void DiffView::CompareWith(const QStringList& paths) {
  other_paths_ = paths;
  other_.reset();
  other_symbols_.reset();
  other_categories_.reset();
  error_.clear();
  swapped_ = false;
  job_.Cancel();
  load_job_.Cancel();
  Show(nullptr);
  Invalidate();
}

void DiffView::CompareMoments() { CompareWith(QStringList()); }

void DiffView::PinAt(analysis::TimeNs instant) {
  if (session_ != document_->session()) Refresh();  // which forgets what was pinned of another log
  pinned_ = instant;
  if (two_logs()) {
    CompareMoments();
  } else {
    Invalidate();
  }
}

void DiffView::Swap() {
  if (two_logs()) {
    swapped_ = !swapped_;
    Invalidate();
    return;
  }
  // The moments that are shown: aligned, they are not those that were chosen.
  const bool known = shown() != nullptr && !running();
  const analysis::TimeNs before =
      known ? shown()->question.from : pinned_.value_or(DefaultMoment());
  pinned_ = known ? shown()->question.to : selection_->instant();
  selection_->SetInstant(before);
}

void DiffView::SetAligned(bool aligned) { align_->setChecked(aligned); }

void DiffView::SetBy(DiffBy by) { by_->setCurrentIndex(by_->findData(static_cast<int>(by))); }

QString DiffView::Verdict() const {
  QString plain = verdict_->text();
  static const QRegularExpression tags(QStringLiteral("</?[ab][^>]*>"));
  return plain.remove(tags);
}

void DiffView::Show(std::shared_ptr<const DiffData> found) {
  if (found != nullptr && !found->question.moments) {
    const DiffQuestion& question = found->question;
    other_categories_ = swapped_ ? question.after.categories : question.before.categories;
  }
  figures_->SetData(found);
  steps_->SetData(found);
  steps_->setVisible(found != nullptr && !found->report.steps.empty());
  if (found != nullptr && document_->session() != nullptr)
    steps_->SetStep(document_->session()->StepAt(selection_->instant()));
  sites_->SetData(std::move(found), swapped_ && two_logs());
}

void DiffView::FitTotals() {
  const int row = std::max(fontMetrics().height() + 4, figures_view_->sizeHintForRow(0));
  const int header = figures_view_->header()->sizeHint().height();
  const int rows = header + row * figures_->rowCount() + 4;
  const bool steps = shown() != nullptr && !shown()->report.steps.empty();
  const int wanted = steps ? std::max(rows, 170) : rows;
  const int all = splitter_->height();
  const int height = std::clamp(wanted, 3 * row, std::max(3 * row, all / 2));
  splitter_->setSizes({height, std::max(1, all - height)});
}

void DiffView::resizeEvent(QResizeEvent* event) {
  View::resizeEvent(event);
  layout()->activate();
  FitTotals();
}

bool DiffView::busy() const {
  const bool is_quick = !two_logs() && slow_->isActive();
  return load_job_.running() || run_job_.running() || (job_.running() && !is_quick);
}

void DiffView::ShowState() {
  const bool busy = this->busy();
  const auto& found = shown();
  verdict_->setText(VerdictText());
  progress_->setVisible(busy);
  cancel_->setVisible(busy || cancelled_ || !error_.isEmpty());
  cancel_->setText(busy ? tr("Cancel") : tr("Try again"));
  moments_->setVisible(two_logs());
  at_->setVisible(two_logs());
  align_->setVisible(!two_logs());
  splitter_->setVisible(found != nullptr);
  verdict_->parentWidget()->layout()->activate();  // the text may have become a line longer
  layout()->activate();
  FitTotals();
}

QString DiffView::VerdictText() const {
  const auto& found = shown();
  const QString other = QFileInfo(other_paths_.value(0)).fileName().toHtmlEscaped();
  if (document_->session() == nullptr) return QStringLiteral("…");
  if (!error_.isEmpty()) return tr("Cannot compare with %1: %2").arg(other, error_.toHtmlEscaped());
  if (found == nullptr)
    return cancelled_            ? tr("Cancelled.")
           : load_job_.running() ? tr("Reading %1 …").arg(other)
                                 : tr("Comparing …");
  QString text = tr("Before: <b>%1</b>. After: <b>%2</b>.")
                     .arg(found->before.toHtmlEscaped(), found->after.toHtmlEscaped());
  if (!found->place.isEmpty()) text += tr(" Both at <b>%1</b>.").arg(found->place.toHtmlEscaped());
  if (!two_logs() && found->question.to != selection_->instant() && !running())
    text += tr(" <a href='to'>Show this instant</a> in all views.");
  if (!two_logs() && !pinned_) text += tr(" To choose “before”, select an instant and pin it.");
  if (found->rows.empty())
    text += found->question.filter.everything()
                ? tr(" Nothing holds more or less.")
                : tr(" Of what the filter shows nothing holds more or less.");
  if (!found->question.filter.everything() && found->question.by == DiffBy::kSite)
    text += tr(" The filter is about call sites; totals are of everything.");
  if (busy()) text += QStringLiteral(" …");
  if (cancelled_) text += tr(" Cancelled: this is the comparison before.");
  return text;
}

void DiffView::ChooseStep(std::size_t row) {
  const auto& found = shown();
  if (found == nullptr || row >= found->report.steps.size()) return;
  const analysis::DiffStep& step = found->report.steps[row];
  const std::int64_t number = swapped_ ? step.before : step.after;
  for (const analysis::StepInfo& info : document_->session()->steps()) {
    if (info.number != number) continue;
    selection_->SetInstant(info.begin + (info.end - info.begin) / 2);
    break;
  }
  steps_->SetStep(step.after);
}

void DiffView::dragEnterEvent(QDragEnterEvent* event) {
  if (!DroppedLogs(*event->mimeData()).isEmpty()) event->acceptProposedAction();
}

void DiffView::dropEvent(QDropEvent* event) {
  const QStringList logs = DroppedLogs(*event->mimeData());
  if (logs.isEmpty()) return;
  event->acceptProposedAction();
  CompareWith(logs);
}

bool DiffView::FocusSearch() {
  if (sites_->page() != DiffSites::Page::kIcicle) return false;
  sites_->icicle()->FocusSearch();
  return true;
}

bool DiffView::WriteCsv(QTextStream* out) const {
  const auto& found = shown();
  if (found == nullptr) return false;
  sites_->WriteCsv(out);
  return true;
}

}  // namespace memprof::viewer
