// Grids of a fleet: what is read, what follows from it, and files that are none.
#include "viewer/models/fleet_grid.h"

#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QTemporaryDir>
#include <cmath>

#include "tests/viewer/fleet_file.h"
#include "tests/viewer/table_fixture.h"
#include "viewer/models/fleet_rank_model.h"

namespace memprof::viewer {
namespace {

using testing::FileRank;
using testing::FleetBytes;
using testing::FleetHead;
using testing::FourSteps;
using testing::kMiBytes;
using testing::WriteBytes;

class FleetGridTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::shared_ptr<const FleetGrid>> Read(const QByteArray& bytes) {
    const QString path = directory_.filePath(QStringLiteral("grid"));
    EXPECT_TRUE(WriteBytes(path, bytes));
    return ReadFleetGrid(path);
  }
  // The head with one field changed.
  QByteArray With(const char* field, const QJsonValue& value) {
    QJsonObject head = FleetHead(FourSteps(), 4);
    head[QString::fromUtf8(field)] = value;
    return FleetBytes(head, FourSteps());
  }
  QByteArray TooManyCells() {
    QJsonObject head = FleetHead(FourSteps(), 1'000'000);
    QJsonArray rows;
    for (int i = 0; i < 300; ++i) rows.append(QJsonObject());
    head[QStringLiteral("rows")] = rows;
    return FleetBytes(head, {});
  }
  std::shared_ptr<const FleetGrid> Good() {
    const auto grid = Read(FleetBytes(FleetHead(FourSteps(), 4), FourSteps()));
    EXPECT_TRUE(grid.ok()) << grid.status();
    return *grid;
  }

  QTemporaryDir directory_;
};

TEST_F(FleetGridTest, HasWhatTheFileHas) {
  const auto grid = Good();
  EXPECT_EQ(grid->job, QStringLiteral("4711"));
  EXPECT_EQ(grid->attempt, 1);
  EXPECT_EQ(grid->jobs.size(), 3u);
  EXPECT_EQ(grid->figures.size(), 3);
  EXPECT_TRUE(grid->bytes);
  ASSERT_EQ(grid->rows.size(), 5u);
  EXPECT_EQ(grid->rows[0].Name(), QStringLiteral("rank 2"));
  EXPECT_EQ(grid->rows[0].typical, 1u);
  EXPECT_EQ(grid->rows[0].highest, 130 * kMiBytes);
  EXPECT_EQ(grid->rows[4].stage, std::nullopt);
  EXPECT_EQ(grid->rows[4].typical, std::nullopt);
  EXPECT_EQ(grid->rows[4].highest, 80 * kMiBytes);
  EXPECT_TRUE(std::isnan(grid->values.back()));
  EXPECT_EQ(grid->StepName(3), QStringLiteral("step 13"));
  EXPECT_EQ(grid->MedianOf(3), 100 * kMiBytes) << "of 130, 100, 98 and 100";
  EXPECT_EQ(grid->MedianOf(4 * 4), 80 * kMiBytes) << "a rank without a stage has peers of its own";
  EXPECT_EQ(grid->limit, 30 * kMiBytes);
  EXPECT_EQ(grid->least, 80 * kMiBytes);
  EXPECT_EQ(grid->most, 130 * kMiBytes);
  EXPECT_EQ(grid->Order(false), (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(grid->Order(true), (std::vector<std::uint32_t>{1, 2, 0, 3, 4}));
}

TEST_F(FleetGridTest, ColoursAreNeitherOfNoiseNorOfOneExtremeRank) {
  std::vector<FileRank> ranks = FourSteps();
  for (double& value : ranks[0].values) value = 100.1 * kMiBytes;
  for (double& value : ranks[2].values) value = 100 * kMiBytes;
  EXPECT_DOUBLE_EQ((*Read(FleetBytes(FleetHead(ranks, 4), ranks)))->limit, 2 * kMiBytes);
  for (double& value : ranks[0].values) value = 1e6 * kMiBytes;
  EXPECT_DOUBLE_EQ((*Read(FleetBytes(FleetHead(ranks, 4), ranks)))->limit, 50 * kMiBytes);
}

TEST_F(FleetGridTest, ColumnsOfSeveralStepsAndTimesHaveTheirNames) {
  QJsonObject head = FleetHead(FourSteps(), 4);
  head[QStringLiteral("step_stride")] = 8;
  head[QStringLiteral("unit")] = QStringLiteral("ns");
  const auto grid = Read(FleetBytes(head, FourSteps()));
  ASSERT_TRUE(grid.ok());
  EXPECT_EQ((*grid)->StepName(1), QStringLiteral("highest of steps 18 to 25"));
  EXPECT_EQ((*grid)->Text(1.5e9), QStringLiteral("1.50 s"));
  EXPECT_EQ((*grid)->Signed(-1.5e9), QStringLiteral("−1.50 s"));
  EXPECT_EQ((*grid)->Signed(0), QStringLiteral("0 ns"));
}

TEST_F(FleetGridTest, AJobWithoutStepsIsRead) {
  std::vector<FileRank> ranks = FourSteps();
  for (FileRank& rank : ranks) rank.values.clear();
  const auto grid = Read(FleetBytes(FleetHead(ranks, 0), ranks));
  ASSERT_TRUE(grid.ok()) << grid.status();
  EXPECT_EQ((*grid)->columns, 0u);
  EXPECT_TRUE(std::isnan((*grid)->rows[0].highest));
}

TEST_F(FleetGridTest, ValuesThatCannotBeAreNone) {
  std::vector<FileRank> ranks = FourSteps();
  ranks[0].values = {INFINITY, -INFINITY, 1e300, -1e300};
  const auto grid = Read(FleetBytes(FleetHead(ranks, 4), ranks));
  ASSERT_TRUE(grid.ok());
  EXPECT_TRUE(std::isnan((*grid)->rows[0].highest));
  EXPECT_EQ((*grid)->most, 100 * kMiBytes);
}

TEST_F(FleetGridTest, FieldsThatCannotBeAreLeftOut) {
  QJsonObject head = FleetHead(FourSteps(), 4);
  QJsonArray rows = head[QStringLiteral("rows")].toArray();
  rows[0] = QJsonObject{{QStringLiteral("rank"), 1.5},
                        {QStringLiteral("stage"), 1e300},
                        {QStringLiteral("typical"), 5},
                        {QStringLiteral("log"), QJsonArray()}};
  rows[1] = QStringLiteral("no row");
  rows[2] = QJsonObject{{QStringLiteral("typical"), 2}, {QStringLiteral("rank"), -3}};
  head[QStringLiteral("rows")] = rows;
  const auto grid = Read(FleetBytes(head, FourSteps()));
  ASSERT_TRUE(grid.ok());
  EXPECT_EQ((*grid)->rows[0].rank, std::nullopt);
  EXPECT_EQ((*grid)->rows[0].stage, std::nullopt);
  EXPECT_EQ((*grid)->rows[0].typical, std::nullopt) << "there is no row 5";
  EXPECT_EQ((*grid)->rows[1].log, QString());
  EXPECT_EQ((*grid)->rows[2].typical, std::nullopt) << "itself";
  EXPECT_EQ((*grid)->rows[2].rank, -3);
}

TEST_F(FleetGridTest, FilesThatAreNoneGiveOneLine) {
  const QByteArray good = FleetBytes(FleetHead(FourSteps(), 4), FourSteps());
  const qsizetype line = good.indexOf('\n') + 1;
  const struct {
    const char* what;
    QByteArray bytes;
    const char* says;
  } cases[] = {
      {"empty", {}, "no grid"},
      {"foreign", QByteArray(5000, 'x'), "no grid"},
      {"another JSON", "[1]\n", "no grid"},
      {"broken JSON", "{\"grid\":1,\n", "no grid"},
      {"deep JSON", QByteArray(100000, '[') + '\n', "no grid"},
      {"half a line", good.left(line / 2), "no grid"},
      {"no grid", good.left(line), "0 bytes instead of 160"},
      {"cut", good.left(good.size() - 1), "159 bytes instead of 160"},
      {"longer", good + 'x', "161 bytes"},
      {"of the future", With("grid", 2), "version 2"},
      {"another unit", With("unit", QStringLiteral("miles")), "unit"},
      {"too many columns", With("columns", 1e15), "cannot be"},
      {"huge columns", With("columns", 1e300), "cannot be"},
      {"negative columns", With("columns", -4), "cannot be"},
      {"columns as text", With("columns", QStringLiteral("4")), "cannot be"},
      {"no stride", With("step_stride", 0), "cannot be"},
      {"a stride that overflows", With("step_stride", 9e15), "cannot be"},
      {"too many cells", TooManyCells(), "cannot be"},
      {"no rows", With("rows", QJsonArray()), "cannot be"},
      {"negative attempt", With("attempt", -1), "cannot be"},
      {"no first step", With("first_step", QJsonValue()), "cannot be"},
  };
  for (const auto& [what, bytes, says] : cases) {
    const auto grid = Read(bytes);
    ASSERT_FALSE(grid.ok()) << what;
    const std::string message(grid.status().message());
    EXPECT_NE(message.find(says), std::string::npos) << what << ": " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
  EXPECT_FALSE(ReadFleetGrid(directory_.filePath(QStringLiteral("missing"))).ok());
  EXPECT_FALSE(ReadFleetGrid(directory_.path()).ok());
}

TEST_F(FleetGridTest, SaysWhereALogIsThatIsNotHere) {
  FleetRow row;
  row.rank = 7;
  row.host = QStringLiteral("node1");
  EXPECT_TRUE(WhyNotHere(row).contains(QStringLiteral("do not say")));
  row.log = QStringLiteral("s3://bucket/7.mprof");
  EXPECT_TRUE(WhyNotHere(row).contains(QStringLiteral("s3://bucket/7.mprof")));
  row.log = directory_.filePath(QStringLiteral("7.mprof"));
  EXPECT_TRUE(WhyNotHere(row).contains(row.log));
  EXPECT_TRUE(WhyNotHere(row).contains(QStringLiteral("node1")));
  ASSERT_TRUE(WriteBytes(row.log, "x"));
  EXPECT_EQ(WhyNotHere(row), QString());
}

TEST_F(FleetGridTest, TheTableFollowsTheOrder) {
  FleetRankModel model;
  const QAbstractItemModelTester tester(&model,
                                        QAbstractItemModelTester::FailureReportingMode::Fatal);
  const auto grid = Good();
  model.SetGrid(grid, grid->Order(true));
  EXPECT_EQ(
      testing::PrintColumns(model, {0, 1, 2, 3, 4}),
      QStringList({QStringLiteral("0|0|0|100 MiB|node0"), QStringLiteral("1|0|−0.5|98.0 MiB|node0"),
                   QStringLiteral("2|0|+16.6|130 MiB|node0"), QStringLiteral("3|0|0|100 MiB|node0"),
                   QStringLiteral("5|–|0|80.0 MiB|node1")}));
  EXPECT_EQ(model.PlaceOf(0), 2);
  EXPECT_EQ(model.PlaceOf(9), std::nullopt);
  model.SetGrid(grid, grid->Order(false));
  EXPECT_EQ(testing::PrintColumns(model, {0}, 2),
            QStringList({QStringLiteral("2"), QStringLiteral("0")}));
  EXPECT_EQ(model.index(0, FleetRankModel::kHighest).data(FleetRankModel::kPlainRole).toString(),
            QStringLiteral("136314880"));
  EXPECT_EQ(model.index(4, FleetRankModel::kStage).data(FleetRankModel::kPlainRole).toString(),
            QString());
  EXPECT_TRUE(model.index(0, FleetRankModel::kDistance).data(Qt::FontRole).isValid()) << "apart";
  EXPECT_FALSE(model.index(2, FleetRankModel::kDistance).data(Qt::FontRole).isValid());
}

}  // namespace
}  // namespace memprof::viewer
