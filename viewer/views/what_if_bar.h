// The cell of the table of allocators with a row's reserved bytes to scale: strong for what was
// allocated at the peak, pale and hatched for the rest, with marks of the recorded value and the
// capacity.
#pragma once

#include <QStyledItemDelegate>

namespace memprof::viewer {

class WhatIfModel;
struct WhatIfScale;

class WhatIfBar : public QStyledItemDelegate {
  Q_OBJECT

 public:
  // `model` is the model below the table's, and outlives the delegate.
  explicit WhatIfBar(const WhatIfModel* model, QObject* parent = nullptr)
      : QStyledItemDelegate(parent), model_(model) {}

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override;
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;

 private:
  const WhatIfModel* const model_;
};

// The position of `bytes` in a cell of this width.
double WhatIfX(const WhatIfScale& scale, std::uint64_t bytes, double left, double width);

}  // namespace memprof::viewer
