// A table of facts as a widget: sorted by its headings; rows and cells can be copied by menu or
// Ctrl+C.
#pragma once

#include <QTextStream>
#include <QTreeView>

#include "viewer/models/fact_table.h"

namespace memprof::viewer {

class FactView : public QTreeView {
  Q_OBJECT

 public:
  // `wide`: the column that gets the remaining width.
  FactView(FactTable* table, int wide, QWidget* parent = nullptr);

  // Adds a column that shares the remaining width.
  void SetWide(int column);

  FactTable* table() const { return table_; }
  // Selects a row without emitting Chosen; -1 selects none.
  void Show(int row);
  // Headings and rows as displayed, as comma-separated values. False if there are no rows.
  bool WriteCsv(QTextStream* out) const;

 signals:
  // The user selected a row.
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
