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
  // Tables need the room, and their rows tell what they are.
  bool wants_details() const override { return false; }

  WhatIfReplay* replay() const { return replay_; }
  WhatIfGone* gone() const { return gone_; }
  void ShowGone();

 protected:
  void Refresh() override {}  // each page does, when it is seen

 private:
  View* Front() const;

  QTabWidget* tabs_;
  WhatIfReplay* replay_;
  WhatIfGone* gone_;
};

}  // namespace memprof::viewer
