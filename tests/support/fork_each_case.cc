// Linked into a test program whose tested state exists once in a process: each case runs in a process forked from the
// program before its first case, which costs a tenth of starting the program anew. A single case, as in a debugger,
// runs in the program itself.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

std::vector<std::string> CasesToRun(const testing::UnitTest& unit) {
  std::vector<std::string> names;
  for (int i = 0; i < unit.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *unit.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const testing::TestInfo& test = *suite.GetTestInfo(j);
      if (test.should_run()) names.push_back(std::string(suite.name()) + "." + test.name());
    }
  }
  return names;
}

[[noreturn]] void BecomeCase(const std::string& name) {
  unsetenv("GTEST_TOTAL_SHARDS");  // the filter alone chooses
  unsetenv("GTEST_SHARD_INDEX");
  testing::GTEST_FLAG(filter) = name;
  std::exit(RUN_ALL_TESTS());
}

class Forker : public testing::EmptyTestEventListener {
 public:
  // GoogleTest calls this after it has chosen the cases, and before it runs one.
  void OnTestProgramStart(const testing::UnitTest& unit) override {
    const std::vector<std::string> cases = CasesToRun(unit);
    if (child_ || cases.size() <= 1) return;
    std::vector<std::string> failed;
    for (const std::string& name : cases) {
      std::fflush(nullptr);
      const pid_t pid = fork();
      if (pid == 0) {
        child_ = true;
        BecomeCase(name);
      }
      int status = -1;
      if (pid < 0 || waitpid(pid, &status, 0) != pid) status = -1;
      if (status == 0) continue;
      failed.push_back(name);
      // A case that returned has said so itself.
      if (!WIFEXITED(status)) std::printf("[  FAILED  ] 1 test, ended by a signal: %s\n", strsignal(WTERMSIG(status)));
    }
    for (const std::string& name : failed) std::printf("[  FAILED  ] %s\n", name.c_str());
    std::fflush(nullptr);
    std::_Exit(failed.empty() ? 0 : 1);
  }

 private:
  bool child_ = false;
};

[[maybe_unused]] const bool appended = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new Forker);
  return true;
}();

}  // namespace
