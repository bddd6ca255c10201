// Table cells with a bar for a change: to the left less, to the right more, in colours that can be
// distinguished with any colour vision.
#pragma once

#include <QStyledItemDelegate>

namespace memprof::viewer {

struct Theme;

class DeltaDelegate : public QStyledItemDelegate {
  Q_OBJECT

 public:
  // `delta_role` of the model returns a double in [-1, 1], or nothing for no bar.
  explicit DeltaDelegate(int delta_role, QObject* parent = nullptr)
      : QStyledItemDelegate(parent), delta_role_(delta_role) {}

  static QColor More(const Theme& theme);
  static QColor Less(const Theme& theme);

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override;
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 private:
  const int delta_role_;
};

}  // namespace memprof::viewer
