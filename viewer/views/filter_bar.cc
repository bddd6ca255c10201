// The bar with the conditions of the filter.
#include "viewer/views/filter_bar.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QTimer>
#include <QToolButton>

#include "viewer/geometry/elide.h"
#include "viewer/geometry/units.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {
namespace {

using analysis::AllocationFilter;

// Every condition but the text as a filter of its own, so that each can be displayed and removed.
std::vector<AllocationFilter> Apart(const AllocationFilter& filter) {
  std::vector<AllocationFilter> parts;
  const auto add = [&](auto member) {
    AllocationFilter part;
    if (part.*member == filter.*member) return;
    part.*member = filter.*member;
    parts.push_back(part);
  };
  add(&AllocationFilter::site);
  add(&AllocationFilter::category);
  add(&AllocationFilter::layers);
  add(&AllocationFilter::stream);
  add(&AllocationFilter::process);
  add(&AllocationFilter::least_bytes);
  add(&AllocationFilter::most_bytes);
  add(&AllocationFilter::least_lifetime);
  add(&AllocationFilter::most_lifetime);
  add(&AllocationFilter::alive_at_end);
  return parts;
}

// `filter` without the one condition of `part`.
AllocationFilter Without(AllocationFilter filter, const AllocationFilter& part) {
  const AllocationFilter any;
  const auto drop = [&](auto member) {
    if (part.*member != any.*member) filter.*member = any.*member;
  };
  drop(&AllocationFilter::site);
  drop(&AllocationFilter::category);
  drop(&AllocationFilter::layers);
  drop(&AllocationFilter::stream);
  drop(&AllocationFilter::process);
  drop(&AllocationFilter::least_bytes);
  drop(&AllocationFilter::most_bytes);
  drop(&AllocationFilter::least_lifetime);
  drop(&AllocationFilter::most_lifetime);
  drop(&AllocationFilter::alive_at_end);
  return filter;
}

}  // namespace

FilterBar::FilterBar(Document* document, Selection* selection, QWidget* parent)
    : QWidget(parent), document_(document), selection_(selection) {
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(2 * kSpace, 0, 2 * kSpace, kSpace);
  row->setSpacing(kSpace);
  text_ = new QLineEdit(this);
  text_->setPlaceholderText(tr("Filter by tensor, function, file or module"));
  text_->setClearButtonEnabled(true);
  text_->setMaximumWidth(320);
  text_->setToolTip(
      tr("All words must be there, and none after a minus: conv -weight \"two words\""));
  text_->setAccessibleName(tr("Filter"));
  auto* more = new QToolButton(this);
  more->setText(tr("Only …"));
  more->setToolTip(tr("More conditions: sizes, lifetimes, categories, layers"));
  more->setAutoRaise(true);
  row->addWidget(text_, 1);
  row->addWidget(more);
  chips_ = new QHBoxLayout();
  chips_->setSpacing(kSpace / 2);
  row->addLayout(chips_);
  row->addStretch(1);
  typing_ = new QTimer(this);
  typing_->setSingleShot(true);
  typing_->setInterval(250);
  connect(text_, &QLineEdit::textEdited, typing_, qOverload<>(&QTimer::start));
  connect(text_, &QLineEdit::returnPressed, this, &FilterBar::Apply);
  connect(typing_, &QTimer::timeout, this, &FilterBar::Apply);
  connect(more, &QToolButton::clicked, this, &FilterBar::AskForMore);
  connect(selection_, &Selection::FilterChanged, this, &FilterBar::Fill);
  connect(document_, &Document::StateChanged, this, &FilterBar::Fill);
}

void FilterBar::Focus() {
  text_->setFocus(Qt::ShortcutFocusReason);
  text_->selectAll();
}

void FilterBar::Apply() {
  typing_->stop();
  AllocationFilter filter = selection_->filter();
  filter.text = text_->text().trimmed().toStdString();
  selection_->SetFilter(filter);
}

void FilterBar::Fill() {
  while (QLayoutItem* item = chips_->takeAt(0)) {
    if (item->widget() != nullptr) item->widget()->deleteLater();
    delete item;
  }
  conditions_.clear();
  site_job_.Cancel();  // its button was removed
  if (document_->session() == nullptr) return;
  const AllocationFilter& filter = selection_->filter();
  const QString text = QString::fromStdString(filter.text);
  if (text_->text().trimmed() != text) text_->setText(text);
  for (const AllocationFilter& part : Apart(filter)) {
    auto* chip = new QToolButton(this);
    if (part.site) {
      conditions_ << QStringLiteral("…");
      AskSite(part, chip);
    } else {
      const auto words =
          analysis::DescribeFilter(*document_->session(), *document_->symbols(), part);
      if (words.empty()) {
        delete chip;
        continue;
      }
      conditions_ << ToQString(words.front());
    }
    SetChipText(chip, conditions_.back());
    connect(chip, &QToolButton::clicked, this,
            [this, part] { selection_->SetFilter(Without(selection_->filter(), part)); });
    chips_->addWidget(chip);
  }
  if (filter.everything()) return;
  auto* all = new QToolButton(this);
  all->setText(tr("Show everything"));
  all->setAutoRaise(true);
  connect(all, &QToolButton::clicked, this, [this] { selection_->SetFilter({}); });
  chips_->addWidget(all);
}

void FilterBar::SetChipText(QToolButton* chip, const QString& words) {
  const QString shown =
      ElideName(words, 48, [](const QString& text) { return static_cast<double>(text.size()); });
  chip->setText(shown + QStringLiteral("  ×"));
  chip->setToolTip(tr("%1: click to show the others again").arg(words));
}

// The name of a call site may be in debug information that is still to be opened.
void FilterBar::AskSite(const AllocationFilter& part, QToolButton* chip) {
  const qsizetype place = conditions_.size() - 1;
  site_job_.Start(
      [session = document_->session(), symbols = document_->symbols(), part](std::stop_token) {
        const auto words = analysis::DescribeFilter(*session, *symbols, part);
        return words.empty() ? QString() : ToQString(words.front());
      },
      [this, chip, place](const QString& words) {
        conditions_[place] = words;
        SetChipText(chip, words);
      });
}

void FilterBar::AskForMore() {
  QMenu menu(this);
  const auto add = [&](QMenu* to, const QString& words, auto change) {
    to->addAction(words, this, [this, change] {
      AllocationFilter filter = selection_->filter();
      change(&filter);
      selection_->SetFilter(filter);
    });
  };
  QMenu* sizes = menu.addMenu(tr("Size"));
  for (const int shift : {10, 16, 20, 24, 28, 30}) {
    const std::uint64_t bytes = std::uint64_t{1} << shift;
    add(sizes, tr("at least %1").arg(FormatBytes(bytes)),
        [bytes](AllocationFilter* filter) { filter->least_bytes = bytes; });
  }
  sizes->addSeparator();
  for (const int shift : {9, 16, 20}) {
    const std::uint64_t bytes = std::uint64_t{1} << shift;
    add(sizes, tr("at most %1").arg(FormatBytes(bytes)),
        [bytes](AllocationFilter* filter) { filter->most_bytes = bytes; });
  }
  QMenu* lives = menu.addMenu(tr("Lifetime"));
  for (const analysis::TimeNs ns :
       {1'000'000ull, 100'000'000ull, 1'000'000'000ull, 60'000'000'000ull}) {
    add(lives, tr("at least %1").arg(FormatDuration(ns)),
        [ns](AllocationFilter* filter) { filter->least_lifetime = ns; });
  }
  lives->addSeparator();
  for (const analysis::TimeNs ns : {1'000'000ull, 100'000'000ull}) {
    add(lives, tr("at most %1").arg(FormatDuration(ns)),
        [ns](AllocationFilter* filter) { filter->most_lifetime = ns; });
  }
  add(lives, tr("alive at the end"), [](AllocationFilter* filter) { filter->alive_at_end = true; });
  QMenu* categories = menu.addMenu(tr("Category"));
  for (std::size_t i = 0; i < analysis::kCategoryCount; ++i) {
    const auto category = static_cast<analysis::Category>(i);
    add(categories, ToQString(analysis::CategoryName(category)),
        [category](AllocationFilter* filter) { filter->category = category; });
  }
  QMenu* layers = menu.addMenu(tr("Layer"));
  for (std::size_t i = 0; i < analysis::kLayerCount; ++i) {
    const auto layer = static_cast<analysis::Layer>(i);
    add(layers, ToQString(analysis::LayerName(layer)),
        [layer](AllocationFilter* filter) { filter->layers = analysis::LayerBit(layer); });
  }
  if (selection_->site().valid()) {
    add(&menu, tr("the selected call site"),
        [site = selection_->site()](AllocationFilter* filter) { filter->site = site; });
  }
  menu.exec(QCursor::pos());
}

}  // namespace memprof::viewer
