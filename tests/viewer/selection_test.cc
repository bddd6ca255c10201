// The selection, and its history of zooms.
#include "viewer/models/selection.h"

#include <gtest/gtest.h>

#include <QSignalSpy>

#include "viewer/models/zoom_stack.h"

namespace memprof::viewer {
namespace {

using analysis::StackId;

TEST(ZoomStack, GoesBackAndForward) {
  ZoomStack stack;
  stack.Reset({{0, 100}, {}});
  EXPECT_FALSE(stack.CanBack());
  stack.Push({{10, 50}, {}});
  stack.Push({{20, 30}, {}});
  stack.Push({{20, 30}, {}});  // no change: no entry
  stack.Back();
  EXPECT_EQ(stack.current().window.begin, 10u);
  stack.Back();
  EXPECT_EQ(stack.current().window.end, 100u);
  EXPECT_FALSE(stack.CanBack());
  stack.Back();  // no effect
  stack.Forward();
  stack.Push({{11, 12}, {}});
  EXPECT_FALSE(stack.CanForward()) << "undone entries are removed";
}

TEST(ZoomStack, OneGestureIsOneEntry) {
  ZoomStack stack;
  stack.Reset({{0, 100}, {}});
  for (std::uint64_t i = 1; i < 20; ++i) stack.Push({{i, 100}, {}}, 5);
  stack.Push({{40, 50}, {}}, 6);
  stack.Back();
  EXPECT_EQ(stack.current().window.begin, 19u);
  stack.Back();
  EXPECT_EQ(stack.current().window.begin, 0u);
}

TEST(ZoomStack, IsBounded) {
  ZoomStack stack;
  for (std::uint64_t i = 0; i < 3 * ZoomStack::kLimit; ++i) stack.Push({{i, 1000000}, {}});
  std::size_t steps = 0;
  for (; stack.CanBack(); ++steps) stack.Back();
  EXPECT_EQ(steps, ZoomStack::kLimit - 1);
}

TEST(Selection, SaysWhatChangedOnce) {
  Selection selection;
  selection.Reset({1000, 9000}, 5000, 0);
  QSignalSpy instants(&selection, &Selection::InstantChanged);
  QSignalSpy choices(&selection, &Selection::SelectionChanged);
  QSignalSpy zooms(&selection, &Selection::ZoomChanged);
  selection.SetInstant(100);
  EXPECT_EQ(selection.instant(), 1000u) << "within the recording";
  selection.SetInstant(1000);
  EXPECT_EQ(instants.count(), 1);
  selection.SelectAllocation(analysis::AllocationId(3), StackId(4));
  selection.SelectAllocation(analysis::AllocationId(3), StackId(4));
  EXPECT_EQ(choices.count(), 1);
  selection.SelectSite(StackId(4));
  EXPECT_FALSE(selection.allocation().valid());
  selection.SetWindow({1000, 3000});
  selection.SetFlamePath({QStringLiteral("main")});
  EXPECT_EQ(selection.window().begin, 1000u);
  EXPECT_EQ(zooms.count(), 2);
  EXPECT_TRUE(selection.zoomed());
  selection.Back();
  EXPECT_TRUE(selection.flame_path().isEmpty()) << "zooms of all views share one history";
  EXPECT_EQ(selection.window().end, 3000u);
  selection.Back();
  EXPECT_FALSE(selection.zoomed());
  selection.Forward();
  selection.Forward();
  EXPECT_EQ(selection.flame_path().size(), 1);
  selection.ShowAll();
  EXPECT_EQ(selection.window().end, 9000u);
  QSignalSpy axes(&selection, &Selection::AxisChanged);
  QSignalSpy devices(&selection, &Selection::DeviceChanged);
  selection.SetAxis(AxisKind::kTime);
  EXPECT_EQ(axes.count(), 0) << "the axis already shows time";
  selection.SetAxis(AxisKind::kSteps);
  EXPECT_EQ(axes.count(), 1);
  selection.SetDevice(0);
  EXPECT_EQ(devices.count(), 0);
  selection.SetDevice(2);
  EXPECT_EQ(devices.count(), 1);
  selection.Reset({0, 10}, 0, 1);
  EXPECT_FALSE(selection.can_back());
  EXPECT_EQ(selection.device(), 1);
  EXPECT_EQ(selection.axis(), AxisKind::kSteps) << "kept when another log is opened";
}

}  // namespace
}  // namespace memprof::viewer
