// What every view of the window is: a page that shows the document and the selection, that does no
// work while nobody sees it, and whose rows can be written to a file.
#pragma once

#include <QTextStream>
#include <QWidget>

#include "viewer/models/document.h"
#include "viewer/models/selection.h"

namespace memprof::viewer {

// A view listens to `document` and `selection` and calls Invalidate() whenever what it shows is no
// longer right. Refresh() then follows at once if the view is in front, else when it comes to the
// front, once however often it was invalidated. Refresh() starts a job (JobTracker) for whatever
// takes longer than a millisecond, and shows what it had until the result is there.
class View : public QWidget {
  Q_OBJECT

 public:
  View(Document* document, Selection* selection, QWidget* parent = nullptr);

  // Puts the keyboard into the view's own search field; false where it has none.
  virtual bool FocusSearch() { return false; }
  // The rows of the view as they are shown, with a line of headings, as comma-separated values;
  // numbers as plain numbers, sizes in bytes, times in seconds since the start. False where the
  // view has no rows.
  virtual bool WriteCsv(QTextStream* out) const;
  // Whether the panel with the details of the selection belongs beside this view.
  virtual bool wants_details() const { return true; }

 protected:
  void Invalidate();
  virtual void Refresh() = 0;
  void showEvent(QShowEvent* event) override;

  Document* const document_;
  Selection* const selection_;

 private:
  bool stale_ = true;
};

// A field of comma-separated values: quoted where it holds a comma, a quote or a line end.
QString CsvField(const QString& text);

// A number in full, with as many digits as it needs, never with an exponent: "1048576", "0.25".
QString CsvNumber(double value);

}  // namespace memprof::viewer
