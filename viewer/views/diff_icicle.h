// The page of a comparison with its icicle: choices, search, the way to the zoomed frame.
#pragma once

#include <QTextStream>
#include <QWidget>
#include <memory>

#include "viewer/jobs/job_tracker.h"
#include "viewer/models/diff_tree.h"
#include "viewer/views/diff_canvas.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;
class QScrollArea;

namespace memprof::viewer {

class RichLabel;

class DiffIcicle : public QWidget {
  Q_OBJECT

 public:
  DiffIcicle(Document* document, Selection* selection, QWidget* parent = nullptr);

  // Null: nothing. The picture is made when the page is visible.
  void SetData(std::shared_ptr<const DiffData> found, bool own_is_before);
  void SetBottomUp(bool bottom_up);
  void SetFromSite(bool from_site);  // without libraries and allocators
  void FocusSearch();
  // All nodes, also those that are too small to be drawn.
  void WriteCsv(QTextStream* out) const;

  DiffCanvas* canvas() const { return canvas_; }
  QLineEdit* search() const { return search_; }
  RichLabel* way() const { return way_; }

 protected:
  void showEvent(QShowEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  struct Found {
    DiffTrees trees;
    std::shared_ptr<const DiffPicture> picture;
  };

  QWidget* BuildBar();
  void Ask();
  void Show(Found found);
  void Zoomed();
  void ShowWay();
  void Search(const QString& text);

  Document* const document_;
  Selection* const selection_;
  QComboBox* direction_;
  QCheckBox* from_site_;
  QLineEdit* search_;
  QLabel* note_;
  RichLabel* way_;  // the functions from the root to the zoomed one
  QScrollArea* scroll_;
  DiffCanvas* canvas_;
  std::shared_ptr<const DiffData> data_;
  DiffTrees trees_;        // of data_; null members: to be made
  QStringList zoomed_to_;  // when the picture was made
  bool own_is_before_ = false, stale_ = false, depth_chosen_ = false;
  JobTracker job_;
};

}  // namespace memprof::viewer
