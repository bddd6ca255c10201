// Holes and OOM: free memory that cannot be used, the blocks that pin it, and why requests for
// memory failed.
#pragma once

#include "viewer/views/view.h"

class QTabWidget;

namespace memprof::viewer {

class FragmentationPage;
class OomPage;

class FragmentationView : public View {
  Q_OBJECT

 public:
  FragmentationView(Document* document, Selection* selection, QWidget* parent = nullptr);

  bool WriteCsv(QTextStream* out) const override;
  ViewState State() const override;  // the page
  void SetState(const ViewState& state) override;

  QTabWidget* tabs() const { return tabs_; }
  FragmentationPage* holes() const { return holes_; }
  OomPage* oom() const { return oom_; }

 protected:
  void Refresh() override;

 private:
  void CountChanged();

  QTabWidget* tabs_;
  FragmentationPage* holes_;
  OomPage* oom_;
  int shown_count_ = -1;
  bool named_ = false;  // a link says which page of this log
};

}  // namespace memprof::viewer
