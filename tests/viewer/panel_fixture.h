// A window, and the texts of its panels.
#pragma once

#include <gtest/gtest.h>

#include <QLabel>
#include <QTreeView>

#include "tests/viewer/window_fixture.h"
#include "viewer/views/details_panel.h"
#include "viewer/views/rich_label.h"
#include "viewer/views/summary_header.h"

namespace memprof::viewer::testing {

class PanelTest : public WindowFixture {
 protected:
  DetailsPanel* details() { return window_.findChild<DetailsPanel*>(); }
  SummaryHeader* header() { return window_.findChild<SummaryHeader*>(); }

  // All texts of a widget's labels.
  static QString Texts(QWidget* widget) {
    QString texts;
    for (QLabel* label : widget->findChildren<QLabel*>()) {
      if (label->isVisibleTo(widget)) texts += label->text() + QLatin1Char('\n');
    }
    for (RichLabel* label : widget->findChildren<RichLabel*>()) {
      if (label->isVisibleTo(widget)) texts += label->text() + QLatin1Char('\n');
    }
    return texts;
  }

  QTreeView* Ranking(const QAbstractItemModel& model) {
    for (QTreeView* view : details()->findChildren<QTreeView*>()) {
      if (view->model() == &model) return view;
    }
    return nullptr;
  }
};

}  // namespace memprof::viewer::testing
