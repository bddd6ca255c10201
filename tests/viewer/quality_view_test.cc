// Findings about a log's reliability, one by one, and how the view shows them.
#include "viewer/views/quality_view.h"

#include <gtest/gtest.h>

#include <QAbstractItemModelTester>

#include "proto/memprof.pb.h"
#include "tests/viewer/table_fixture.h"
#include "tests/viewer/window_fixture.h"

namespace memprof::viewer {
namespace {

using analysis::Layer;
using analysis::testing::LogBuilder;
using testing::Count;
using testing::Csv;
using testing::Grab;

class QualityTest : public testing::WindowFixture {
 protected:
  static void Fill(LogBuilder& log) {
    log.Device(0, 1 << 30, "Some GPU");
    const int site = log.Stack({"main (a.cc:1)", "Train (a.cc:9)"});
    for (std::uint64_t step = 0; step < 3; ++step) {
      log.Step(step);
      log.Alloc(Layer::kLinear, 0x1000, 4096, {.stack = site});
      log.Free(0x1000);
    }
  }
  void Show(const LogBuilder& log, const LogBuilder::WriteOptions& options = {}) {
    const QString path = directory_.filePath(QStringLiteral("own.mprof"));
    ASSERT_TRUE(log.WriteTo(path.toStdString(), options).ok());
    OpenPath(path, ViewKind::kQuality);
    ASSERT_EQ(window_.document().state(), Document::State::kReady);
    view_ = window_.findChild<QualityView*>();
    ASSERT_NE(view_, nullptr);
  }
  // The row of a subject; fails if there is none.
  QualityRow Row(const char* area, const char* subject) {
    for (int i = 0; i < view_->model().rowCount(); ++i) {
      const QualityRow& row = view_->model().row(i);
      if (row.area == QString::fromUtf8(area) && row.subject == QString::fromUtf8(subject))
        return row;
    }
    ADD_FAILURE() << area << ": no " << subject;
    return {};
  }

  QualityView* view_ = nullptr;
};

TEST_F(QualityTest, AWholeLogIsWell) {
  LogBuilder log;
  Fill(log);
  log.SourceState("driver", log::SOURCE_ON);
  log.self().set_events(9);
  log.self().set_events_written(9);
  log.self().set_hook_time_ns(90);
  log.self().set_writer_cpu_ns(1000);
  log.self().set_bytes_written(90);
  Show(log);
  const QAbstractItemModelTester tester(view_->table()->model(),
                                        QAbstractItemModelTester::FailureReportingMode::Fatal);
  EXPECT_TRUE(view_->VerdictText().startsWith(QStringLiteral("All is well")));
  EXPECT_EQ(Row("Anomalies", "none").grade, Grade::kGood);
  EXPECT_EQ(Row("Sources", "driver").finding, QStringLiteral("on"));
  EXPECT_EQ(Row("Completeness", "the log's end").grade, Grade::kGood);
  EXPECT_TRUE(Row("Recorder's cost", "in the program")
                  .finding.startsWith(QStringLiteral("90 ns in its threads: 10 ns per event")));
  EXPECT_TRUE(
      Row("Recorder's cost", "the log").finding.endsWith(QStringLiteral("10.0 bytes per event.")));
  EXPECT_EQ(Row("Clocks", "times").grade, Grade::kGood);
  EXPECT_EQ(Row("Call stacks", "names").finding,
            QStringLiteral("100 % of 2 frames have a function's name."));
  EXPECT_EQ(Row("Steps", "confidence").finding, QStringLiteral("3 steps by marks."));
  EXPECT_EQ(Row("Devices", "device 0").finding, QStringLiteral("Simulated: Some GPU."));
  const QImage image = Grab(view_);
  EXPECT_GT(Count(image, image.rect(), theme().good), 100) << "a green line, and green verdicts";
  EXPECT_EQ(Count(image, image.rect(), theme().danger), 0);
}

TEST_F(QualityTest, WhatWasLostComesFirst) {
  LogBuilder log;
  Fill(log);
  log.Count("frames_of_nobody", 3);  // unknown names come from another version
  log.Count("clock_steps", 2);
  log.Count("events_lost", 1234);
  Show(log);
  EXPECT_EQ(view_->model().row(0).subject, QStringLiteral("events lost"));
  EXPECT_EQ(view_->model().row(0).grade, Grade::kDataLoss);
  EXPECT_EQ(view_->model().row(0).finding, QStringLiteral("1,234"));
  EXPECT_TRUE(view_->model().row(0).advice.contains(QStringLiteral("MEMPROF_RING_EVENTS")));
  EXPECT_EQ(view_->model().row(1).subject, QStringLiteral("clock steps"));
  EXPECT_TRUE(view_->VerdictText().startsWith(
      QStringLiteral("Some of what happened is missing: 1 of data loss, 1 notice")))
      << view_->VerdictText().toStdString();
  const QImage image = Grab(view_);
  EXPECT_GT(Count(image, image.rect(), theme().danger), 50);
}

TEST_F(QualityTest, SourcesSayWhyTheyWereOff) {
  LogBuilder log;
  Fill(log);
  log.SourceState("driver", log::SOURCE_ON);
  log.SourceState("cupti", log::SOURCE_REFUSED, "another profiler has it");
  log.SourceState("host", log::SOURCE_OFF);
  log.SourceState("nvtx", log::SOURCE_LOST);
  log.SourceState("future", 77);
  Show(log);
  EXPECT_EQ(Row("Sources", "cupti").grade, Grade::kNotice);
  EXPECT_EQ(Row("Sources", "cupti").finding, QStringLiteral("refused: another profiler has it"));
  EXPECT_EQ(Row("Sources", "host").grade, Grade::kInfo);
  EXPECT_EQ(Row("Sources", "nvtx").grade, Grade::kDataLoss);
  EXPECT_EQ(Row("Sources", "future").grade, Grade::kNotice);
}

TEST_F(QualityTest, ALogThatWasNotClosedSaysSo) {
  LogBuilder log;
  Fill(log);
  Show(log, {.trailer = false});
  EXPECT_EQ(Row("Completeness", "the log's end").grade, Grade::kNotice);
  EXPECT_TRUE(
      Row("Completeness", "the log's end").finding.startsWith(QStringLiteral("Not closed")));
  EXPECT_EQ(Row("Recorder's cost", "time").grade, Grade::kInfo);
  EXPECT_EQ(Row("Sources", "none named").grade, Grade::kInfo);
}

TEST_F(QualityTest, ABareLogSaysWhatIsMissing) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.Alloc(Layer::kLinear, 0x1000, 4096);
  log.self().set_events(1);
  log.self().set_hook_time_ns(1'000'000'000);  // far more than the run took
  log.SourceState("torch", log::SOURCE_ON);
  Show(log);
  EXPECT_EQ(Row("Call stacks", "frames").grade, Grade::kNotice);
  EXPECT_EQ(Row("Steps", "confidence").grade, Grade::kInfo);
  EXPECT_TRUE(Row("Steps", "confidence").advice.contains(QStringLiteral("memprof_step()")));
  EXPECT_TRUE(Row("Steps", "confidence").advice.contains(QStringLiteral("memprof run --torch")));
  EXPECT_EQ(Row("Recorder's cost", "in the program").grade, Grade::kNotice);
  EXPECT_TRUE(view_->VerdictText().startsWith(QStringLiteral("Nothing is known to be missing")));
}

TEST_F(QualityTest, SeveralProcessesShareOrAlignTheirClocks) {
  QStringList paths;
  for (int i = 0; i < 2; ++i) {
    LogBuilder log;
    Fill(log);
    log.header().set_pid(static_cast<std::uint32_t>(10 + i));
    log.header().set_hostname("node" + std::to_string(i));
    const QString path = directory_.filePath(QStringLiteral("n%1.mprof").arg(i));
    ASSERT_TRUE(log.WriteTo(path.toStdString()).ok());
    paths << path;
  }
  window_.ShowView(ViewKind::kQuality);
  window_.show();
  window_.OpenTogether(paths);
  window_.WaitUntilSettled();
  view_ = window_.findChild<QualityView*>();
  EXPECT_EQ(Row("Clocks", "times").grade, Grade::kInfo);
  EXPECT_EQ(Row("Completeness", "n0.mprof").grade, Grade::kGood);
  EXPECT_EQ(Row("Completeness", "n1.mprof").grade, Grade::kGood);
}

TEST_F(QualityTest, Exports) {
  LogBuilder log;
  Fill(log);
  log.Count("clock_steps", 2);
  Show(log);
  const QStringList lines = Csv(*view_).split(QLatin1Char('\n'), Qt::SkipEmptyParts);
  EXPECT_EQ(lines.size(), view_->model().rowCount() + 1);
  EXPECT_EQ(lines[0], QStringLiteral("area,subject,verdict,finding,advice"));
  EXPECT_TRUE(lines[1].startsWith(QStringLiteral("Anomalies,clock steps,notice,2,")));
}

TEST(QualityModel, SaysAnAreaOnce) {
  QualityModel model;
  const QAbstractItemModelTester tester(&model,
                                        QAbstractItemModelTester::FailureReportingMode::Fatal);
  const QString a = QStringLiteral("A"), b = QStringLiteral("B"), none;
  model.SetRows({{a, QStringLiteral("x"), Grade::kGood, QStringLiteral("fine"), none},
                 {a, QStringLiteral("y"), Grade::kError, QStringLiteral("broken"), a},
                 {b, QStringLiteral("z"), Grade::kInfo, none, none}});
  EXPECT_EQ(testing::PrintColumns(model, {0, 1, 2, 3, 4}),
            QStringList({QStringLiteral("A|x|✓ good|fine|"), QStringLiteral("|y|✕ error|broken|A"),
                         QStringLiteral("B|z|· info||")}));
  EXPECT_EQ(model.index(1, QualityModel::kArea).data(QualityModel::kPlainRole).toString(), a)
      << "in files it is in every row";
  EXPECT_EQ(model.index(1, 0).data(QualityModel::kGradeRole).toInt(),
            static_cast<int>(Grade::kError));
}

TEST(QualityModel, NumbersKeepTheirUnitsOnTheScreen) {
  QualityModel model;
  const QString a = QStringLiteral("A"), plain = QStringLiteral("0.1 % of it");
  model.SetRows({{a, a, Grade::kGood, plain, plain}});
  for (const int column : {QualityModel::kFinding, QualityModel::kAdvice}) {
    EXPECT_EQ(model.index(0, column).data().toString(), QStringLiteral("0.1\u00a0% of it"));
    EXPECT_EQ(model.index(0, column).data(QualityModel::kPlainRole).toString(), plain);
  }
}

TEST(QualityVerdicts, AreAsBadAsTheWorstFinding) {
  const auto judge = [](std::vector<Grade> grades) {
    std::vector<QualityRow> rows;
    for (const Grade grade : grades) rows.push_back({{}, {}, grade, {}, {}});
    return JudgeQuality(rows);
  };
  EXPECT_EQ(judge({}).worst, Grade::kGood);
  EXPECT_TRUE(judge({Grade::kInfo}).text.endsWith(QStringLiteral("1 finding for information.")));
  EXPECT_EQ(judge({Grade::kNotice, Grade::kGood}).worst, Grade::kNotice);
  EXPECT_TRUE(judge({Grade::kError, Grade::kNotice, Grade::kNotice})
                  .text.endsWith(QStringLiteral("did not work: 1 error, 2 notices.")));
}

}  // namespace
}  // namespace memprof::viewer
