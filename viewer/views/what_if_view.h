// "What if": the same requests with other allocators, and the peak without a part of them.
#pragma once

#include "viewer/views/view.h"

class QTabWidget;

namespace memprof::viewer {

class WhatIfGone;
class WhatIfReplay;

class WhatIfView : public View {
  Q_OBJECT

 public:
  WhatIfView(Document* document, Selection* selection, QWidget* parent = nullptr);

  bool FocusSearch() override;
  bool WriteCsv(QTextStream* out) const override;
  ViewState State() const override;  // the page, and by what the second is split
  void SetState(const ViewState& state) override;
  // Tables need the space, and their rows are self-explanatory.
  bool shows_details() const override { return false; }

  WhatIfReplay* replay() const { return replay_; }
  WhatIfGone* gone() const { return gone_; }
  void ShowGone();

 protected:
  void Refresh() override {}  // each page refreshes itself when it is visible

 private:
  View* Front() const;

  QTabWidget* tabs_;
  WhatIfReplay* replay_;
  WhatIfGone* gone_;
};

}  // namespace memprof::viewer
