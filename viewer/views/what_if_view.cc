// "What if": the same requests with other allocators, and the peak without a part of them.
#include "viewer/views/what_if_view.h"

#include <QTabWidget>
#include <QVBoxLayout>

#include "viewer/views/what_if_gone.h"
#include "viewer/views/what_if_replay.h"

namespace memprof::viewer {

WhatIfView::WhatIfView(Document* document, Selection* selection, QWidget* parent)
    : View(document, selection, parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  tabs_ = new QTabWidget(this);
  tabs_->setDocumentMode(true);
  replay_ = new WhatIfReplay(document, selection, tabs_);
  gone_ = new WhatIfGone(document, selection, tabs_);
  tabs_->addTab(replay_, tr("&Other allocators"));
  tabs_->addTab(gone_, tr("&Without a part"));
  column->addWidget(tabs_);
  setFocusProxy(tabs_);
}

View* WhatIfView::Front() const { return static_cast<View*>(tabs_->currentWidget()); }

void WhatIfView::ShowGone() { tabs_->setCurrentWidget(gone_); }

bool WhatIfView::FocusSearch() { return Front()->FocusSearch(); }

bool WhatIfView::WriteCsv(QTextStream* out) const { return Front()->WriteCsv(out); }

}  // namespace memprof::viewer
