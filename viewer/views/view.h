// The base of all views of the window: a page that shows the document and the selection, does no
// work while it is hidden, and whose rows can be written to a file.
#pragma once

#include <QTextStream>
#include <QWidget>

#include "viewer/models/document.h"
#include "viewer/models/selection.h"
#include "viewer/models/view_state.h"

namespace memprof::viewer {

// A view listens to `document` and `selection` and calls Invalidate() when its content is outdated.
// Refresh() then follows at once if the view is visible, else when it becomes visible, once for any
// number of calls. Refresh() starts a job (JobTracker) for work of more than a millisecond, and
// shows the previous content until the result is there.
class View : public QWidget {
  Q_OBJECT

 public:
  View(Document* document, Selection* selection, QWidget* parent = nullptr);

  // Moves the keyboard focus to the view's search field; false if it has none.
  virtual bool FocusSearch() { return false; }
  // The displayed rows with a line of headings, as comma-separated values; numbers as plain
  // numbers, sizes in bytes, times in seconds since the start. False if the view has no rows.
  virtual bool WriteCsv(QTextStream* out) const;
  // What it shows beyond the selection, and to show it so; words that it does not know change
  // nothing.
  virtual ViewState State() const { return {}; }
  virtual void SetState(const ViewState&) {}
  // Whether the panel with the details of the selection is shown beside this view.
  virtual bool shows_details() const { return true; }

 protected:
  void Invalidate();
  virtual void Refresh() = 0;
  void showEvent(QShowEvent* event) override;
  void changeEvent(QEvent* event) override;  // another theme: Invalidate()

  Document* const document_;
  Selection* const selection_;

 private:
  bool stale_ = true;
};

// A field of comma-separated values: quoted where it holds a comma, a quote or a line end.
QString CsvField(const QString& text);

// A number in full, with the necessary digits, never with an exponent: "1048576", "0.25".
QString CsvNumber(double value);

}  // namespace memprof::viewer
