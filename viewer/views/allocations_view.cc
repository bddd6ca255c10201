// Allocations over time: every allocation of a device a rectangle in a lane of its own.
#include "viewer/views/allocations_view.h"

#include <QVBoxLayout>

#include "viewer/views/theme.h"

namespace memprof::viewer {

AllocationsView::AllocationsView(Document* document, Selection* selection, QWidget* parent)
    : View(document, selection, parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(2 * kSpace, kSpace, 2 * kSpace, kSpace);
  panel_ = new AllocationsPanel(
      document, selection, AllocationsCanvas::Layout::kPacked, [this] { Invalidate(); }, this);
  column->addWidget(panel_);
  setFocusProxy(panel_->canvas());
}

}  // namespace memprof::viewer
