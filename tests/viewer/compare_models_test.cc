// Models of comparisons: under Qt's own checker, and as text.
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QFont>
#include <QSignalSpy>

#include "analysis/load/load.h"
#include "analysis/testing/log_builder.h"
#include "tests/viewer/demo_log.h"
#include "viewer/models/diff_model.h"
#include "viewer/models/what_if_model.h"
#include "viewer/models/without_model.h"

namespace memprof::viewer {
namespace {

using analysis::DeviceReplay;
using analysis::Session;
using analysis::StackId;
using analysis::WhatIf;
using analysis::WithoutBy;

constexpr auto kFatal = QAbstractItemModelTester::FailureReportingMode::Fatal;
constexpr std::uint64_t kMiB = 1u << 20;

QStringList Print(const QAbstractItemModel& model) {
  QStringList lines;
  for (int row = 0; row < model.rowCount(); ++row) {
    QStringList cells;
    for (int column = 0; column < model.columnCount(); ++column)
      cells << model.index(row, column).data().toString();
    lines << cells.join(QLatin1Char('|'));
  }
  return lines;
}

// To be compared, and to be read where it differs.
std::string Show(const QStringList& lines) { return lines.join(QLatin1Char('\n')).toStdString(); }

QString Text(const char* utf8) { return QString::fromUtf8(utf8); }

class CompareModels : public ::testing::Test {
 protected:
  // The demo's log with so many steps.
  // `stacks`: so many that are of no use come first, so that stacks have other numbers.
  std::shared_ptr<const Session> Load(int steps, bool leak = true, int stacks = 0) {
    const QString path = directory_.filePath(QStringLiteral("%1.mprof").arg(loaded_++));
    analysis::testing::LogBuilder log;
    for (int i = 0; i < stacks; ++i) {
      const std::string name = "Unused" + std::to_string(i) + " (unused.cc:1)";
      log.Stack({name, name, name});
    }
    testing::FillDemoLog(log, {.steps = steps, .leak = leak});
    EXPECT_TRUE(log.WriteTo(path.toStdString()).ok());
    auto session = analysis::LoadLogs({path.toStdString()}, {.find_steps = false});
    EXPECT_TRUE(session.ok());
    return *session;
  }
  static DiffSource Source(const std::shared_ptr<const Session>& session) {
    return {session, std::make_shared<analysis::Symbols>(session), nullptr};
  }

  QTemporaryDir directory_;
  int loaded_ = 0;
};

// A replay by hand: 64 MiB recorded, one other done and one still to come.
DeviceReplay Replay() {
  DeviceReplay replay;
  replay.device = 0;
  replay.requests = 7;
  replay.streams = 1;
  replay.recorded.peak_reserved = 64 * kMiB;
  replay.recorded.allocated_at_peak = 48 * kMiB;
  replay.recorded.peak_segments = 4;
  replay.recorded_driver_calls = 9;
  replay.recorded_reserved = {{10, 64 * kMiB}};
  replay.replayed.figures = replay.recorded;
  replay.replayed.done = true;
  WhatIf done;
  done.spec = *analysis::allocators::ParseSpec("caching:expandable");
  done.figures.peak_reserved = 60 * kMiB;
  done.figures.allocated_at_peak = 54 * kMiB;
  done.figures.peak_segments = 2;
  done.driver_calls = 3;
  done.saving = 4 * static_cast<std::int64_t>(kMiB);
  done.done = true;
  done.reserved = {{10, 60 * kMiB}};
  WhatIf coming;
  coming.spec = *analysis::allocators::ParseSpec("bfc");
  replay.others = {done, coming};
  replay.max_live = 50 * kMiB;
  return replay;
}

TEST_F(CompareModels, AllocatorsSideBySide) {
  const auto session = Load(2);
  WhatIfModel model;
  const QAbstractItemModelTester tester(&model, kFatal);
  EXPECT_EQ(Show(Print(model)), Show(QStringList()));
  model.SetDevice(DescribeReplay(*session, Replay(), false));
  EXPECT_EQ(
      Show(Print(model)),
      Show(QStringList({Text("as recorded|64.0 MiB||25 %|||4|9|"),
                        Text("caching, replayed as recorded|64.0 MiB||25 %|0|exact|4||"),
                        Text("caching:expandable|60.0 MiB||10 %|+4.00 MiB (6.2 %)|exact|2|3|"),
                        Text("bfc|…|||||||")})));
  DeviceReplay replay = Replay();
  replay.capacity = 62 * kMiB;
  replay.placement.height = 52 * kMiB;
  replay.residual = -static_cast<std::int64_t>(kMiB);
  replay.others[1].done = true;
  replay.others[1].fits = false;
  replay.others[1].figures.peak_reserved = 62 * kMiB;
  replay.others[1].figures.failed_bytes = 3 * kMiB;
  model.SetDevice(DescribeReplay(*session, replay, true));
  EXPECT_EQ(
      Show(Print(model).mid(2)),
      Show(QStringList({Text("caching:expandable|60.0 MiB||10 %|+4.00 MiB (6.2 %)|± 1.00 MiB|2|3|"
                             "yes"),
                        Text("bfc|62.0 MiB||100 %|0|± 1.00 MiB|||no"),
                        Text("offline optimum|52.0 MiB||3.8 %|+12.0 MiB (19 %)|± 1.00 MiB|||"),
                        Text("bound: most alive|50.0 MiB||0 %|+14.0 MiB (22 %)|± 1.00 MiB|||")})));
  EXPECT_TRUE(model.index(3, 0).data(Qt::ToolTipRole).toString().contains(Text("3.00 MiB")));
  model.SetDevice({});
  EXPECT_EQ(model.rowCount(), 0);
}

TEST_F(CompareModels, VerdictsSayHowWellTheRecordedOneIsKnown) {
  const auto session = Load(2);
  const auto verdict = [&](const DeviceReplay& replay) {
    return DescribeReplay(*session, replay, true).verdict;
  };
  DeviceReplay replay = Replay();
  EXPECT_TRUE(verdict(replay).contains(Text("the recorded peak exactly")));
  replay.residual = static_cast<std::int64_t>(kMiB);
  EXPECT_TRUE(verdict(replay).contains(Text("1.00 MiB more than the recorded peak")));
  EXPECT_TRUE(verdict(replay).contains(Text("in doubt")));
  replay.uncertain = true;
  EXPECT_TRUE(verdict(replay).contains(Text("take savings with care")));
  replay.samples = 5;
  EXPECT_TRUE(verdict(replay).contains(Text("at the worst of 5 samples")));
  replay.residual = 0;
  EXPECT_TRUE(verdict(replay).contains(Text("5 samples of free memory agree exactly")));
  replay.unchecked = true;
  EXPECT_TRUE(verdict(replay).contains(Text("nothing checks")));
  EXPECT_EQ(DescribeReplay(*session, replay, true).doubt, Text("unchecked"));
  replay.origin = analysis::SpecOrigin::kEnvironment;
  EXPECT_TRUE(verdict(replay).contains(Text("as the recorded environment says")));
}

TEST_F(CompareModels, OwnConfigurationsComeBeforeTheLimits) {
  const auto session = Load(2);
  WhatIfDevice device = DescribeReplay(*session, Replay(), true);
  DeviceReplay own = Replay();
  own.others.pop_back();
  own.others[0].spec = *analysis::allocators::ParseSpec("pool");
  own.others[0].figures.peak_reserved = 70 * kMiB;
  own.others[0].saving = 12345;  // against another model of what was recorded: not of use
  AddOwn(own, &device);
  ASSERT_EQ(device.rows.size(), 6u);
  EXPECT_EQ(device.rows[4].name, Text("pool"));
  EXPECT_TRUE(device.rows[4].own);
  EXPECT_EQ(device.rows[4].saving, -6 * static_cast<std::int64_t>(kMiB));
  EXPECT_EQ(device.rows[5].kind, WhatIfRow::Kind::kBound);
  own.others[0].figures.peak_reserved = 71 * kMiB;
  AddOwn(own, &device);
  ASSERT_EQ(device.rows.size(), 6u) << "replaced";
  EXPECT_EQ(device.rows[4].reserved, 71 * kMiB);
  WhatIfDevice empty;
  AddOwn(own, &empty);
  EXPECT_TRUE(empty.rows.empty());
}

TEST_F(CompareModels, TheScaleEndsAtTheCapacityWhereThatIsNear) {
  const auto session = Load(2);
  WhatIfDevice device = DescribeReplay(*session, Replay(), true);
  EXPECT_EQ(ScaleOf(device).most, 64 * kMiB);
  EXPECT_EQ(ScaleOf(device).recorded, 64 * kMiB);
  EXPECT_FALSE(ScaleOf(device).capacity_shown);
  EXPECT_EQ(ScaleOf(device).beyond, 0) << "there is none";
  device.capacity = 128 * kMiB;
  EXPECT_TRUE(ScaleOf(device).capacity_shown);
  EXPECT_EQ(ScaleOf(device).most, 128 * kMiB);
  device.capacity = 32 * kMiB;
  EXPECT_TRUE(ScaleOf(device).capacity_shown);
  EXPECT_EQ(ScaleOf(device).most, 64 * kMiB);
  device.capacity = 640 * kMiB;
  EXPECT_FALSE(ScaleOf(device).capacity_shown);
  EXPECT_DOUBLE_EQ(ScaleOf(device).beyond, 10);
  EXPECT_EQ(ScaleOf({}).most, 1u);
}

TEST_F(CompareModels, TickedRowsHaveColoursOfTheirOwn) {
  const auto session = Load(2);
  WhatIfModel model;
  const QAbstractItemModelTester tester(&model, kFatal);
  model.SetDevice(DescribeReplay(*session, Replay(), true));
  QSignalSpy spy(&model, &WhatIfModel::DrawnChanged);
  const QModelIndex cell = model.index(2, WhatIfModel::kName);
  EXPECT_EQ(cell.data(Qt::CheckStateRole).toInt(), Qt::Unchecked);
  EXPECT_EQ(model.ColorOf(2), -1);
  EXPECT_TRUE(model.setData(cell, Qt::Checked, Qt::CheckStateRole));
  EXPECT_EQ(spy.count(), 1);
  EXPECT_TRUE(model.Drawn(2));
  EXPECT_EQ(model.ColorOf(2), 0);
  model.SetDrawn(0, true);
  EXPECT_EQ(model.ColorOf(0), -1) << "what was recorded has the colour of text";
  model.SetDrawn(3, true);
  EXPECT_EQ(model.ColorOf(3), 1);
  model.SetDrawn(2, false);
  model.SetDrawn(4, true);
  EXPECT_EQ(model.ColorOf(4), 0) << "a colour that is free again";
  model.SetDevice(DescribeReplay(*session, Replay(), true));
  EXPECT_TRUE(model.Drawn(3)) << "kept by name";
  EXPECT_FALSE(model.setData(model.index(2, 1), Qt::Checked, Qt::CheckStateRole));
  EXPECT_FALSE(model.index(3, 0).data(Qt::CheckStateRole).isValid()) << "nothing to draw yet";
  EXPECT_FALSE(model.flags(model.index(3, 0)).testFlag(Qt::ItemIsUserCheckable));
  EXPECT_TRUE(model.flags(cell).testFlag(Qt::ItemIsUserCheckable));
}

TEST_F(CompareModels, SharesWithTheirSign) {
  EXPECT_EQ(SignedShare(0, 10), Text("0"));
  EXPECT_EQ(SignedShare(512, 1024), Text("+512 B (50 %)"));
  EXPECT_EQ(SignedShare(-2048, 1024), Text("-2.00 KiB (200 %)"));
  EXPECT_EQ(SignedShare(-2048, 0), Text("-2.00 KiB"));
  EXPECT_EQ(SignedBytes(0), Text("="));
  EXPECT_EQ(SignedBytes(1024), Text("+1.00 KiB"));
  EXPECT_EQ(SignedBytes(-512), Text("-512 B"));
}

analysis::WithoutRanking Ranking() {
  analysis::WithoutRanking ranking;
  ranking.peak.bytes = 1000;
  ranking.row_of = {analysis::kNoGroup, 0, 1, 2, 2};
  for (int i = 0; i < 3; ++i) {
    analysis::WithoutRow row;
    row.site.function = "Site" + std::to_string(i);
    row.site.file = "a.cc";
    row.site.line = i + 1;
    row.stack = StackId(static_cast<std::uint32_t>(i) + 1);
    row.allocations = 3;
    row.at_peak = 500;
    row.saving.saves_bytes = 500u >> i;
    row.saving.without.bytes = 1000 - row.saving.saves_bytes;
    ranking.rows.push_back(row);
  }
  return ranking;
}

TEST_F(CompareModels, TheSelectedSiteComesFirst) {
  const auto session = Load(2);
  WithoutModel model;
  const QAbstractItemModelTester tester(&model, kFatal);
  EXPECT_EQ(Show(Print(model)), Show(QStringList()));
  model.SetData(DescribeWithout(*session, Ranking(), WithoutBy::kSite));
  const QStringList by_saving = {Text("Site0 (a.cc:1)|3|500 B|500 B|500 B|50 %|–"),
                                 Text("Site1 (a.cc:2)|3|500 B|750 B|250 B|25 %|–"),
                                 Text("Site2 (a.cc:3)|3|500 B|875 B|125 B|12 %|–")};
  EXPECT_EQ(Show(Print(model)), Show(by_saving));
  EXPECT_FALSE(model.first_is_selected());
  model.SetSelected(StackId(4));
  EXPECT_TRUE(model.first_is_selected());
  EXPECT_EQ(Show(Print(model)), Show(QStringList({by_saving[2], by_saving[0], by_saving[1]})));
  EXPECT_TRUE(model.index(0, 0).data(Qt::FontRole).value<QFont>().bold());
  EXPECT_FALSE(model.index(1, 0).data(Qt::FontRole).isValid());
  EXPECT_EQ(model.row(0).site.line, 3);
  EXPECT_DOUBLE_EQ(model.index(0, WithoutModel::kSaves).data(WithoutModel::kShareRole).toDouble(),
                   0.125);
  model.SetData(DescribeWithout(*session, Ranking(), WithoutBy::kSite));
  EXPECT_TRUE(model.first_is_selected()) << "also of the next ranking";
  for (const StackId none : {StackId(), StackId(0), StackId(99)}) {
    model.SetSelected(none);
    EXPECT_EQ(Show(Print(model)), Show(by_saving));
  }
  model.SetData(nullptr);
  EXPECT_EQ(model.rowCount(), 0);
}

TEST_F(CompareModels, GroupsAreNamedByWhatTheyAre) {
  const auto session = Load(2);
  analysis::WithoutRanking ranking = Ranking();
  ranking.rows.resize(1);
  ranking.rows[0].tensor = "h.0.attn";
  ranking.rows[0].category = analysis::Category::kGradients;
  ranking.rows[0].layer = analysis::Layer::kPinned;
  ranking.rows[0].saving.without.event = analysis::EventId(3);
  const auto name = [&](WithoutBy by) { return DescribeWithout(*session, ranking, by)->names[0]; };
  EXPECT_EQ(name(WithoutBy::kTensor), Text("h.0.attn"));
  EXPECT_EQ(name(WithoutBy::kCategory), Text("gradients"));
  EXPECT_EQ(name(WithoutBy::kLayer), Text("pinned"));
  EXPECT_EQ(DescribeWithout(*session, ranking, WithoutBy::kSite)->when[0], Text("set-up"));
  ranking.rows[0].site = {};
  EXPECT_EQ(name(WithoutBy::kSite), Text("(no call stack)"));
}

TEST_F(CompareModels, TwoRuns) {
  DiffQuestion question;
  question.before = Source(Load(6, false));
  question.after = Source(Load(9, true));
  std::vector<double> told;
  const auto data = Compare(
      question, [&](double share) { told.push_back(share); }, std::stop_token());
  ASSERT_NE(data, nullptr);
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
  EXPECT_EQ(data->before, Text("0.mprof, 6 steps"));
  EXPECT_EQ(data->after, Text("1.mprof, 9 steps"));
  DiffModel model;
  const QAbstractItemModelTester tester(&model, kFatal);
  model.SetData(data);
  const QStringList lines = Print(model);
  ASSERT_FALSE(lines.isEmpty());
  // The leak is new: so much at the peak of the last step.
  EXPECT_TRUE(lines.contains(
      Text("LossHistory::Append (loss_history.cc:24)|0 B|9.00 MiB|+9.00 MiB||+9|+1.00 MiB|new")))
      << lines.join(QLatin1Char('\n')).toStdString();
  EXPECT_EQ(data->report.steps.size(), 6u);
  DiffFigureModel figures;
  const QAbstractItemModelTester figure_tester(&figures, kFatal);
  figures.SetData(data);
  EXPECT_TRUE(Print(figures).contains(Text("steps|6|9|+3|+50 %")));
  question.at = analysis::DiffMoment::kEnd;
  EXPECT_NE(Compare(question, {}, std::stop_token()), nullptr) << "nobody waits";
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
      [](const DiffRow& row) { return row.name.startsWith(Text(testing::kLeakFunction)); });
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
  EXPECT_TRUE(data->before.startsWith(Text("step 2, "))) << data->before.toStdString();
  EXPECT_TRUE(data->after.startsWith(Text("step 8, ")));
  ASSERT_EQ(data->rows.size(), 1u) << "the leak alone";
  EXPECT_EQ(data->rows[0].change(), 6 * static_cast<std::int64_t>(testing::kLeakBytes));
  EXPECT_EQ(data->rows[0].blocks, 6);
  ASSERT_GE(data->figures.size(), 3u);
  EXPECT_EQ(data->figures[0].name, Text("live"));
  EXPECT_EQ(data->figures[1].name, Text("reserved"));
  question.by = DiffBy::kLayer;
  const auto layers = Compare(question, {}, std::stop_token());
  ASSERT_FALSE(layers->rows.empty());
  for (const DiffRow& row : layers->rows)
    if (row.name == Text("block")) {
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
  EXPECT_TRUE(data->rows[0].name.startsWith(Text(testing::kLeakFunction)));
  const StackId site = data->rows[0].after_stack;
  ASSERT_NE(site, data->rows[0].before_stack);
  question.filter = {};
  question.filter.site = site;
  const auto alone = Compare(question, {}, std::stop_token());
  ASSERT_EQ(alone->rows.size(), 1u);
  EXPECT_EQ(alone->rows[0].change(), data->rows[0].change()) << "the same place of both";
  question.filter = {};
  question.filter.process = 7;  // of one log: the other knows nothing of it
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
            Text("peak, device 1|1.00 KiB|2.00 KiB|+1.00 KiB|+100 %"));
  EXPECT_EQ(describe(DiffFigureKind::kStepTime, 2e9, 1e9, 2e9),
            Text("time of a step|2.00 s|1.00 s|-1.00 s|-50 %, within variation"));
  EXPECT_EQ(describe(DiffFigureKind::kFragmentation, 20, 25.5),
            Text("free share of segments at their peak|20.0 %|25.5 %|+5.5 %|"));
  EXPECT_EQ(describe(DiffFigureKind::kStepCount, 0, 3), Text("allocations in a step|0|3|+3|new"));
  EXPECT_EQ(describe(DiffFigureKind::kGrowth, 7, 7), Text("growth per step, of leaks|7 B|7 B|=|"));
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
