// The cell of the table of allocators that shows a row's reserved bytes to scale: strong what was
// handed out at the peak, pale and hatched what was not, with what was recorded and the capacity.
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

// Where `bytes` end in a cell that is `width` wide.
double WhatIfX(const WhatIfScale& scale, std::uint64_t bytes, double left, double width);

}  // namespace memprof::viewer
