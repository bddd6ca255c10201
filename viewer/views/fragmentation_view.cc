// Holes and OOM, a page each.
#include "viewer/views/fragmentation_view.h"

#include <QScrollArea>
#include <QTabWidget>
#include <QVBoxLayout>

#include "viewer/views/fragmentation_page.h"
#include "viewer/views/oom_page.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {

FragmentationView::FragmentationView(Document* document, Selection* selection, QWidget* parent)
    : View(document, selection, parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(2 * kSpace, kSpace, 2 * kSpace, kSpace);
  tabs_ = new QTabWidget(this);
  tabs_->setDocumentMode(true);
  holes_ = new FragmentationPage(document, selection, tabs_);
  oom_ = new OomPage(document, selection, tabs_);
  tabs_->addTab(holes_, tr("Holes"));
  // Its texts and bars keep their heights in a low window.
  auto* scroll = new QScrollArea(tabs_);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->viewport()->setAutoFillBackground(false);
  scroll->setWidget(oom_);
  oom_->setAutoFillBackground(false);
  tabs_->addTab(scroll, tr("Failed requests"));
  column->addWidget(tabs_);
  const auto stale = [this] { Invalidate(); };
  connect(document, &Document::StateChanged, this, [this] {
    if (!document_->grew()) named_ = false;
    Invalidate();
  });
  connect(document, &Document::ReportReady, this, stale);
  connect(document, &Document::CategoriesReady, this, stale);
  connect(selection, &Selection::InstantChanged, this, stale);
  connect(selection, &Selection::DeviceChanged, this, stale);
  connect(oom_, &OomPage::CountChanged, this, &FragmentationView::CountChanged);
}

void FragmentationView::Refresh() {
  // Failures first: if there are any, they matter most.
  oom_->Refresh();
  holes_->Refresh();
}

void FragmentationView::CountChanged() {
  const int count = oom_->count();
  tabs_->setTabText(1, count > 0    ? tr("Failed requests (%1)").arg(count)
                       : count == 0 ? tr("Headroom")
                                    : tr("Failed requests"));
  // Shows the failures when the log is opened, but not after the user has chosen a page.
  if (count == shown_count_) return;
  shown_count_ = count;
  if (named_) return;
  if (count > 0) tabs_->setCurrentIndex(1);
  if (count == 0) tabs_->setCurrentIndex(0);
}

bool FragmentationView::WriteCsv(QTextStream* out) const {
  return tabs_->currentIndex() == 0 ? holes_->WriteCsv(out) : oom_->WriteCsv(out);
}

}  // namespace memprof::viewer
