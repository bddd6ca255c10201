// A picture of allocations: time to the right, bytes upwards, each allocation a rectangle of its
// lifetime and its lane. Drawn off the GUI thread, in time proportional to what is in the window;
// displayed, and scaled until the next one is drawn, in time proportional to its pixels.
#pragma once

#include <QImage>
#include <QRectF>
#include <QString>
#include <memory>
#include <stop_token>
#include <vector>

#include "viewer/geometry/allocation_index.h"
#include "viewer/geometry/step_clock.h"
#include "viewer/models/allocation_colors.h"

namespace memprof::viewer {

struct AllocationPictureQuery {
  std::shared_ptr<const AllocationIndex> index;
  std::shared_ptr<const AllocationColors> colors;
  std::shared_ptr<const AllocationIndex> segments;  // drawn below, in `theme.hole`; may be null
  PictureBox box;
  StepClock clock;            // not known(): evenly in time
  int width = 1, height = 1;  // pixels
  double ratio = 1;           // pixels per device-independent pixel
  int label_height = 12;      // of a line of text, in pixels; 0 = no labels
  Theme theme;
};

struct AllocationPicture {
  QImage image;  // transparent where nothing lies
  PictureBox box;
  bool steps = false;  // evenly in steps
  struct Label {
    QRectF box;  // in pixels
    QString text;
    QColor fill;
  };
  std::vector<Label> labels;
  std::uint64_t drawn = 0;  // allocations in the box
  std::uint64_t large = 0;  // of these, drawn as shapes with an edge
  bool stopped = false;     // a request to stop came: the picture is incomplete
};

AllocationPicture DrawAllocations(const AllocationPictureQuery& query,
                                  const std::stop_token& stop = {});

// The tensor that an allocation is or holds, or its site; for labels and lists.
QString AllocationName(const analysis::Session& session, analysis::Symbols& symbols,
                       analysis::AllocationId id);

}  // namespace memprof::viewer
