// The comparison of two logs or moments, and its models with Qt's model tester and as text.
#include "viewer/models/diff_model.h"

#include <gtest/gtest.h>

#include "tests/viewer/compare_models.h"
#include "tests/viewer/demo_log.h"
#include "tests/viewer/model_fixture.h"
#include "viewer/models/what_if_model.h"
#include "viewer/models/without_model.h"

namespace memprof::viewer {
namespace {

using analysis::StackId;
using testing::CompareModels;
using testing::kFatal;
using testing::Print;
using testing::S;

TEST_F(CompareModels, TwoRuns) {
  DiffQuestion question;
  question.before = Source(Load(6, false));
  question.after = Source(Load(9, true));
  std::vector<double> told;
  const auto data = Compare(
      question, [&](double share) { told.push_back(share); }, std::stop_token());
  ASSERT_NE(data, nullptr);
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
  EXPECT_EQ(data->before, S("0.mprof, 6 steps"));
  EXPECT_EQ(data->after, S("1.mprof, 9 steps"));
  DiffModel model;
  const QAbstractItemModelTester tester(&model, kFatal);
  model.SetData(data);
  const QStringList lines = Print(model);
  ASSERT_FALSE(lines.isEmpty());
  // The leak is new, with this size at the peak of the last step.
  EXPECT_TRUE(lines.contains(
      S("LossHistory::Append (loss_history.cc:24)|0 B|9.00 MiB|+9.00 MiB||+9|+1.00 MiB|new")))
      << lines.join(QLatin1Char('\n')).toStdString();
  EXPECT_EQ(data->report.steps.size(), 6u);
  DiffFigureModel figures;
  const QAbstractItemModelTester figure_tester(&figures, kFatal);
  figures.SetData(data);
  EXPECT_TRUE(Print(figures).contains(S("steps|6|9|+3|+50 %")));
  question.at = analysis::DiffMoment::kEnd;
  EXPECT_NE(Compare(question, {}, std::stop_token()), nullptr) << "not cancelled";
}

TEST_F(CompareModels, ChangesAreToScale) {
  DiffQuestion question;
  question.before = Source(Load(3, true));
  question.after = Source(Load(9, false));
  DiffModel model;
  model.SetData(Compare(question, {}, std::stop_token()));
  double least = 0, most = 0;
  for (int row = 0; row < model.rowCount(); ++row) {
    const double delta = model.index(row, DiffModel::kBar).data(DiffModel::kDeltaRole).toDouble();
    EXPECT_EQ(delta > 0, model.row(row).change() > 0);
    EXPECT_EQ(delta < 0, model.row(row).change() < 0);
    least = std::min(least, delta);
    most = std::max(most, delta);
    EXPECT_FALSE(model.index(row, DiffModel::kName).data(DiffModel::kDeltaRole).isValid());
  }
  EXPECT_DOUBLE_EQ(std::max(most, -least), 1);
  const auto leak = std::find_if(
      model.shown()->rows.begin(), model.shown()->rows.end(),
      [](const DiffRow& row) { return row.name.startsWith(S(testing::kLeakFunction)); });
  ASSERT_NE(leak, model.shown()->rows.end());
  EXPECT_TRUE(leak->gone);
  EXPECT_EQ(model.FindPlace(leak->place), static_cast<int>(leak - model.shown()->rows.begin()));
  EXPECT_EQ(model.FindPlace(analysis::StackAlignment::kNone), -1);
}

TEST_F(CompareModels, TwoMoments) {
  DiffQuestion question;
  question.moments = true;
  question.after = question.before = Source(Load(10));
  const auto& session = *question.after.session;
  question.from = session.steps()[2].begin;
  question.to = session.steps()[8].begin;
  const auto data = Compare(question, {}, std::stop_token());
  ASSERT_NE(data, nullptr);
  EXPECT_TRUE(data->before.startsWith(S("step 2, "))) << data->before.toStdString();
  EXPECT_TRUE(data->after.startsWith(S("step 8, ")));
  ASSERT_EQ(data->rows.size(), 1u) << "the leak alone";
  EXPECT_EQ(data->rows[0].change(), 6 * static_cast<std::int64_t>(testing::kLeakBytes));
  EXPECT_EQ(data->rows[0].blocks, 6);
  ASSERT_GE(data->figures.size(), 3u);
  EXPECT_EQ(data->figures[0].name, S("driver memory"));
  EXPECT_EQ(data->figures[1].name, S("reserved"));
  question.by = DiffBy::kLayer;
  const auto layers = Compare(question, {}, std::stop_token());
  ASSERT_FALSE(layers->rows.empty());
  for (const DiffRow& row : layers->rows)
    if (row.name == S("block")) {
      EXPECT_EQ(row.change(), 6 * static_cast<std::int64_t>(testing::kLeakBytes));
    }
  question.by = DiffBy::kCategory;
  std::int64_t sum = 0;
  const auto categories = Compare(question, {}, std::stop_token());
  for (const DiffRow& row : categories->rows) sum += row.change();
  EXPECT_EQ(sum, static_cast<std::int64_t>(data->report.figures[0].change()))
      << "categories add up to the device's bytes";
}

TEST_F(CompareModels, AFilterHoldsOnBothSides) {
  DiffQuestion question;
  question.before = Source(Load(4, true, 3));
  question.after = Source(Load(9));
  question.filter.text = "LossHistory";
  const auto data = Compare(question, {}, std::stop_token());
  ASSERT_EQ(data->rows.size(), 1u);
  EXPECT_TRUE(data->rows[0].name.startsWith(S(testing::kLeakFunction)));
  const StackId site = data->rows[0].after_stack;
  ASSERT_NE(site, data->rows[0].before_stack);
  question.filter = {};
  question.filter.site = site;
  const auto alone = Compare(question, {}, std::stop_token());
  ASSERT_EQ(alone->rows.size(), 1u);
  EXPECT_EQ(alone->rows[0].change(), data->rows[0].change()) << "the same place in both logs";
  question.filter = {};
  question.filter.process = 7;  // a process of one log only, so the other side is empty
  EXPECT_EQ(Compare(question, {}, std::stop_token())->rows.size(), 1u);
}

TEST_F(CompareModels, StopsWhenAsked) {
  DiffQuestion question;
  question.before = Source(Load(3));
  question.after = Source(Load(3));
  std::stop_source stop;
  EXPECT_EQ(Compare(
                question, [&](double) { stop.request_stop(); }, stop.get_token()),
            nullptr);
}

TEST_F(CompareModels, FiguresInTheirUnits) {
  using analysis::DiffFigureKind;
  const auto describe = [](DiffFigureKind kind, double before, double after, double variation = 0,
                           int device = analysis::kNoDevice) {
    const DiffFigureRow row = DescribeFigure({kind, device, before, after, variation}, true);
    return QStringList({row.name, row.before, row.after, row.change, row.note})
        .join(QLatin1Char('|'));
  };
  EXPECT_EQ(describe(DiffFigureKind::kPeak, 1024, 2048, 0, 1),
            S("peak, device 1|1.00 KiB|2.00 KiB|+1.00 KiB|+100 %"));
  EXPECT_EQ(describe(DiffFigureKind::kStepTime, 2e9, 1e9, 2e9),
            S("time of a step|2.00 s|1.00 s|-1.00 s|-50 %, within variation"));
  EXPECT_EQ(describe(DiffFigureKind::kFragmentation, 20, 25.5),
            S("free share of segments at their peak|20.0 %|25.5 %|+5.5 %|"));
  EXPECT_EQ(describe(DiffFigureKind::kStepCount, 0, 3), S("allocations in a step|0|3|+3|new"));
  EXPECT_EQ(describe(DiffFigureKind::kGrowth, 7, 7), S("growth per step, of leaks|7 B|7 B|=|"));
}

TEST_F(CompareModels, HeadingsHaveWords) {
  WhatIfModel what_if;
  WithoutModel without;
  DiffModel diff;
  for (const QAbstractItemModel* model :
       std::initializer_list<QAbstractItemModel*>{&what_if, &without, &diff}) {
    for (int column = 0; column < model->columnCount(); ++column) {
      EXPECT_FALSE(model->headerData(column, Qt::Horizontal, Qt::ToolTipRole).toString().isEmpty());
      EXPECT_FALSE(model->headerData(column, Qt::Vertical, Qt::DisplayRole).isValid());
    }
    EXPECT_FALSE(model->headerData(99, Qt::Horizontal, Qt::DisplayRole).isValid());
    EXPECT_FALSE(model->data({}, Qt::DisplayRole).isValid());
  }
}

}  // namespace
}  // namespace memprof::viewer
