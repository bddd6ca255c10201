// Pictures and colours of allocations, without a window.
#include "viewer/models/allocation_picture.h"

#include <gtest/gtest.h>

#include <QTemporaryDir>

#include "analysis/base/sizes.h"
#include "analysis/load/load.h"
#include "analysis/testing/log_builder.h"
#include "tests/viewer/demo_log.h"

namespace memprof::viewer {
namespace {

using analysis::kMiB;
using analysis::Layer;
using analysis::testing::LogBuilder;

class AllocationPictureTest : public ::testing::Test {
 protected:
  void Load(const LogBuilder& log) {
    const std::string path = directory_.filePath(QStringLiteral("a.mprof")).toStdString();
    ASSERT_TRUE(log.WriteTo(path).ok());
    session_ = *analysis::LoadLogs({path}, {.find_steps = false});
    symbols_ = std::make_shared<analysis::Symbols>(session_);
    bounds_ = {session_->events().first_time(), session_->events().last_time() + 1};
    index_ = std::make_shared<const AllocationIndex>(session_, analysis::PackLanes(*session_, 0),
                                                     bounds_);
  }
  AllocationColors Color(AllocationColoring coloring, analysis::StackId site = {}) const {
    AllocationColorInputs inputs;
    inputs.index = index_;
    inputs.symbols = symbols_;
    inputs.coloring = coloring;
    inputs.site = site;
    inputs.theme = Theme::From(MakePalette(true));
    return ColorAllocations(inputs);
  }
  AllocationPictureQuery Query() const {
    AllocationPictureQuery query;
    query.index = index_;
    query.colors = std::make_shared<const AllocationColors>(Color(AllocationColoring::kSite));
    query.box = {bounds_, 0, index_->bytes()};
    query.width = 200;
    query.height = 100;
    query.theme = Theme::From(MakePalette(true));
    return query;
  }
  QColor Site(int rank) const { return Theme::From(MakePalette(true)).Categorical(rank); }

  QTemporaryDir directory_;
  std::shared_ptr<const analysis::Session> session_;
  std::shared_ptr<analysis::Symbols> symbols_;
  std::shared_ptr<const AllocationIndex> index_;
  analysis::TimeWindow bounds_;
};

// 4 MiB for all of 100 ms, and 2 MiB for the second half; from two sites.
void FillTwo(LogBuilder& log) {
  log.Device(0, 1 << 30);
  const int a = log.Stack({"main (m.cc:1)", "Weights (m.cc:5)"});
  const int b = log.Stack({"main (m.cc:1)", "Scratch (m.cc:8)"});
  log.SetTime(1'000'000'000);
  log.Alloc(Layer::kLinear, 0x1000000, 4 * kMiB, {.stack = a});
  log.SetTime(1'050'000'000);
  log.Alloc(Layer::kLinear, 0x9000000, 2 * kMiB, {.stack = b});
  log.SetTime(1'100'000'000);
  log.Free(0x1000000);
  log.Free(0x9000000);
}

TEST_F(AllocationPictureTest, ARectangleLiesWhereItsLifeAndLaneAre) {
  LogBuilder log;
  FillTwo(log);
  Load(log);
  const AllocationPicture picture = DrawAllocations(Query());
  ASSERT_FALSE(picture.stopped);
  EXPECT_EQ(picture.drawn, 2u);
  EXPECT_EQ(picture.large, 2u);
  // The larger one is below and has the full width; the other one is above it in the right half.
  EXPECT_EQ(picture.image.pixelColor(50, 70), Site(0));
  EXPECT_EQ(picture.image.pixelColor(150, 70), Site(0));
  EXPECT_EQ(picture.image.pixelColor(150, 20), Site(1));
  EXPECT_EQ(picture.image.pixelColor(195, 40 - 10), Site(1));
  EXPECT_EQ(picture.image.pixelColor(50, 20).alpha(), 0);
  EXPECT_EQ(picture.image.pixelColor(98, 20).alpha(), 0);
  EXPECT_NE(picture.image.pixelColor(150, 33), picture.image.pixelColor(150, 34)) << "an edge";
}

TEST_F(AllocationPictureTest, AWindowIsAPartOfIt) {
  LogBuilder log;
  FillTwo(log);
  Load(log);
  AllocationPictureQuery query = Query();
  query.box = {{1'060'000'000, 1'070'000'000}, 0, static_cast<double>(4 * kMiB)};
  const AllocationPicture below = DrawAllocations(query);
  EXPECT_EQ(below.image.pixelColor(100, 50), Site(0));
  query.box = {{1'010'000'000, 1'020'000'000},
               static_cast<double>(4 * kMiB) + 1,
               static_cast<double>(6 * kMiB)};
  const AllocationPicture nothing = DrawAllocations(query);
  EXPECT_EQ(nothing.drawn, 0u);
  EXPECT_EQ(nothing.image.pixelColor(100, 50).alpha(), 0);
}

TEST_F(AllocationPictureTest, ALabelIsATensorOrASize) {
  LogBuilder log;
  testing::FillDemoLog(log, {.steps = 4});
  Load(log);
  AllocationPictureQuery query = Query();
  query.width = 1000;
  query.height = 800;
  const AllocationPicture picture = DrawAllocations(query);
  ASSERT_GT(picture.labels.size(), 5u);
  bool tensor = false, size = false;
  for (const AllocationPicture::Label& label : picture.labels) {
    EXPECT_GE(label.box.width(), 52);
    EXPECT_GE(label.box.height(), query.label_height);
    tensor |= label.text == QStringLiteral("h.0.adam.m");
    size |= label.text == QStringLiteral("32.0 MiB");
  }
  EXPECT_TRUE(tensor);
  EXPECT_TRUE(size) << "the workspace has no tensor";
  query.label_height = 0;
  EXPECT_TRUE(DrawAllocations(query).labels.empty());
}

TEST_F(AllocationPictureTest, StepsAreEquallyWide) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.SetTime(1'000'000'000);
  log.Step(0);
  log.SetTime(1'010'000'000);  // a short step, then a long one
  log.Step(1);
  log.Alloc(Layer::kLinear, 0x1000000, kMiB);
  log.SetTime(1'100'000'000);
  log.Free(0x1000000);
  Load(log);
  AllocationPictureQuery query = Query();
  EXPECT_GT(DrawAllocations(query).image.pixelColor(40, 50).alpha(), 0);
  query.clock = StepClock(session_->steps(), bounds_);
  const AllocationPicture picture = DrawAllocations(query);
  EXPECT_TRUE(picture.steps);
  EXPECT_EQ(picture.image.pixelColor(90, 50).alpha(), 0) << "allocated half way";
  EXPECT_GT(picture.image.pixelColor(110, 50).alpha(), 0);
}

TEST_F(AllocationPictureTest, FreeMemoryOfSegmentsIsTheirBackground) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.Alloc(Layer::kLinear, 0x1000000, 4 * kMiB);
  log.Alloc(Layer::kSegment, 0x1000000, 4 * kMiB);
  log.Alloc(Layer::kBlock, 0x1000000, kMiB);
  log.AdvanceTime(1'000'000);
  log.Step(0);
  Load(log);
  analysis::AddressLanes lanes = analysis::LayOutAddresses(*session_, 0);
  index_ = std::make_shared<const AllocationIndex>(session_, std::move(lanes.lanes), bounds_);
  AllocationPictureQuery query = Query();
  query.segments =
      std::make_shared<const AllocationIndex>(session_, std::move(lanes.segments), bounds_);
  const AllocationPicture picture = DrawAllocations(query);
  EXPECT_EQ(picture.image.pixelColor(100, 30), query.theme.hole);
  EXPECT_EQ(picture.image.pixelColor(100, 90), Site(0)) << "the block is at the low end";
  EXPECT_EQ(picture.drawn, 1u) << "segments do not count";
}

TEST_F(AllocationPictureTest, StopsWhenAsked) {
  LogBuilder log;
  FillTwo(log);
  Load(log);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_TRUE(DrawAllocations(Query(), stop.get_token()).stopped);
}

TEST_F(AllocationPictureTest, SitesAreRankedByBytesTimesLifetime) {
  LogBuilder log;
  FillTwo(log);
  Load(log);
  const AllocationColors colors = Color(AllocationColoring::kSite);
  ASSERT_EQ(colors.legend.size(), 2u);
  EXPECT_EQ(colors.legend[0].text, QStringLiteral("Weights (m.cc:5)"));
  EXPECT_EQ(colors.legend[0].color, Site(0));
  EXPECT_EQ(colors.legend[1].text, QStringLiteral("Scratch (m.cc:8)"));
  EXPECT_EQ(QColor::fromRgb(colors.palette[colors.of[1]]), Site(1));
  EXPECT_EQ(colors.passing, 2u);
}

TEST_F(AllocationPictureTest, ASiteThatIsNotShownDimsNothing) {
  LogBuilder log;
  FillTwo(log);
  Load(log);
  const auto plain = Color(AllocationColoring::kSite);
  EXPECT_EQ(Color(AllocationColoring::kSite, analysis::StackId(0)).of, plain.of);
  const auto dimmed =
      Color(AllocationColoring::kSite, session_->record(analysis::AllocationId(0)).stack);
  EXPECT_EQ(dimmed.of[0], plain.of[0]);
  EXPECT_NE(dimmed.of[1], plain.of[1]);
}

TEST_F(AllocationPictureTest, SaysWhatIsNotKnownYet) {
  LogBuilder log;
  FillTwo(log);
  Load(log);
  EXPECT_FALSE(Color(AllocationColoring::kCategory).missing.isEmpty());
  EXPECT_FALSE(Color(AllocationColoring::kLeak).missing.isEmpty());
  EXPECT_TRUE(Color(AllocationColoring::kSize).missing.isEmpty());
}

TEST_F(AllocationPictureTest, NamesAreTensorsSitesOrLayers) {
  LogBuilder log;
  FillTwo(log);
  log.Alloc(Layer::kManaged, 0xf000000, kMiB);
  log.Alloc(Layer::kLinear, 0xff00000, kMiB);
  log.TensorCreate(0xff00000, kMiB, log.Tensor("w", "fp32", {3}));
  Load(log);
  const auto name = [&](std::uint32_t id) {
    return AllocationName(*session_, *symbols_, analysis::AllocationId(id));
  };
  EXPECT_EQ(name(0), QStringLiteral("Weights (m.cc:5)"));
  EXPECT_EQ(name(2), QStringLiteral("managed"));
  EXPECT_EQ(name(3), QStringLiteral("w  fp32[3]"));
}

}  // namespace
}  // namespace memprof::viewer
