// Names of logs.
#include "libmemprof/src/log/output_name.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>

namespace memprof::recorder {
namespace {

// Sets variables for a test, and takes those away that the machine may have.
class OutputName : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name :
         {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID",
          "JOB_COMPLETION_INDEX", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID",
          "RAY_JOB_ID", "TORCHELASTIC_RUN_ID", "AWS_BATCH_JOB_ID", "JOB_NAME", "PMIX_NAMESPACE"})
      unsetenv(name);
  }
  void TearDown() override { SetUp(); }
  static std::string Expand(const char* pattern) {
    char path[400];
    return ExpandOutput(pattern, path, sizeof path) ? path : "too long";
  }
};

TEST_F(OutputName, KnowsProcessHostAndPercent) {
  char path[200];
  ASSERT_TRUE(ExpandOutput("a.%p.b%%c%x", path, sizeof path));
  EXPECT_EQ(path, "a." + std::to_string(getpid()) + ".b%c%x");
  char host[64];
  gethostname(host, sizeof host);
  ASSERT_TRUE(ExpandOutput("%h.mprof", path, sizeof path));
  EXPECT_EQ(path, std::string(host) + ".mprof");
  EXPECT_FALSE(ExpandOutput("0123456789", path, 5));
  EXPECT_FALSE(ExpandOutput("", path, sizeof path));
}

TEST_F(OutputName, KnowsJobAndRank) {
  EXPECT_EQ(Expand("%j/%r"), "job/rank");
  setenv("SLURM_PROCID", "7", 1);
  setenv("TORCHELASTIC_RUN_ID", "none", 1);
  EXPECT_EQ(Expand("%j"), "job");
  setenv("PMIX_NAMESPACE", "prterun-a-1@1", 1);
  EXPECT_EQ(Expand("%j"), "prterun-a-1_1");
  setenv("TORCHELASTIC_RUN_ID", "train", 1);
  EXPECT_EQ(Expand("%j/%r"), "train/7");
  setenv("RANK", "3", 1);  // torchrun within Slurm: its own ranks count
  setenv("SLURM_JOB_ID", "4711", 1);
  EXPECT_EQ(Expand("%j/%r.%j"), "4711/3.4711");
}

TEST_F(OutputName, AValueIsAPartOfOneName) {
  setenv("RANK", "../../etc/pass wd", 1);
  EXPECT_EQ(Expand("a/%r"), "a/_._.._etc_pass_wd");
  setenv("RANK", "", 1);
  EXPECT_EQ(Expand("%r"), "rank");
  setenv("RANK", std::string(500, 'x').c_str(), 1);
  EXPECT_EQ(Expand("%r"), std::string(64, 'x'));
}

TEST_F(OutputName, FoldersThatVaryAreMade) {
  char root[] = "/tmp/memprof_output_XXXXXX";
  ASSERT_NE(mkdtemp(root), nullptr);
  const std::string folder = root;
  setenv("SLURM_JOB_ID", "9", 1);
  const auto make = [&](const std::string& pattern) {
    char path[400];
    ExpandOutput((folder + pattern).c_str(), path, sizeof path);
    return MakeFolders((folder + pattern).c_str(), path);
  };
  const auto exists = [&](const std::string& name) {
    return access((folder + name).c_str(), F_OK) == 0;
  };
  EXPECT_EQ(make("/x.%j"), 0);
  EXPECT_EQ(make("/a/b.mprof"), 0);
  EXPECT_FALSE(exists("/a"));  // nobody asked for it
  EXPECT_EQ(make("/%j/%r/c.mprof"), 0);
  EXPECT_EQ(make("/%j/%r/c.mprof"), 0);
  EXPECT_TRUE(exists("/9/rank"));
  EXPECT_FALSE(exists("/9/rank/c.mprof"));
  EXPECT_EQ(make("/d/%j/e.mprof"), ENOENT);
  for (const char* made : {"/9/rank", "/9", ""}) EXPECT_EQ(rmdir((folder + made).c_str()), 0);
}

}  // namespace
}  // namespace memprof::recorder
