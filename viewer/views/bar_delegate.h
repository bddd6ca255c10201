// Table cells with a bar behind their number: its share of the largest.
#pragma once

#include <QStyledItemDelegate>

namespace memprof::viewer {

class BarDelegate : public QStyledItemDelegate {
  Q_OBJECT

 public:
  // `share_role` of the model returns a double in [0, 1], or nothing for no bar.
  explicit BarDelegate(int share_role, QObject* parent = nullptr)
      : QStyledItemDelegate(parent), share_role_(share_role) {}

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override;
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 private:
  const int share_role_;
};

}  // namespace memprof::viewer
