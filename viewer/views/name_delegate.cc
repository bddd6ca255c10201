// Table cells with names that are read together.
#include "viewer/views/name_delegate.h"

#include <QApplication>
#include <QFontMetricsF>
#include <QStringList>
#include <QStyle>
#include <QWidget>

#include "viewer/geometry/elide.h"

namespace memprof::viewer {
namespace {

// names that are compared; a longer table shows only a few at a time
constexpr qsizetype kMaxNames = 2000;
// Number of widths for which cuts are kept: dragging a splitter produces many.
constexpr qsizetype kMaxWidths = 8;

void Collect(const QAbstractItemModel& model, int column, const QModelIndex& parent,
             QStringList* names) {
  for (int row = 0; row < model.rowCount(parent) && names->size() < kMaxNames; ++row) {
    *names << model.index(row, column, parent).data().toString();
    const QModelIndex first = model.index(row, 0, parent);
    if (model.hasChildren(first)) Collect(model, column, first, names);
  }
}

}  // namespace

QString NameDelegate::Shown(const QModelIndex& index, int width, const QFont& font) const {
  const QString name = index.data().toString();
  const QFontMetricsF metrics(font);
  if (metrics.horizontalAdvance(name) <= width) return name;
  if (model_ != index.model()) {
    if (model_ != nullptr) disconnect(model_, nullptr, this, nullptr);
    model_ = index.model();
    cuts_.clear();
    const auto forget = [this] { cuts_.clear(); };
    connect(model_, &QAbstractItemModel::modelReset, this, forget);
    connect(model_, &QAbstractItemModel::dataChanged, this, forget);
    connect(model_, &QAbstractItemModel::rowsInserted, this, forget);
    connect(model_, &QAbstractItemModel::rowsRemoved, this, forget);
    connect(model_, &QObject::destroyed, this, [this] {
      model_ = nullptr;
      cuts_.clear();
    });
  }
  if (cuts_.size() > kMaxWidths) cuts_.clear();
  Cut& cut = cuts_[width];
  if (cut.font != font.key() || !cut.shown.contains(name)) {
    cut = {font.key(), {}};
    QStringList names;
    Collect(*model_, index.column(), {}, &names);
    if (!names.contains(name)) names << name;
    const QStringList shown = ElideApart(
        names, width, [&metrics](const QString& text) { return metrics.horizontalAdvance(text); });
    for (qsizetype i = 0; i < names.size(); ++i) cut.shown.insert(names[i], shown[i]);
  }
  return cut.shown.value(name);
}

void NameDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                         const QModelIndex& index) const {
  QStyleOptionViewItem shown = option;
  initStyleOption(&shown, index);
  const QStyle* style = option.widget != nullptr ? option.widget->style() : QApplication::style();
  const QRect place = style->subElementRect(QStyle::SE_ItemViewItemText, &shown, option.widget);
  const int margin = style->pixelMetric(QStyle::PM_FocusFrameHMargin, nullptr, option.widget) + 1;
  shown.text = Shown(index, place.width() - 2 * margin, shown.font);
  style->drawControl(QStyle::CE_ItemViewItem, &shown, painter, option.widget);
}

}  // namespace memprof::viewer
