// export --to=pprof: a profile that matches pprof's format definition, with correct sums.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/peak/peak.h"
#include "tests/cli/cli_test_support.h"
#include "tests/cli/export/pprof_profile.h"
#include "tests/cli/formats/profile.pb.h"
#include "tests/support/random_log.h"

namespace memprof::cli::testing {
namespace {

using analysis::AllocationRecord;
using analysis::Layer;
using analysis::Session;
using analysis::testing::LogBuilder;
using analysis::testing::RandomLog;
using ::testing::Contains;
using ::testing::ElementsAre;

Profile ExportProfile(const LogBuilder& log, const std::vector<std::string>& options = {}) {
  const analysis::testing::TempDirectory directory;
  std::vector<std::string> arguments = {"export", "--to=pprof", "-o", "-",
                                        directory.Write("in.mprof", log.Bytes())};
  arguments.insert(arguments.end(), options.begin(), options.end());
  const Result result = Memprof(arguments);
  EXPECT_EQ(result.status, 0) << result.err;
  return Profile(result.out);
}

// By brute force: allocations that `counts` accepts, in total, at the end, and at the peak of their
// device.
template <typename Counts>
Values Expected(const Session& session, Counts counts) {
  Values sum(6);
  const auto peaks = analysis::FindPeaks(session);
  const auto records = session.records();
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    const AllocationRecord& a = records[i];
    if (!counts(a)) continue;
    const auto bytes = static_cast<std::int64_t>(a.bytes);
    bool at_peak = false;
    for (const analysis::Peak& peak : peaks) {
      const auto live = session.LiveAfter(peak.event);
      at_peak |= peak.device == a.device &&
                 std::find(live.begin(), live.end(), analysis::AllocationId(i)) != live.end();
    }
    sum[0] += 1;
    sum[1] += bytes;
    sum[2] += a.alive();
    sum[3] += a.alive() ? bytes : 0;
    sum[4] += at_peak;
    sum[5] += at_peak ? bytes : 0;
  }
  return sum;
}

TEST(ExportPprofTest, SaysWhatItsValuesAre) {
  LogBuilder log;
  WriteTraining(log);
  const Profile profile = ExportProfile(log);
  std::vector<std::string> types;
  for (const pprof::ValueType& type : profile.raw().sample_type()) {
    types.push_back(profile.String(type.type()) + "/" + profile.String(type.unit()));
  }
  EXPECT_THAT(types, ElementsAre("alloc_objects/count", "alloc_space/bytes", "inuse_objects/count",
                                 "inuse_space/bytes", "peak_objects/count", "peak_space/bytes"));
  EXPECT_EQ(profile.String(0), "");
  EXPECT_EQ(profile.String(profile.raw().default_sample_type()), "peak_space");
  EXPECT_EQ(profile.String(profile.raw().comment(0)), "train_gpt --steps=40");
  const auto session = analysis::testing::LoadLog(log);
  EXPECT_EQ(profile.raw().time_nanos(), static_cast<std::int64_t>(session->run().start_unix_ns));
  EXPECT_EQ(profile.raw().duration_nanos(),
            static_cast<std::int64_t>(session->run().end_time - session->run().start_time));
}

// Driver memory by layer, on random logs: objects and bytes at three instants.
TEST(ExportPprofTest, SumsAreThoseOfTheLog) {
  for (const std::uint32_t seed : {81u, 82u, 83u}) {
    RandomLog log({.seed = seed});
    const auto session = analysis::testing::LoadLog(log.builder());
    const Profile driver = ExportProfile(log.builder(), {"--memory=driver"});
    EXPECT_EQ(driver.Sum(), Expected(*session, [](const AllocationRecord& a) {
                return analysis::OccupiesDevice(a.layer);
              }));
    for (const int device : {0, 1}) {
      EXPECT_EQ(driver.Sum("device", std::to_string(device)),
                Expected(*session, [device](const AllocationRecord& a) {
                  return analysis::OccupiesDevice(a.layer) && a.device == device;
                }));
    }
    EXPECT_EQ(
        ExportProfile(log.builder(), {"--memory=tensors"}).Sum(),
        Expected(*session, [](const AllocationRecord& a) { return a.layer == Layer::kTensor; }));
    EXPECT_EQ(ExportProfile(log.builder(), {"--memory=host"}).Sum("device", "host"),
              Expected(*session,
                       [](const AllocationRecord& a) { return analysis::OccupiesHost(a.layer); }));
  }
}

// Memory in use: blocks, and driver memory without a segment, found by its address.
TEST(ExportPprofTest, MemoryInUseCountsEveryByteOnce) {
  for (const std::uint32_t seed : {84u, 85u}) {
    RandomLog log({.seed = seed});
    const auto session = analysis::testing::LoadLog(log.builder());
    std::set<std::uint32_t> below;  // driver memory that contains a segment
    for (const AllocationRecord& a : session->records()) {
      if (a.layer == Layer::kSegment && a.parent.valid()) below.insert(a.parent.value);
    }
    ASSERT_FALSE(below.empty());
    const auto first = session->records().data();
    const Profile profile = ExportProfile(log.builder());
    EXPECT_EQ(profile.Sum(), Expected(*session, [&](const AllocationRecord& a) {
                if (a.layer == Layer::kBlock) return true;
                return analysis::OccupiesDevice(a.layer) &&
                       !below.contains(static_cast<std::uint32_t>(&a - first));
              }));
    EXPECT_GT(profile.Sum("layer", "block")[1], 0);
    EXPECT_EQ(profile.Sum("layer", "segment"), Values(6));
  }
}

TEST(ExportPprofTest, StacksBeginAtTheSiteUnlessWhole) {
  LogBuilder log;
  // The allocator is on every stack; its callers differ.
  for (int i = 0; i < 8; ++i) {
    const std::string function = "Layer" + std::to_string(i);
    log.Alloc(Layer::kLinear, 0x100000 * (i + 1), 4096,
              {.stack = log.Stack({"main (a.cc:1)",
                                   function + "::Forward (layer.cc:" + std::to_string(10 + i) + ")",
                                   "cudaMalloc (alloc.cc:5)"})});
  }
  const Profile cut = ExportProfile(log), whole = ExportProfile(log, {"--whole-stacks"});
  ASSERT_EQ(cut.raw().sample_size(), 8);
  for (int i = 0; i < 8; ++i) {
    const std::string place =
        "Layer" + std::to_string(i) + "::Forward layer.cc:" + std::to_string(10 + i);
    EXPECT_THAT(cut.Stack(cut.raw().sample(i)), ElementsAre(place, "main a.cc:1"));
    EXPECT_THAT(whole.Stack(whole.raw().sample(i)),
                ElementsAre("cudaMalloc alloc.cc:5", place, "main a.cc:1"));
  }
}

TEST(ExportPprofTest, LabelsNameLayerDeviceAndTensor) {
  LogBuilder log;
  WriteTraining(log);
  const Profile profile = ExportProfile(log);
  std::set<std::map<std::string, std::string>> labels;
  for (const pprof::Sample& sample : profile.raw().sample()) labels.insert(profile.Labels(sample));
  using Labels = std::map<std::string, std::string>;
  EXPECT_THAT(labels,
              Contains(Labels{{"layer", "block"}, {"device", "0"}, {"tensor", "loss_history"}}));
  EXPECT_THAT(labels, Contains(Labels{{"layer", "linear"}, {"device", "1"}}));
  EXPECT_EQ(profile.Sum("tensor", "loss_history"),
            Values({40, 40 << 20, 40, 40 << 20, 40, 40 << 20}));
}

// A module of the log is a mapping; native frames keep their addresses.
TEST(ExportPprofTest, NativeFramesHaveMappings) {
  LogBuilder log;
  log::Definitions& definitions = log.definitions();
  log::Module* module = definitions.add_module();
  module->set_id(1);
  module->set_path("/opt/none/libgone.so");
  module->set_build_id(std::string("\x12\xab\x00\xff", 4));
  module->set_load_bias(0x400000);
  module->set_first_address(0x400000);
  module->set_end_address(0x500000);
  const int stack = log.Stack({"main (a.cc:1)"});
  log::StackTrie* trie = definitions.mutable_trie();
  const auto native = static_cast<int>(trie->first_id()) + trie->parent_size();
  trie->add_parent(static_cast<std::uint32_t>(stack));
  trie->add_address_delta(0x401234);  // relative to the previous native frame; there is none
  trie->add_module(1);
  trie->add_kind(log::FRAME_NATIVE);
  log.Alloc(Layer::kLinear, 0x1000, 64, {.stack = native});
  const Profile profile = ExportProfile(log, {"--whole-stacks"});
  ASSERT_EQ(profile.raw().mapping_size(), 1);
  const pprof::Mapping& mapping = profile.raw().mapping(0);
  EXPECT_EQ(mapping.memory_start(), 0x400000u);
  EXPECT_EQ(mapping.memory_limit(), 0x500000u);
  EXPECT_EQ(profile.String(mapping.filename()), "/opt/none/libgone.so");
  EXPECT_EQ(profile.String(mapping.build_id()), "12ab00ff");
  EXPECT_TRUE(mapping.has_functions());
  ASSERT_EQ(profile.raw().sample_size(), 1);
  ASSERT_EQ(profile.raw().sample(0).location_id_size(), 2);
  bool found = false;
  for (const pprof::Location& location : profile.raw().location()) {
    if (location.id() != profile.raw().sample(0).location_id(0)) continue;
    found = true;
    EXPECT_EQ(location.address(), 0x401234u);
    EXPECT_EQ(location.mapping_id(), mapping.id());
  }
  EXPECT_TRUE(found);
}

TEST(ExportPprofTest, LogsWithNextToNothingMakeAnEmptyProfile) {
  LogBuilder empty, bare;
  EXPECT_EQ(ExportProfile(empty).raw().sample_size(), 0);
  bare.Alloc(Layer::kLinear, 0x1000, ~std::uint64_t{0});  // no stack, and a size that no device has
  const Profile profile = ExportProfile(bare);
  ASSERT_EQ(profile.raw().sample_size(), 1);
  EXPECT_EQ(profile.raw().sample(0).location_id_size(), 0);
  EXPECT_EQ(profile.raw().sample(0).value(1), INT64_MAX);
}

}  // namespace
}  // namespace memprof::cli::testing
