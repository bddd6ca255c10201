// Who a process was, by variables of launchers and schedulers; and the number of a run.
#include "analysis/base/run_identity.h"

#include <gtest/gtest.h>

#include <set>

#include "analysis/fleet/hash.h"
#include "tests/support/load_log.h"

namespace memprof::analysis {
namespace {

RunIdentity With(std::vector<std::string> environment) {
  return IdentityOf({.environment = std::move(environment)});
}

TEST(StableHash, IsThePublishedFunction) {
  // Test vectors of the IETF draft.
  EXPECT_EQ(StableHash(""), "6c62272e07bb014262b821756295c58d");
  EXPECT_EQ(StableHash("a"), "d228cb696f1a8caf78912b704e4a8964");
  EXPECT_EQ(StableHash("foobar"), "343e1662793c64bf6f0d3597ba446f18");
  EXPECT_EQ(StableHash("\xff").size(), 32u);
  EXPECT_NE(StableHash("\xff"), StableHash("\x7f"));
}

TEST(Identity, NothingIsKnownWithoutVariables) {
  const RunIdentity nobody = With({"PATH=/bin", "XRANK=3", "RANKS=4", "RANK"});
  EXPECT_EQ(nobody.job, "");
  for (const auto& number :
       {nobody.attempt, nobody.rank, nobody.local_rank, nobody.world_size, nobody.tensor_rank,
        nobody.pipeline_rank, nobody.data_rank, nobody.expert_rank})
    EXPECT_FALSE(number.has_value());
}

TEST(Identity, OfTorchrunUnderSlurm) {
  const RunIdentity who =
      With({"SLURM_JOB_ID=4711", "SLURM_PROCID=2", "SLURM_LOCALID=0", "SLURM_NTASKS=4",
            "SLURM_RESTART_COUNT=1", "TORCHELASTIC_RUN_ID=abc", "TORCHELASTIC_RESTART_COUNT=0",
            "RANK=19", "LOCAL_RANK=3", "WORLD_SIZE=32", "TP_RANK=3", "PP_RANK=1", "DP_RANK=2",
            "EP_RANK=0"});
  EXPECT_EQ(who.job, "4711");
  EXPECT_EQ(who.attempt, 1);
  EXPECT_EQ(who.rank, 19);
  EXPECT_EQ(who.local_rank, 3);
  EXPECT_EQ(who.world_size, 32);
  EXPECT_EQ(who.tensor_rank, 3);
  EXPECT_EQ(who.pipeline_rank, 1);
  EXPECT_EQ(who.data_rank, 2);
  EXPECT_EQ(who.expert_rank, 0);
}

TEST(Identity, OfOtherLaunchers) {
  const RunIdentity array = With({"SLURM_JOB_ID=13", "SLURM_ARRAY_JOB_ID=12",
                                  "SLURM_ARRAY_TASK_ID=7", "SLURM_PROCID=1", "SLURM_LOCALID=1"});
  EXPECT_EQ(array.job, "12_7");
  EXPECT_EQ(array.rank, 1);
  EXPECT_EQ(array.local_rank, 1);
  const RunIdentity mpi =
      With({"OMPI_COMM_WORLD_RANK=5", "OMPI_COMM_WORLD_LOCAL_RANK=1", "OMPI_COMM_WORLD_SIZE=8"});
  EXPECT_EQ(mpi.rank, 5);
  EXPECT_EQ(mpi.local_rank, 1);
  EXPECT_EQ(mpi.world_size, 8);
  const RunIdentity hydra = With({"PMI_RANK=6", "MPI_LOCALRANKID=2", "PMI_SIZE=9"});
  EXPECT_EQ(hydra.rank, 6);
  EXPECT_EQ(hydra.local_rank, 2);
  EXPECT_EQ(hydra.world_size, 9);
  const RunIdentity pod = With({"JOB_NAME=llm", "JOB_COMPLETION_INDEX=3"});
  EXPECT_EQ(pod.job, "llm");
  EXPECT_EQ(pod.rank, 3);
  const RunIdentity batch = With({"AWS_BATCH_JOB_ID=b-1", "AWS_BATCH_JOB_ATTEMPT=2"});
  EXPECT_EQ(batch.job, "b-1");
  EXPECT_EQ(batch.attempt, 1);  // it counts attempts from 1
  EXPECT_EQ(With({"PMIX_NAMESPACE=226295809", "PMIX_RANK=1"}).job, "226295809");
  EXPECT_EQ(With({"PMIX_NAMESPACE=slurm.pmix.7.0", "SLURM_JOB_ID=7"}).job, "7");
  EXPECT_EQ(With({"RAY_JOB_ID=01000000"}).job, "01000000");
  EXPECT_EQ(With({"TORCHELASTIC_RUN_ID=none"}).job, "");  // torchrun's default names nothing
}

TEST(Identity, NonsenseIsAsIfItWereNotSet) {
  const RunIdentity who = With({"RANK=-1", "OMPI_COMM_WORLD_RANK=few", "PMI_RANK=99999999999",
                                "SLURM_PROCID=4", "WORLD_SIZE=", "AWS_BATCH_JOB_ATTEMPT=0"});
  EXPECT_EQ(who.rank, 4);
  EXPECT_FALSE(who.world_size.has_value());
  EXPECT_FALSE(who.attempt.has_value());
}

TEST(Identity, RanksAreThoseOfASession) {
  for (const std::string variable :
       {"RANK=3", "OMPI_COMM_WORLD_RANK=4", "PMI_RANK=5", "SLURM_PROCID=6", "RANK=x"}) {
    testing::LogBuilder log;
    log.header().add_environment(variable);
    log.header().add_environment("SLURM_PROCID=9");
    log.Alloc(Layer::kLinear, 0x1000, 1);
    const auto session = testing::LoadLog(log);
    ASSERT_NE(session, nullptr);
    EXPECT_EQ(IdentityOf(session->run()).rank, session->processes()[0].rank) << variable;
  }
}

TEST(RunId, TellsProcessesApart) {
  const RunInfo run{.hostname = "a", .pid = 1, .start_time = 5, .start_unix_ns = 7};
  RunInfo other_host = run, other_pid = run, other_time = run, other_clock = run, same = run;
  other_host.hostname = "b";
  other_pid.pid = 2;
  other_time.start_time = 6;
  other_clock.start_unix_ns = 8;
  const std::set<std::string> ids = {RunIdOf(run), RunIdOf(other_host), RunIdOf(other_pid),
                                     RunIdOf(other_time), RunIdOf(other_clock)};
  EXPECT_EQ(ids.size(), 5u);
  same.end_time = 100;  // it has grown
  EXPECT_EQ(RunIdOf(same), RunIdOf(run));
  RunInfo imported, another;
  another.executable = "PyTorch memory snapshot b";
  EXPECT_NE(RunIdOf(imported), RunIdOf(another));
}

}  // namespace
}  // namespace memprof::analysis
