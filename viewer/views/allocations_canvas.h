// The picture of all allocations over time, packed or by address, with axes, selection and mouse.
// Wheel zooms time at the cursor, with Ctrl bytes; drag brushes a window, Shift or middle button
// pans; a click selects an allocation, a double click zooms to its lifetime.
#pragma once

#include <QHash>
#include <QWidget>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/oom/oom.h"
#include "analysis/timeline/accesses.h"
#include "viewer/geometry/allocation_index.h"
#include "viewer/geometry/axis.h"
#include "viewer/jobs/job_tracker.h"
#include "viewer/models/allocation_colors.h"
#include "viewer/models/allocation_picture.h"
#include "viewer/models/document.h"
#include "viewer/models/selection.h"
#include "viewer/views/time_gestures.h"

namespace memprof::viewer {

// Data of a device's allocations, independent of the displayed part. Immutable.
struct AllocationsData {
  // of the index's session, whose stack ids it resolves
  std::shared_ptr<analysis::Symbols> symbols;
  std::shared_ptr<const AllocationIndex> index;
  std::shared_ptr<const AllocationIndex> segments;  // by address only
  analysis::AddressLanes addresses;                 // by address only: its spans
  std::vector<analysis::FailedRequest> failures;    // of the device
};

class AllocationsCanvas : public QWidget {
  Q_OBJECT

 public:
  enum class Layout { kPacked, kAddresses };

  AllocationsCanvas(Document* document, Selection* selection, Layout layout,
                    QWidget* parent = nullptr);

  QSize minimumSizeHint() const override { return {320, 200}; }

  // Updates jobs and picture to the document and the selection. Called when the view is visible and
  // any of these has changed.
  void Update();
  void SetColoring(AllocationColoring coloring);
  AllocationColoring coloring() const { return coloring_; }

  // Null until they are known.
  analysis::Symbols* symbols() const { return data_ != nullptr ? data_->symbols.get() : nullptr; }
  const AllocationIndex* index() const { return data_ != nullptr ? data_->index.get() : nullptr; }
  const AllocationColors* colors() const { return colors_.get(); }
  const AllocationPicture* picture() const { return picture_.get(); }

  QRectF PlotRect() const;
  TimeScale Scale() const;
  double low() const { return low_; }  // of the displayed bytes
  double high() const { return high_; }
  double Y(double bytes) const;
  double BytesAt(double y) const;
  // The rectangle of an allocation; null if it is not shown, or outside of the window.
  std::optional<QRectF> RectOf(analysis::AllocationId id) const;
  std::optional<std::size_t> RowAt(QPointF point) const;
  QString Describe(std::size_t row) const;
  // The bytes from `low` to `high`, as far as there is picture.
  void SetBytes(double low, double high);

 signals:
  void Changed();  // colours or picture

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;
  bool event(QEvent* event) override;  // tooltips

 private:
  // What colours depend on.
  struct ColorKey {
    AllocationColoring coloring = AllocationColoring::kSite;
    const void* passing = nullptr;
    const void* extra = nullptr;  // categories or report, if the colouring needs them
    analysis::StackId site;
    SitePins pins;
    bool dark = false;
    bool operator==(const ColorKey&) const = default;
  };
  // Uses refer to their session.
  struct Uses {
    explicit Uses(std::shared_ptr<const analysis::Session> of)
        : session(std::move(of)), accesses(*session) {}
    const std::shared_ptr<const analysis::Session> session;
    const analysis::Accesses accesses;
  };

  void Forget();  // everything of session_
  // Whether the displayed log has grown: the old content stays until the new one is ready.
  bool Grew() const;
  void AskData();
  void AskColors();
  void AskPicture();
  void AskUses();
  ColorKey WantedColors() const;
  AllocationPictureQuery WantedPicture() const;
  bool Shows(const AllocationPicture* picture, const PictureBox& box) const;
  PictureBox Box() const { return {selection_->window(), low_, high_}; }
  PictureBox WholeBox() const;

  void PaintPictures(QPainter& painter, const QRectF& plot);
  void PaintOne(QPainter& painter, const QRectF& plot, const AllocationPicture& picture);
  void PaintLabels(QPainter& painter, const QRectF& plot, const Theme& theme);
  void PaintBytes(QPainter& painter, const QRectF& plot, const Theme& theme);
  void PaintAddresses(QPainter& painter, const QRectF& plot, const Theme& theme);
  void PaintMarks(QPainter& painter, const QRectF& plot, const Theme& theme);
  void PaintFrames(QPainter& painter, const QRectF& plot, const Theme& theme);
  QString EmptyText() const;
  // Calls `then` once Describe(row) can name the call site, unless it already can.
  void AskName(std::size_t row, const std::function<void()>& then);
  // The displayed session: the document may have a newer one. Only while there is data.
  const analysis::Session& shown() const { return data_->index->session(); }

  void Click(QPointF point);
  void SelectRow(std::size_t row);
  void SelectNeighbour(int step);  // of the selected site
  void ZoomToSelected();
  void ZoomBytes(double anchor, double factor);
  bool ByteKey(QKeyEvent* event);
  // The row of the selected allocation, or of its block.
  std::optional<std::size_t> SelectedRow() const;

  Document* const document_;
  Selection* const selection_;
  const Layout layout_;
  AllocationColoring coloring_ = AllocationColoring::kSite;
  // The session of data_, now or soon.
  std::shared_ptr<const analysis::Session> session_;
  QStringList paths_;
  int device_ = 0;
  std::shared_ptr<const AllocationsData> data_;
  std::shared_ptr<const AllocationColors> colors_;
  ColorKey colors_key_;
  std::shared_ptr<const Uses> uses_;
  // The last one drawn for the window, and one of everything, which is shown until there is one.
  std::shared_ptr<const AllocationPicture> picture_, whole_;
  bool picture_stale_ = true, whole_stale_ = true;
  double low_ = 0, high_ = 1;
  std::optional<std::size_t> hover_;
  double pan_low_ = 0, pan_high_ = 1;  // the bytes when panning began
  TimeGestures gestures_{this, selection_};
  QHash<std::uint32_t, QString> names_;  // of call sites under the mouse so far, by stack
  JobTracker data_job_, color_job_, picture_job_, uses_job_, name_job_;
};

}  // namespace memprof::viewer
