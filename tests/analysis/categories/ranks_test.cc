// Categories of several ranks that run at the same time: each rank has the same result as alone.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/categories/categories.h"
#include "analysis/load/load.h"
#include "tests/support/random_log.h"
#include "tests/support/temp_file.h"
#include "tests/support/training_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;
using testing::TrainingOptions;

// The allocations of each rank in order: size and category.
using Made = std::map<std::uint32_t, std::vector<std::pair<std::uint64_t, std::string>>>;

Made MadeIn(const Session& session, int only_rank = -1) {
  // Without stacks, whose evidence depends on the number of programs.
  const Categories categories(session, nullptr, {.stacks = false});
  Made made;
  for (std::uint32_t i = 0; i < session.records().size(); ++i) {
    const AllocationRecord& a = session.record(AllocationId(i));
    const auto rank = only_rank < 0 ? session.ProcessOf(a.birth) : static_cast<unsigned>(only_rank);
    const CategoryVerdict& verdict = categories.Of(AllocationId(i));
    made[rank].emplace_back(a.bytes, std::string(CategoryName(verdict.category)) + " by " +
                                         std::string(CategoryReasonText(verdict.reason)));
  }
  return made;
}

// For example pipeline stages with different layers, some of which share a device.
TEST(CategoryRanksTest, RandomRanksAreJudgedApart) {
  for (std::uint32_t seed = 0; seed < 12; ++seed) {
    const testing::TempDirectory directory;
    std::vector<std::string> paths;
    Made apart;
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      TrainingOptions options;
      options.seed = 3 * seed + rank;
      options.steps = 4 + static_cast<int>(4 * rank);
      options.layers = 2 + static_cast<int>((seed + rank) % 3);
      options.micro_batches = 1 + static_cast<int>(seed % 2);
      options.keep_gradients = (seed + rank) % 4 == 0;
      options.leak = (seed + rank) % 5 == 0;
      options.marks = seed % 6 != 0;  // without marks, the steps of the whole run are used
      LogBuilder log;
      log.header().set_pid(100 + rank);
      log.header().set_hostname("node");
      log.header().set_start_unix_ns(1'000'000'000'000'000'000);
      testing::WriteTrainingRun(options, &log);
      const auto session = LoadLog(log);
      ASSERT_NE(session, nullptr);
      apart.merge(MadeIn(*session, static_cast<int>(rank)));
      paths.push_back(directory.Write(std::to_string(rank) + ".mprof", log.Bytes()));
    }
    const auto together = LoadLogs(paths, {.find_steps = false});
    ASSERT_TRUE(together.ok()) << together.status();
    EXPECT_EQ(MadeIn(**together), apart) << "seed " << seed;
  }
}

}  // namespace
}  // namespace memprof::analysis
