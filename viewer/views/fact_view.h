// A table of facts as a widget: sorted by its headings, rows and cells copied by menu or Ctrl+C.
#pragma once

#include <QTextStream>
#include <QTreeView>

#include "viewer/models/fact_table.h"

namespace memprof::viewer {

class FactView : public QTreeView {
  Q_OBJECT

 public:
  // `wide`: the column that gets the room that is left.
  FactView(FactTable* table, int wide, QWidget* parent = nullptr);

  // One more column that shares the room that is left.
  void SetWide(int column);

  FactTable* table() const { return table_; }
  // Chooses a row without saying that a person did; -1 chooses none.
  void Show(int row);
  // Headings and rows as they are shown, as comma-separated values. False where there are no rows.
  bool WriteCsv(QTextStream* out) const;

 signals:
  // A person went to a row.
  void Chosen(const memprof::viewer::FactRow& row);
  // Double click or Enter.
  void Opened(const memprof::viewer::FactRow& row);

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  FactTable* const table_;
  bool showing_ = false;
};

}  // namespace memprof::viewer
