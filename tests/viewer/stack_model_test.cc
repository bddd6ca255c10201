// Models of rankings and of call stacks, tested with Qt's model tester and as text.
#include "viewer/models/stack_model.h"

#include <gtest/gtest.h>

#include "tests/viewer/model_fixture.h"
#include "viewer/models/ranked_model.h"

namespace memprof::viewer {
namespace {

using testing::Frame;
using testing::kFatal;
using testing::Print;

TEST(RankedModel, ShowsNamesAndShares) {
  RankedModel model(QStringLiteral("Name"));
  const QAbstractItemModelTester tester(&model, kFatal);
  model.SetRows({{QStringLiteral("a"), QStringLiteral("more of a"), 2048, {}, {}},
                 {QStringLiteral("b"), {}, 512, {}, {}}});
  EXPECT_EQ(Print(model), QStringList({QStringLiteral("a|2.00 KiB"), QStringLiteral("b|512 B")}));
  EXPECT_DOUBLE_EQ(model.index(1, 1).data(RankedModel::kShareRole).toDouble(), 0.25);
  EXPECT_EQ(model.index(0, 0).data(Qt::ToolTipRole).toString(), QStringLiteral("more of a"));
  EXPECT_EQ(model.headerData(0, Qt::Horizontal, Qt::DisplayRole).toString(),
            QStringLiteral("Name"));
  model.SetRows({});
  EXPECT_EQ(model.rowCount(), 0);
}

TEST(StackModel, PointsOutTheSite) {
  StackModel model;
  const QAbstractItemModelTester tester(&model, kFatal);
  analysis::SourceFrame bare;
  bare.function = "libfoo+0x10";
  bare.module = "libfoo.so";
  const analysis::SourceFrame site = Frame("Train", "/src/train.cc", 12);
  model.SetFrames({Frame("Allocate", "/src/alloc.h", 5), site, bare}, site);
  EXPECT_EQ(Print(model),
            QStringList({QStringLiteral("Allocate|alloc.h:5"), QStringLiteral("Train|train.cc:12"),
                         QStringLiteral("libfoo+0x10|libfoo.so")}));
  EXPECT_FALSE(model.index(0, 0).data(Qt::FontRole).isValid());
  EXPECT_TRUE(model.index(1, 0).data(Qt::FontRole).isValid());
  EXPECT_TRUE(model.index(1, 0)
                  .data(Qt::ToolTipRole)
                  .toString()
                  .contains(QStringLiteral("/src/train.cc:12")));
  EXPECT_EQ(model.Text().count(QLatin1Char('\n')), 3);
}

TEST(StackModel, FoldsWhatIsBetweenTheAllocationAndItsSite) {
  StackModel model;
  const QAbstractItemModelTester tester(&model, kFatal);
  std::vector<analysis::SourceFrame> frames;
  for (int i = 0; i < 20; ++i)
    frames.push_back(Frame(("at::Inner" + std::to_string(i)).c_str(), "", 0));
  const analysis::SourceFrame site = Frame("Model.forward", "/src/train.py", 39);
  frames.push_back(site);
  frames.push_back(Frame("main", "/src/train.py", 70));
  model.SetFrames(frames, site);
  ASSERT_EQ(model.rowCount(), 3);
  EXPECT_TRUE(model.IsFold(0));
  EXPECT_FALSE(model.IsFold(1));
  EXPECT_TRUE(model.index(0, 0).data().toString().startsWith(QStringLiteral("20 inner frames")));
  EXPECT_TRUE(
      model.index(0, 0).data(Qt::ToolTipRole).toString().contains(QStringLiteral("Inner7")));
  EXPECT_EQ(model.frame(1).function, "Model.forward");
  EXPECT_EQ(model.frame(2).function, "main");
  EXPECT_TRUE(model.index(1, 0).data(Qt::FontRole).value<QFont>().bold());
  EXPECT_EQ(model.Text().count(QLatin1Char('\n')), 22) << "the clipboard has all of it";
  model.Unfold(1);  // not a fold
  EXPECT_EQ(model.rowCount(), 3);
  model.Unfold(0);
  ASSERT_EQ(model.rowCount(), 22);
  EXPECT_FALSE(model.IsFold(0));
  EXPECT_EQ(model.frame(20).function, "Model.forward");
  EXPECT_TRUE(model.index(20, 0).data(Qt::FontRole).value<QFont>().bold());
  // Few frames, or none before the site, are not folded.
  frames.erase(frames.begin() + 4, frames.begin() + 20);
  model.SetFrames(frames, site);
  EXPECT_EQ(model.rowCount(), 6);
  model.SetFrames(frames, frames[0]);
  EXPECT_EQ(model.rowCount(), 6);
}

TEST(StackModel, FoldsTheInterpreterBetweenLinesOfPython) {
  StackModel model;
  const QAbstractItemModelTester tester(&model, kFatal);
  const auto python = [](const char* function, const char* file) {
    analysis::SourceFrame frame = Frame(function, file, 9);
    frame.python = true;
    return frame;
  };
  const auto interpreter = [](const char* function) {
    analysis::SourceFrame frame = Frame(function, "Python/ceval.c", 6434);
    frame.module = "python3.11";
    return frame;
  };
  const analysis::SourceFrame site = python("Model.forward", "/src/model.py");
  const std::vector<analysis::SourceFrame> frames = {
      Frame("at::mm", "", 0),
      site,
      interpreter("_PyEval_Vector"),
      interpreter("_PyObject_Call"),
      python("Module._call_impl", "/v/site-packages/torch/nn/modules/module.py"),
      python("train", "/src/train.py"),
      interpreter("_PyEval_Vector"),
      python("main", "/src/train.py")};
  model.SetFrames(frames, site);
  ASSERT_EQ(model.rowCount(), 6);
  EXPECT_EQ(model.frame(0).function, "at::mm") << "few inner frames are shown";
  EXPECT_TRUE(model.IsFold(2));
  EXPECT_EQ(model.index(2, 0).data().toString(), QStringLiteral("3 frames of libraries"));
  EXPECT_EQ(model.frame(3).function, "train");
  EXPECT_EQ(model.frame(4).function, "_PyEval_Vector") << "a fold of one frame would save no space";
  EXPECT_EQ(model.frame(5).function, "main");
  model.Unfold(2);
  ASSERT_EQ(model.rowCount(), 8);
  EXPECT_EQ(model.frame(4).function, "Module._call_impl");
  EXPECT_EQ(model.Text().count(QLatin1Char('\n')), 8);
  // Without a site, no frame is emphasised.
  model.SetFrames(frames, Frame("elsewhere", "", 0));
  EXPECT_EQ(model.rowCount(), 8);
}

}  // namespace
}  // namespace memprof::viewer
