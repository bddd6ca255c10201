// Table cells with a function's name, preceded by a square for Python or native.
#pragma once

#include <QStyledItemDelegate>

namespace memprof::viewer {

class FrameDelegate : public QStyledItemDelegate {
  Q_OBJECT

 public:
  // `python_role` of the model returns whether the function is Python's.
  explicit FrameDelegate(int python_role, QObject* parent = nullptr)
      : QStyledItemDelegate(parent), python_role_(python_role) {}

  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override;

 private:
  const int python_role_;
};

}  // namespace memprof::viewer
