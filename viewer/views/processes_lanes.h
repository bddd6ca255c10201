// The column of small timelines in the table of processes: one lane a row, on a common scale of
// time and bytes.
#pragma once

#include <QStyledItemDelegate>

#include "viewer/models/document.h"
#include "viewer/models/process_model.h"

namespace memprof::viewer {

class ProcessLanes : public QStyledItemDelegate {
  Q_OBJECT

 public:
  ProcessLanes(const Document* document, const Selection* selection, QObject* parent)
      : QStyledItemDelegate(parent), document_(document), selection_(selection) {}

  // `picture` must outlive the painting; may be null.
  void SetPicture(const ProcessPicture* picture) { picture_ = picture; }

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override;

 private:
  void PaintLane(QPainter* painter, const QStyleOptionViewItem& option,
                 std::uint32_t process) const;

  const Document* document_;
  const Selection* selection_;
  const ProcessPicture* picture_ = nullptr;
};

}  // namespace memprof::viewer
