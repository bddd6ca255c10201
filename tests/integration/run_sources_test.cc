// `memprof run --sources`: the log shows the text of sources that are gone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "analysis/symbols/kept_sources.h"
#include "tests/integration/run_command.h"

namespace memprof::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(RunSources, KeepsTheTextOfAPythonProgram) {
  if (MEMPROF_IS_SANITIZED) GTEST_SKIP() << "the interpreter is not sanitized";
  const TempDirectory directory;
  const std::string text =
      "import ctypes\n"
      "cuda = ctypes.CDLL('libcudart.so.13')\n"
      "cuda.cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(1 << 20))\n";
  std::ofstream(directory.File("train.py")) << text;
  const GuestResult run = MemprofRun(directory, {"run", "-o", "a.mprof", "--sim", "--sources", "--",
                                                 MEMPROF_TEST_PYTHON, "train.py"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("memprof: kept the text of 1 source file\n"));
  std::filesystem::remove(directory.File("train.py"));
  const auto session = analysis::LoadLogs({directory.File("a.mprof")});
  ASSERT_TRUE(session.ok()) << session.status();
  const auto kept = analysis::KeptSourcesOf(**session);
  ASSERT_EQ(kept->size(), 1u);
  EXPECT_THAT(kept->begin()->first, EndsWith("/train.py"));
  EXPECT_EQ(kept->begin()->second, text);
  EXPECT_TRUE((*session)->run().complete);
}

TEST(RunSources, LeavesALogWithoutAnEndAlone) {
  const TempDirectory directory;
  const std::string killed = GuestPath("guest_runtime_life") +
                             " loop 9 > out & pid=$!; until grep -q done out; do sleep 0.05; done; "
                             "kill -KILL $pid; wait $pid";
  const GuestResult run = MemprofRun(
      directory, {"run", "-o", "a.mprof", "--sim", "--sources", "--", "/bin/sh", "-c", killed});
  EXPECT_THAT(run.err, HasSubstr("/a.mprof: it did not end cleanly\n"));
}

}  // namespace
}  // namespace memprof::testing
