// The same requests with other allocators: display. Computing is in what_if_replay_jobs.cc.
#include "viewer/views/what_if_replay.h"

#include <QComboBox>
#include <QEvent>
#include <QFileInfo>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QTimer>
#include <QTreeView>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "viewer/geometry/units.h"
#include "viewer/views/page.h"
#include "viewer/views/table_setup.h"
#include "viewer/views/theme.h"
#include "viewer/views/what_if_bar.h"
#include "viewer/views/what_if_curves.h"

namespace memprof::viewer {

using analysis::allocators::kUnlimited;

WhatIfReplay::WhatIfReplay(Document* document, Selection* selection, QWidget* parent)
    : View(document, selection, parent) {
  model_ = new WhatIfModel(this);
  sorted_ = new QSortFilterProxyModel(this);
  sorted_->setSourceModel(model_);
  sorted_->setSortRole(WhatIfModel::kSortRole);
  QVBoxLayout* column = PageColumn(this);
  BuildHead(column);
  BuildTable();
  curves_ = new WhatIfCurves(document, selection, this);
  splitter_ = new QSplitter(Qt::Vertical, this);
  splitter_->setChildrenCollapsible(false);
  splitter_->addWidget(table_);
  splitter_->addWidget(curves_);
  splitter_->setStretchFactor(0, 0);
  splitter_->setStretchFactor(1, 1);
  column->addWidget(splitter_, 1);
  connect(document, &Document::StateChanged, this, [this] { Invalidate(); });
  connect(selection, &Selection::DeviceChanged, this, [this] { Show(std::move(devices_)); });
  connect(model_, &WhatIfModel::DrawnChanged, this, &WhatIfReplay::ShowCurves);
  ShowState();
}

void WhatIfReplay::BuildHead(QVBoxLayout* column) {
  verdict_ = SentenceLabel(this, QStringLiteral("…"));
  column->addWidget(verdict_);
  auto* row = new QHBoxLayout();
  row->setSpacing(kSpace);
  choice_ = new QComboBox(this);
  choice_->setAccessibleName(tr("Device"));
  own_text_ = new QLineEdit(this);
  own_text_->setPlaceholderText(tr("another, such as caching:max_split=64MiB,gc=0.8"));
  own_text_->setToolTip(ToQString(analysis::allocators::SpecHelp()));
  own_text_->setAccessibleName(tr("Configuration to add"));
  own_text_->setClearButtonEnabled(true);
  add_ = new QPushButton(tr("&Add"), this);
  capacity_text_ = new QLineEdit(this);
  capacity_text_->setPlaceholderText(tr("as recorded"));
  capacity_text_->setAccessibleName(tr("Capacity"));
  capacity_text_->setToolTip(
      tr("What “Fits” refers to, such as 16GiB; empty: what the recorded run could have. "
         "Enter begins anew."));
  capacity_text_->setMaximumWidth(fontMetrics().averageCharWidth() * 18);
  auto* capacity = new QLabel(tr("&Capacity"), this);
  capacity->setBuddy(capacity_text_);
  progress_ = new QProgressBar(this);
  progress_->setRange(0, 1000);
  progress_->setTextVisible(false);
  progress_->setMaximumWidth(160);
  cancel_ = new QPushButton(this);
  row->addWidget(choice_);
  row->addWidget(own_text_, 1);
  row->addWidget(add_);
  row->addWidget(capacity);
  row->addWidget(capacity_text_);
  row->addWidget(progress_);
  row->addWidget(cancel_);
  column->addLayout(row);
  error_ = new QLabel(this);
  error_->setWordWrap(true);
  error_->hide();
  column->addWidget(error_);
  legend_ = new QLabel(this);
  legend_->setTextFormat(Qt::RichText);
  column->addWidget(legend_);
  ConnectHead();
}

void WhatIfReplay::ConnectHead() {
  const auto say = [this](const QString& error) {
    QPalette palette = error_->palette();
    palette.setColor(QPalette::WindowText, Theme::From(this->palette()).danger);
    error_->setPalette(palette);
    error_->setText(error);
    error_->setVisible(!error.isEmpty());
  };
  const auto add = [this, say] {
    if (own_text_->text().trimmed().isEmpty()) return;
    const QString error = AddConfiguration(own_text_->text());
    say(error);
    if (error.isEmpty()) own_text_->clear();
  };
  connect(own_text_, &QLineEdit::returnPressed, this, add);
  connect(add_, &QPushButton::clicked, this, add);
  connect(capacity_text_, &QLineEdit::returnPressed, this,
          [this, say] { say(SetCapacity(capacity_text_->text())); });
  connect(choice_, &QComboBox::activated, this, [this] { ShowDevice(); });
  connect(cancel_, &QPushButton::clicked, this, [this] {
    if (job_.running()) {
      Cancel();
    } else {
      of_.reset();
      Refresh();
    }
  });
}

void WhatIfReplay::BuildTable() {
  table_ = new QTreeView(this);
  SetUpTable(table_, sorted_, tr("Allocators side by side"));
  table_->setItemDelegateForColumn(WhatIfModel::kBar, new WhatIfBar(model_, table_));
  QHeaderView* header = table_->header();
  header->setSectionResizeMode(QHeaderView::ResizeToContents);
  header->setSectionResizeMode(WhatIfModel::kBar, QHeaderView::Stretch);
  header->setMinimumSectionSize(40);
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this] { ShowCurves(); });
}

bool WhatIfReplay::FocusSearch() {
  own_text_->setFocus(Qt::ShortcutFocusReason);
  return true;
}

QString WhatIfReplay::Verdict() const { return verdict_->text(); }

void WhatIfReplay::Show(Devices devices) {
  devices_ = std::move(devices);
  QStringList titles;
  for (const WhatIfDevice& device : devices_) titles << device.title;
  QStringList shown;
  for (int i = 0; i < choice_->count(); ++i) shown << choice_->itemText(i);
  if (titles != shown) {
    choice_->clear();
    choice_->addItems(titles);
    for (std::size_t i = devices_.size(); i-- > 0;)
      if (devices_[i].device == selection_->device()) choice_->setCurrentIndex(static_cast<int>(i));
  }
  ShowDevice();
}

void WhatIfReplay::ShowDevice() {
  const int chosen = choice_->currentIndex();
  if (chosen < 0 || static_cast<std::size_t>(chosen) >= devices_.size()) {
    ShowState();
    return;
  }
  model_->SetDevice(devices_[static_cast<std::size_t>(chosen)]);
  TickBest();
  ShowState();
  ShowCurves();
  layout()->activate();
  FitTable();
}

void WhatIfReplay::FitTable() {
  constexpr int kLeastBar = 120;
  HideColumns(table_, {WhatIfModel::kCalls, WhatIfModel::kSegments, WhatIfModel::kUnused},
              WhatIfModel::kBar, kLeastBar);
  SetUpperRows(splitter_, table_, model_->rowCount(), 3, splitter_->height() - 120);
}

void WhatIfReplay::resizeEvent(QResizeEvent* event) {
  View::resizeEvent(event);
  layout()->activate();
  FitTable();
}

void WhatIfReplay::TickBest() {
  if (ticked_ || !complete_) return;
  ticked_ = true;
  // By default draws the first allocator and the two that save most, which is enough to see the
  // differences.
  std::vector<int> rows;
  for (int row = 0; row < model_->rowCount(); ++row)
    if (!model_->row(row).over_time.empty() && model_->row(row).kind == WhatIfRow::Kind::kOther)
      rows.push_back(row);
  std::stable_sort(rows.begin(), rows.end(),
                   [this](int a, int b) { return model_->row(a).saving > model_->row(b).saving; });
  model_->SetDrawn(0, true);
  for (std::size_t i = 0; i < std::min<std::size_t>(2, rows.size()); ++i)
    model_->SetDrawn(rows[i], true);
}

void WhatIfReplay::ShowCurves() {
  const Theme theme = Theme::From(palette());
  const int current = sorted_->mapToSource(table_->currentIndex()).row();
  std::vector<WhatIfCurve> curves;
  for (int row = 0; row < model_->rowCount(); ++row) {
    const WhatIfRow& shown = model_->row(row);
    const bool drawn = model_->Drawn(row) || shown.kind == WhatIfRow::Kind::kRecorded;
    if (shown.over_time.empty() || (!drawn && row != current)) continue;
    const int color = model_->ColorOf(row);
    const QColor ink = shown.kind == WhatIfRow::Kind::kRecorded ? theme.text
                       : color >= 0                             ? theme.Categorical(color)
                       : row == current                         ? theme.accent
                                                                : theme.muted;
    curves.push_back({shown.name, ink, row == current, shown.over_time});
  }
  curves_->SetCurves(std::move(curves), model_->device().capacity);
}

void WhatIfReplay::ShowState() {
  const bool running = job_.running();
  progress_->setVisible(running);
  cancel_->setVisible(running || cancelled_);
  cancel_->setText(running ? tr("Cancel") : tr("Replay again"));
  choice_->setVisible(devices_.size() > 1);
  if (of_ == nullptr) {
    verdict_->setText(QStringLiteral("…"));
  } else if (devices_.empty() && complete_) {
    verdict_->setText(tr("Nothing was allocated on a device: there is nothing to replay."));
  } else if (devices_.empty()) {
    verdict_->setText(cancelled_ ? tr("Cancelled before the first figures were there.")
                                 : tr("Replaying the recorded requests …"));
  } else {
    const WhatIfDevice& device = model_->device();
    QString text = QStringLiteral("%1: %2. %3").arg(device.title, device.source, device.verdict);
    if (cancelled_) text += tr(" Cancelled: rows without figures were not replayed.");
    if (complete_ && model_->rowCount() > 0 &&
        std::none_of(device.rows.begin(), device.rows.end(),
                     [](const auto& row) { return row.kind == WhatIfRow::Kind::kOptimum; })) {
      text += tr(" For so many requests no offline optimum is sought here, but by: memprof replay "
                 "--seconds 60 %1")
                  .arg(QFileInfo(document_->path()).fileName());
    }
    verdict_->setText(text);
  }
  const bool nothing = complete_ && devices_.empty();
  for (QWidget* widget : std::initializer_list<QWidget*>{own_text_, add_, capacity_text_})
    widget->setEnabled(!nothing);
  legend_->setVisible(model_->rowCount() > 0);
  curves_->setVisible(model_->rowCount() > 0);
  table_->setVisible(model_->rowCount() > 0);
  const WhatIfDevice& device = model_->device();
  QString legend =
      tr("<b>To scale:</b> strong = allocated at the peak, pale = unused, ┊ = as "
         "recorded");
  // What others use of the device, these requests never had.
  const QString limit = device.capacity_given ? tr("capacity") : tr("available");
  if (model_->scale().capacity_shown) {
    legend += tr(", <span style='color:%1'>│</span> = %2 %3")
                  .arg(Theme::From(palette()).danger.name(), limit, FormatBytes(device.capacity));
  } else if (model_->scale().beyond > 0) {
    legend += tr("; %1 %2, %3 times the longest bar")
                  .arg(limit, FormatBytes(device.capacity))
                  .arg(model_->scale().beyond, 0, 'f', model_->scale().beyond < 10 ? 1 : 0);
  }
  legend_->setText(legend);
}

bool WhatIfReplay::WriteCsv(QTextStream* out) const {
  *out << "device,process,allocator,peak_reserved_bytes,used_at_peak_bytes,unused_share,"
          "saving_bytes,in_doubt_by,segments,driver_calls,fits\n";
  for (const WhatIfDevice& device : devices_) {
    for (const WhatIfRow& row : device.rows) {
      if (!row.done) continue;
      *out << device.device << ',' << device.process << ',' << CsvField(row.name) << ','
           << row.reserved << ',' << row.used << ',' << CsvNumber(row.unused()) << ','
           << (row.has_saving() ? QString::number(row.saving) : QString()) << ','
           << CsvField(row.has_saving() ? device.doubt : QString()) << ',' << row.segments << ','
           << row.calls << ','
           << (row.fits == WhatIfRow::Fits::kUnknown
                   ? ""
                   : (row.fits == WhatIfRow::Fits::kYes ? "yes" : "no"))
           << '\n';
    }
  }
  return true;
}

void WhatIfReplay::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange && of_ != nullptr) {
    ShowCurves();
    ShowState();
  }
  // The headings have their size once all of the window has the style.
  if (event->type() == QEvent::StyleChange) QTimer::singleShot(0, this, [this] { FitTable(); });
}

}  // namespace memprof::viewer
