// The C API in a program that links it: alone, preloaded, and without a recording.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/integration/harness.h"

namespace memprof::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<log::Op> Ops(const Log& log) {
  std::vector<log::Op> ops;
  for (const Event& event : log.events)
    if (event.op != log::OP_MEMORY_INFO) ops.push_back(event.op);
  return ops;
}

void ExpectWholeStory(const Log& log) {
  EXPECT_THAT(Ops(log), ElementsAre(log::OP_CONTEXT_CREATE, log::OP_STEP, log::OP_RANGE_PUSH,
                                    log::OP_ALLOC, log::OP_ALLOC, log::OP_ALLOC, log::OP_ALLOC,
                                    log::OP_RANGE_POP, log::OP_SNAPSHOT, log::OP_FREE, log::OP_FREE,
                                    log::OP_FREE, log::OP_FRAMEWORK_OOM, log::OP_PAUSE,
                                    log::OP_RESUME, log::OP_STEP, log::OP_FREE));
  const std::vector<Event> allocations = log.WithOp(log::OP_ALLOC);
  ASSERT_EQ(allocations.size(), 4u);
  const std::uint64_t base = allocations[0].address;
  EXPECT_EQ(allocations[0].layer, log::LAYER_LINEAR);
  EXPECT_EQ(allocations[1].layer, log::LAYER_SEGMENT);
  EXPECT_EQ(allocations[1].address, base);
  EXPECT_EQ(allocations[2].layer, log::LAYER_BLOCK);
  EXPECT_EQ(allocations[2].bytes, 2048u);
  EXPECT_EQ(allocations[2].aux0, 2000u);
  EXPECT_EQ(allocations[3].layer, log::LAYER_TENSOR);
  EXPECT_EQ(allocations[3].address, base + 512);
  const log::Tensor& tensor = log.tensors.at(allocations[3].label);
  EXPECT_EQ(log.Text(tensor.name()), "weights");
  EXPECT_EQ(log.Text(tensor.dtype()), "float32");
  EXPECT_THAT(tensor.shape(), ElementsAre(2, 3, 4));
  // Not valid UTF-8 in the program, but valid in the log.
  EXPECT_EQ(log.Text(log.WithOp(log::OP_RANGE_PUSH)[0].label), "forward \xef\xbf\xbd pass");
  EXPECT_EQ(log.Text(log.WithOp(log::OP_SNAPSHOT)[0].label), "middle");
  EXPECT_EQ(log.WithOp(log::OP_STEP)[1].aux0, 2u);
  const Event oom = log.WithOp(log::OP_FRAMEWORK_OOM)[0];
  EXPECT_EQ(oom.bytes, 12345u);
  EXPECT_EQ(oom.aux0, 100u);
  EXPECT_EQ(oom.aux1, 200u);
  const std::vector<Event> samples = log.WithOp(log::OP_MEMORY_INFO);
  ASSERT_EQ(samples.size(), 4u);  // two steps, a snapshot, and the allocation of device memory
  EXPECT_EQ(samples[0].aux1, 1u) << "no other process uses the device, and that is known";
  EXPECT_GT(samples[0].aux0, samples[0].bytes);
}

TEST(Api, LinkedWithAnOutputPathRecordsFromTheFirstCall) {
  TempDirectory directory;
  const GuestResult guest =
      RunGuest("guest_api_linked", {.preload = false, .directory = directory.path()});
  ASSERT_EQ(guest.status, 0) << guest.err;
  EXPECT_THAT(
      guest.lines(),
      ElementsAre("invalid -1 -1", "stats 0",
                  "allocations 1 frees 1 live 0 peak 1048576 lost 0 recording 1", "flush 0"));
  ExpectWholeStory(ReadLog(directory.File("g.mprof")));
}

TEST(Api, PreloadedAsWellItRecordsEverythingOnce) {
  TempDirectory directory;
  const GuestResult guest = RunGuest("guest_api_linked", {.directory = directory.path()});
  ASSERT_EQ(guest.status, 0) << guest.err;
  ExpectWholeStory(ReadLog(directory.File("g.mprof")));
}

// If the API is used by the agent of `memprof run --torch`, the log says so once.
TEST(Api, TheAgentIsASource) {
  for (const bool agent : {true, false}) {
    TempDirectory directory;
    GuestOptions options{.directory = directory.path()};
    if (agent) options.environment["MEMPROF_AGENT"] = "torch";
    const GuestResult guest = RunGuest("guest_api_linked", options);
    ASSERT_EQ(guest.status, 0) << guest.err;
    const Log log = ReadLog(directory.File("g.mprof"));
    const auto found =
        std::count_if(log.sources.begin(), log.sources.end(),
                      [](const log::Source& source) { return source.name() == "agent"; });
    EXPECT_EQ(found, agent ? 1 : 0);
  }
}

TEST(Api, LinkedAloneItWaitsForStart) {
  TempDirectory directory;
  GuestOptions options{.preload = false, .output = "", .directory = directory.path()};
  options.arguments = {"start"};
  const GuestResult guest = RunGuest("guest_api_linked", options);
  ASSERT_EQ(guest.status, 0) << guest.err;
  EXPECT_THAT(guest.lines(), Contains("start 0"));
  ExpectWholeStory(ReadLog(directory.File("memprof." + std::to_string(guest.pid) + ".mprof")));
}

TEST(Api, StartPausedRecordsFromMemprofStartOn) {
  TempDirectory directory;
  GuestOptions options{.directory = directory.path()};
  options.environment["MEMPROF_START"] = "paused";
  const GuestResult guest = RunGuest("guest_api_linked", options);
  ASSERT_EQ(guest.status, 0) << guest.err;
  // The guest calls memprof_stop, memprof_start, and only a few functions after that.
  EXPECT_THAT(Ops(ReadLog(directory.File("g.mprof"))), ElementsAre(log::OP_STEP, log::OP_FREE));
}

TEST(Api, WithoutRecordingEveryCallIsHarmless) {
  TempDirectory directory;
  GuestOptions options{.preload = false, .output = "", .directory = directory.path()};
  options.arguments = {"idle"};
  const GuestResult guest = RunGuest("guest_api_linked", options);
  EXPECT_EQ(guest.status, 0);
  EXPECT_EQ(guest.out, "1 1 1 1 1\n");
  EXPECT_EQ(guest.err, "");
  EXPECT_THAT(directory.Files(""), IsEmpty());
}

TEST(Api, DisabledMeansOff) {
  TempDirectory directory;
  GuestOptions options{.directory = directory.path()};
  options.environment["MEMPROF_DISABLE"] = "1";
  options.arguments = {"start"};
  const GuestResult guest = RunGuest("guest_api_linked", options);
  EXPECT_EQ(guest.status, 0);
  EXPECT_THAT(guest.lines(), Contains("start -3"));
  EXPECT_THAT(directory.Files(""), IsEmpty());
}

}  // namespace
}  // namespace memprof::testing
