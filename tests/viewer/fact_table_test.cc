// Facts as a table, tested with Qt's model tester and as text.
#include "viewer/models/fact_table.h"

#include <gtest/gtest.h>

#include "analysis/base/sizes.h"
#include "tests/viewer/model_fixture.h"

namespace memprof::viewer {
namespace {

using analysis::AllocationId;
using analysis::kMiB;
using analysis::StackId;
using testing::kFatal;
using testing::Lines;
using testing::Print;

FactRow Row(const char* name, std::uint64_t bytes, std::uint32_t allocation, std::uint32_t site) {
  FactRow row;
  row.cells = {QString::fromUtf8(name), FactCell::Bytes(bytes)};
  row.allocation = AllocationId(allocation);
  row.site = StackId(site);
  row.key = bytes;
  return row;
}

TEST(FactTable, SortsByWhatItMeansAndFindsRows) {
  FactTable table({{QStringLiteral("Name"), false, {}}, {QStringLiteral("Size"), true, {}}});
  const QAbstractItemModelTester tester(&table, kFatal);
  table.SetRows({Row("b", 2048, 1, 7), Row("c", 512, 2, 7), Row("a", 1 << 20, 3, 9)}, 1);
  EXPECT_EQ(Print(table), Lines({"b|2.00 KiB", "c|512 B", "a|1.00 MiB"}));
  const QPersistentModelIndex kept = table.index(1, 0);
  table.sort(1, Qt::DescendingOrder);
  EXPECT_EQ(Print(table), Lines({"a|1.00 MiB", "b|2.00 KiB", "c|512 B"}));
  EXPECT_EQ(kept.data().toString(), QStringLiteral("c"));
  table.sort(0, Qt::AscendingOrder);
  EXPECT_EQ(Print(table), Lines({"a|1.00 MiB", "b|2.00 KiB", "c|512 B"}));
  table.sort(-1, Qt::AscendingOrder);
  EXPECT_EQ(Print(table), Lines({"b|2.00 KiB", "c|512 B", "a|1.00 MiB"}));
  EXPECT_EQ(table.Find(AllocationId(3), {}), 2);
  EXPECT_EQ(table.Find({}, StackId(7)), 0);
  EXPECT_EQ(table.Find(AllocationId(99), StackId(98)), -1);
  EXPECT_EQ(table.FindKey(512), 1);
  EXPECT_EQ(table.index(2, 1).data(FactTable::kShareRole).toDouble(), 1.0);
  EXPECT_NEAR(table.index(0, 1).data(FactTable::kShareRole).toDouble(), 2048.0 / kMiB, 1e-9);
  EXPECT_FALSE(table.index(0, 0).data(FactTable::kShareRole).isValid());
  EXPECT_EQ(table.RawRow(2), Lines({"a", "1048576"}));
  EXPECT_EQ(table.index(2, 0).data().toString(), QStringLiteral("a"));
  EXPECT_EQ(table.index(2, 1).data().toString(), QStringLiteral("1.00 MiB"));
}

}  // namespace
}  // namespace memprof::viewer
