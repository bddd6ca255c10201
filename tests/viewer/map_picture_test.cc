// Contents of the address map at an instant, in numbers and text.
#include "viewer/models/map_picture.h"

#include <gtest/gtest.h>

#include <QTemporaryDir>

#include "analysis/base/sizes.h"
#include "analysis/load/load.h"
#include "analysis/testing/log_builder.h"
#include "viewer/models/document.h"

namespace memprof::viewer {
namespace {

using analysis::AllocationId;
using analysis::kMiB;
using analysis::Layer;

constexpr std::uint64_t kBase = 0x7f0000000000;

// A segment of 16 MiB: weights 4, hole 5, a small pin of 1 (no tensor), hole 6. Also 2 MiB of
// driver memory whose stack has the same text as that of the weights, but a different line of main.
class MapPictureTest : public ::testing::Test {
 protected:
  void SetUp() override {
    analysis::testing::LogBuilder log;
    log.Device(0, 1 << 30);
    const int weights = log.Stack({"main (m.cc:1)", "Model (m.cc:5)", "Make (t.cc:3)"});
    const int again = log.Stack({"main (m.cc:2)", "Model (m.cc:5)", "Make (t.cc:3)"});
    const int pin = log.Stack({"main (m.cc:1)", "Workspace (w.cc:7)"});
    log.Step(3);
    log.Alloc(Layer::kLinear, kBase, 16 * kMiB, {.stack = pin});
    log.Alloc(Layer::kSegment, kBase, 16 * kMiB, {.stack = pin});
    log.Alloc(Layer::kBlock, kBase, 4 * kMiB, {.stack = weights, .aux0 = 4 * kMiB - 100});
    log.TensorCreate(kBase, 4 * kMiB, log.Tensor("w<0>", "fp16", {1024, 2048}), {.stack = weights});
    log.Alloc(Layer::kBlock, kBase + 9 * kMiB, kMiB, {.stack = pin});
    log.Alloc(Layer::kLinear, kBase + 64 * kMiB, 2 * kMiB, {.stack = again});
    log.Alloc(Layer::kLinear, kBase + 96 * kMiB, kMiB);
    log.AdvanceTime(1'000'000);
    log.Step(4);
    log.Free(Layer::kTensor, kBase);
    log.AdvanceTime(1'000'000);
    log.Step(5);
    const std::string path = directory_.filePath(QStringLiteral("a.mprof")).toStdString();
    ASSERT_TRUE(log.WriteTo(path).ok());
    session_ = *analysis::LoadLogs({path}, {.find_steps = false});
    symbols_ = std::make_unique<analysis::Symbols>(session_);
    history_ = std::make_unique<analysis::FragmentationHistory>(session_);
    picture_ = MakeMapPicture(*history_, *symbols_, 0, session_->steps()[1].begin - 1);
  }

  // The segment and piece at an address.
  std::pair<int, int> At(std::uint64_t address) const {
    const auto& segments = picture_->map.segments;
    for (std::size_t s = 0; s < segments.size(); ++s) {
      for (std::size_t p = 0; p < segments[s].pieces.size(); ++p) {
        if (segments[s].pieces[p].address == address) {
          return {static_cast<int>(s), static_cast<int>(p)};
        }
      }
    }
    ADD_FAILURE() << "nothing begins at " << address;
    return {0, 0};
  }

  QString Describe(std::uint64_t address) const {
    const auto [segment, piece] = At(address);
    return DescribePiece(*session_, *picture_, segment, piece);
  }

  AllocationId Id(std::uint64_t address) const {
    const auto [segment, piece] = At(address);
    return picture_->map.segments[static_cast<std::size_t>(segment)]
        .pieces[static_cast<std::size_t>(piece)]
        .allocation;
  }

  QTemporaryDir directory_;
  std::shared_ptr<const analysis::Session> session_;
  std::unique_ptr<analysis::Symbols> symbols_;
  std::unique_ptr<analysis::FragmentationHistory> history_;
  std::shared_ptr<const MapPicture> picture_;
};

TEST_F(MapPictureTest, RanksSitesByWhatTheyHold) {
  ASSERT_EQ(picture_->sites.size(), 3u);
  EXPECT_EQ(picture_->sites[0].name, QStringLiteral("Make (t.cc:3)"));
  EXPECT_EQ(picture_->sites[0].bytes, 6 * kMiB) << "both stacks have the same text";
  EXPECT_EQ(picture_->sites[1].bytes, kMiB);
  EXPECT_EQ(picture_->sites[2].bytes, kMiB);
  const auto rank = [&](std::uint64_t address) {
    return picture_->rank.at(MapPicture::SiteOf(*session_, Id(address)));
  };
  EXPECT_EQ(rank(kBase), 0);
  EXPECT_EQ(rank(kBase + 64 * kMiB), 0) << "the same colour for both";
  EXPECT_NE(rank(kBase + 9 * kMiB), 0);
  EXPECT_EQ(picture_->sites[static_cast<std::size_t>(rank(kBase + 96 * kMiB))].name,
            QStringLiteral("(no call stack)"));
  EXPECT_EQ(picture_->largest_block, 4 * kMiB);
  EXPECT_EQ(picture_->step, 3);
  EXPECT_FALSE(MapPicture::SiteOf(*session_, {}).valid()) << "holes have no site";
}

TEST_F(MapPictureTest, FindsWhoPinsFreeMemory) {
  const AllocationId pin = Id(kBase + 9 * kMiB);
  EXPECT_EQ(picture_->worst_pin, pin);
  EXPECT_TRUE(picture_->Pins(pin));
  EXPECT_FALSE(picture_->Pins(Id(kBase + 64 * kMiB)));
  EXPECT_FALSE(picture_->Pins({}));
  EXPECT_TRUE(picture_->pinned_by.contains(QStringLiteral("Workspace (w.cc:7)")))
      << picture_->pinned_by.toStdString();
  EXPECT_TRUE(picture_->pinned_by.contains(QStringLiteral("1.00 MiB")));
  EXPECT_TRUE(picture_->pinned_by.contains(QStringLiteral("11.0 MiB")))
      << picture_->pinned_by.toStdString();
}

TEST_F(MapPictureTest, DescribesBlocksInWords) {
  const QString weights = Describe(kBase);
  for (const char* part :
       {"<b>w&lt;0&gt;  fp16[1024×2048]</b>", "4.00 MiB", "Requested", "Make (t.cc:3)", "0 steps",
        "since step 3", "0x7f0000000000", "16.0 MiB at 0x7f0000000000"}) {
    EXPECT_TRUE(weights.contains(QString::fromUtf8(part))) << part << " in " << qPrintable(weights);
  }
  const QString pin = Describe(kBase + 9 * kMiB);
  EXPECT_TRUE(pin.contains(QStringLiteral("Pins"))) << qPrintable(pin);
  EXPECT_TRUE(pin.contains(QStringLiteral("<b>block</b>"))) << qPrintable(pin);
  EXPECT_FALSE(pin.contains(QStringLiteral("Requested"))) << "no rounding: no text";
}

TEST_F(MapPictureTest, DescribesHolesAndSegments) {
  EXPECT_TRUE(Describe(kBase + 10 * kMiB).contains(QStringLiteral("<b>largest free hole</b>")));
  const QString hole = Describe(kBase + 4 * kMiB);
  EXPECT_TRUE(hole.contains(QStringLiteral("<b>free hole</b>"))) << qPrintable(hole);
  EXPECT_TRUE(hole.contains(QStringLiteral("5.00 MiB")));
  EXPECT_EQ(DescribePiece(*session_, *picture_, 0, -1),
            QStringLiteral("segment of 16.0 MiB at 0x7f0000000000"));
}

TEST_F(MapPictureTest, AHolesStoryNamesTheBlockToBlame) {
  // Between the weights of 4 MiB and the pin of 1 MiB: without the pin, 5 + 1 + 6.
  const auto [segment, piece] = At(kBase + 4 * kMiB);
  const HoleStory left = DescribeHole(*session_, *picture_, segment, piece);
  EXPECT_EQ(left.pin, Id(kBase + 9 * kMiB));
  for (const char* part : {"Hole of 5.00 MiB", "segment of 16.0 MiB", "2 blocks",
                           "pinned by Workspace (w.cc:7) (1.00 MiB) and w<0> (4.00 MiB)",
                           "Without the first it would be 12.0 MiB."}) {
    EXPECT_TRUE(left.text.contains(QString::fromUtf8(part))) << part << qPrintable(left.text);
  }
  const auto [at, right_piece] = At(kBase + 10 * kMiB);
  const HoleStory right = DescribeHole(*session_, *picture_, at, right_piece);
  EXPECT_EQ(right.pin, left.pin) << "at the segment's end there is only the pin";
  EXPECT_TRUE(right.text.contains(QStringLiteral("Without the block it would be 12.0 MiB.")))
      << qPrintable(right.text);
}

TEST_F(MapPictureTest, ComparesWithTheNearestFailure) {
  std::vector<analysis::FailedRequest> failures(3);
  failures[0].device = failures[1].device = 0;
  failures[2].device = 1;
  failures[0].bytes = 7 * kMiB;
  failures[1].bytes = 3 * kMiB;
  failures[2].bytes = kMiB;
  failures[0].time = picture_->map.time + 100;
  failures[1].time = picture_->map.time + 5000;
  failures[2].time = picture_->map.time;
  failures[1].step = 5;
  const auto at = [&](analysis::TimeNs time) {
    return MakeMapPicture(*history_, *symbols_, 0, time, failures);
  };
  const auto near = at(picture_->map.time);
  ASSERT_TRUE(near->request.has_value());
  EXPECT_EQ(near->request->bytes, 7 * kMiB);
  EXPECT_EQ(near->request_text, QStringLiteral("failed: needed 7.00 MiB, the largest hole here is "
                                               "6.00 MiB, 1.00 MiB too small"));
  const auto far = at(picture_->map.time + 6000);
  EXPECT_TRUE(far->request_text.startsWith(QStringLiteral("failed in step 5: needed 3.00 MiB")));
  EXPECT_TRUE(far->request_text.contains(QStringLiteral("would hold it")));
  EXPECT_FALSE(picture_->request.has_value());
  EXPECT_FALSE(
      MakeMapPicture(*history_, *symbols_, 4, picture_->map.time, failures)->request.has_value());
}

TEST_F(MapPictureTest, TensorsAreThoseOfTheInstant) {
  const AllocationId block = Id(kBase);
  const analysis::TimeNs now = picture_->map.time;
  EXPECT_TRUE(TensorAt(*session_, block, now).startsWith(QStringLiteral("w<0>")));
  EXPECT_TRUE(
      TensorAt(*session_, session_->Children(block)[0], now).startsWith(QStringLiteral("w")));
  EXPECT_EQ(TensorAt(*session_, block, session_->steps()[2].begin), QString())
      << "the tensor was already freed";
  EXPECT_EQ(TensorAt(*session_, Id(kBase + 9 * kMiB), now), QString());
  EXPECT_EQ(TensorAt(*session_, {}, now), QString());
}

// As the header and the timeline count: what the allocator does not divide is neither in use by it
// nor reserved by it.
TEST(MapPools, PrivateOnesHaveColoursAndNames) {
  analysis::testing::LogBuilder log;
  log.Device(0, 1 << 30);
  for (const std::uint64_t pool : {7, 0, 3, 7}) {
    static std::uint64_t at = kBase;
    log.Alloc(Layer::kLinear, at, 2 * kMiB);
    log.Alloc(Layer::kSegment, at, 2 * kMiB, {.aux1 = pool});
    log.Alloc(Layer::kBlock, at, kMiB, {.aux1 = pool});
    if (pool == 3) log.Free(Layer::kBlock, at);
    at += 16 * kMiB;
  }
  const QTemporaryDir directory;
  const std::string path = directory.filePath(QStringLiteral("a.mprof")).toStdString();
  ASSERT_TRUE(log.WriteTo(path).ok());
  const auto session = *analysis::LoadLogs({path}, {.find_steps = false});
  analysis::Symbols symbols(session);
  const analysis::FragmentationHistory history(session);
  const auto picture = MakeMapPicture(history, symbols, 0, session->events().last_time());
  EXPECT_EQ(picture->pools, (std::map<std::uint64_t, int>{{7, 0}, {3, 1}}));
  EXPECT_TRUE(DescribePiece(*session, *picture, 0, 0).contains(QStringLiteral("pool (0, 7)")));
  EXPECT_FALSE(DescribePiece(*session, *picture, 1, 0).contains(QStringLiteral("pool")));
  EXPECT_TRUE(DescribeHole(*session, *picture, 2, 0)
                  .text.contains(QStringLiteral("the private pool (0, 3) keeps it")));
}

TEST(MapTotals, AreTheAllocatorsWhereThereIsOne) {
  analysis::AddressMap map;
  map.allocated_bytes = 70 + 40;
  map.reserved_bytes = 100 + 40;
  map.segments.resize(2);
  map.segments[0] = {.bytes = 100, .framework = true, .free_bytes = 30};
  map.segments[1] = {.bytes = 40};
  EXPECT_EQ(TotalsOf(map).in_use, 70u);
  EXPECT_EQ(TotalsOf(map).reserved, 100u);
  EXPECT_EQ(TotalsOf(map).other, 40u);
  map.segments[0].framework = false;
  EXPECT_EQ(TotalsOf(map).in_use, 110u);
  EXPECT_EQ(TotalsOf(map).reserved, 140u);
  EXPECT_EQ(TotalsOf(map).other, 0u);
}

TEST_F(MapPictureTest, OfAnEmptyDeviceIsEmpty) {
  const auto empty = MakeMapPicture(*history_, *symbols_, 5, picture_->map.time);
  EXPECT_TRUE(empty->sites.empty());
  EXPECT_TRUE(empty->pinned_by.isEmpty());
  EXPECT_EQ(empty->largest_block, 0u);
}

}  // namespace
}  // namespace memprof::viewer
