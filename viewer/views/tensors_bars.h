// The column of lifetimes in the table of tensors: a bar per row on one scale of time, and the
// scale in the column's heading.
#pragma once

#include <QHeaderView>
#include <QStyledItemDelegate>
#include <optional>

#include "viewer/geometry/axis.h"
#include "viewer/models/document.h"
#include "viewer/models/selection.h"
#include "viewer/models/tensor_model.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {

// The colour of a category, the same in every log.
QColor CategoryColor(const Theme& theme, analysis::Category category);

// The window of all views, mapped to a cell.
TimeScale BarScale(const Document& document, const Selection& selection, const QRectF& cell);

class TensorBars : public QStyledItemDelegate {
  Q_OBJECT

 public:
  TensorBars(const Document* document, const Selection* selection, const TensorModel* model,
             QObject* parent)
      : QStyledItemDelegate(parent), document_(document), selection_(selection), model_(model) {}

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override;
  // The rectangle of a row's bar in its cell; none if it is outside of the window.
  std::optional<QRectF> BarOf(int row, const QRectF& cell) const;

 private:
  const Document* document_;
  const Selection* selection_;
  const TensorModel* model_;
};

// For a table with a column that is drawn on the time scale of all views.
class TensorHeader : public QHeaderView {
  Q_OBJECT

 public:
  TensorHeader(const Document* document, const Selection* selection, int scale_section,
               QWidget* parent);

 protected:
  void paintSection(QPainter* painter, const QRect& rect, int section) const override;
  void initStyleOptionForIndex(QStyleOptionHeader* option, int section) const override;

 private:
  const Document* document_;
  const Selection* selection_;
  const int scale_section_;
};

}  // namespace memprof::viewer
