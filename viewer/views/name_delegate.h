// Table cells with names that are read together: cut such that different names stay different.
#pragma once

#include <QHash>

#include "viewer/views/bar_delegate.h"

namespace memprof::viewer {

class NameDelegate : public BarDelegate {
  Q_OBJECT

 public:
  explicit NameDelegate(QObject* parent = nullptr) : BarDelegate(-1, parent) {}

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override;

  // The text shown for a cell with this width in pixels.
  QString Shown(const QModelIndex& index, int width, const QFont& font) const;

 private:
  // For all cells of a column with the same width; with indentation there are several widths.
  struct Cut {
    QString font;
    QHash<QString, QString> shown;
  };

  mutable const QAbstractItemModel* model_ = nullptr;
  mutable QHash<int, Cut> cuts_;  // by width
};

}  // namespace memprof::viewer
