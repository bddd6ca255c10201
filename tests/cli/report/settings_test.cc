// The settings of PyTorch's allocator in `report` and `advise`, as text and as JSON.
#include "cli/report/internal/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/testing/log_builder.h"
#include "tests/cli/cli_test_support.h"
#include "tests/support/load_log.h"

namespace memprof::cli {
namespace {

using analysis::Layer;
using analysis::testing::LoadLog;
using analysis::testing::LogBuilder;
using ::testing::HasSubstr;
using ::testing::Not;

void Fill(LogBuilder& log, const std::string& release,
          const std::vector<std::string>& environment) {
  log.Device(0, 1 << 30);
  log.Alloc(Layer::kLinear, 0x400000, 0x200000);
  log.Alloc(Layer::kSegment, 0x400000, 0x200000);
  log.Alloc(Layer::kBlock, 0x400000, 0x1000);
  for (const std::string& variable : environment) log.header().add_environment(variable);
  log::Framework* framework = log.definitions().add_framework();
  framework->set_name("PyTorch");
  framework->set_release(release);
}

std::string Text(const std::string& release, const std::vector<std::string>& environment) {
  LogBuilder log;
  Fill(log, release, environment);
  const auto session = LoadLog(log);
  return session == nullptr ? "no log" : SettingsText(*session);
}

TEST(SettingsTest, SaysWhatBecameOfEachSetting) {
  EXPECT_EQ(
      Text("2.15.0+cu132",
           {"PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64,pinned_num_register_threads:8",
            "PYTORCH_ALLOC_CONF=expandable_segments:True,x:1"}),
      "  PYTORCH_CUDA_ALLOC_CONF was read by PyTorch 2.15.0+cu132\n"
      "    max_split_size_mb:64  in effect\n"
      "    pinned_num_register_threads:8  no effect\n"
      "      It is for pinned_use_cuda_host_register:True, which is not set.\n"
      "  In PYTORCH_ALLOC_CONF:\n"
      "    expandable_segments:True  no effect\n"
      "      PYTORCH_CUDA_ALLOC_CONF is set too, and PyTorch then reads no other variable.\n"
      "    x:1  no effect\n"
      "      PYTORCH_CUDA_ALLOC_CONF is set too, and PyTorch then reads no other variable.\n");
  EXPECT_EQ(
      Text("2.9.1", {"PYTORCH_ALLOC_CONF=max_split_size_mb:64"}),
      "  No variable was read by PyTorch 2.9.1\n"
      "  In PYTORCH_ALLOC_CONF:\n"
      "    max_split_size_mb:64  no effect\n"
      "      Up to 2.9 PyTorch's CUDA allocator reads PYTORCH_CUDA_ALLOC_CONF alone: use that "
      "name.\n");
  EXPECT_EQ(Text("", {"PYTORCH_CUDA_ALLOC_CONF="}),
            "  PYTORCH_CUDA_ALLOC_CONF was read by a release of PyTorch that the log does not "
            "name\n    It is empty.\n");
  EXPECT_EQ(Text("2.15.0", {}), "");
}

TEST(SettingsTest, ALongOrBinaryValueIsCutAndPrintable) {
  const std::string text = Text("2.15.0", {"PYTORCH_ALLOC_CONF=" + std::string(3000, 'x') +
                                           ":1,\033[31m\x01\xff:2," + std::string(5000, '[')});
  EXPECT_THAT(text, HasSubstr("…  unknown\n"));
  EXPECT_THAT(text, Not(HasSubstr("\033")));
  EXPECT_THAT(text, Not(HasSubstr("\x01")));
  EXPECT_LT(text.size(), 1000u);
  std::string many = "PYTORCH_ALLOC_CONF=";
  for (int i = 0; i < 100; ++i) many += "a:1,";
  EXPECT_THAT(Text("2.15.0", {many}), HasSubstr("… and 36 more\n"));
}

TEST(SettingsTest, ReportAndAdviseHaveThem) {
  const analysis::testing::TempDirectory directory;
  LogBuilder log;
  Fill(log, "2.15.0", {"PYTORCH_ALLOC_CONF=expandable_segments:True,max_split_size_mb:64"});
  ASSERT_TRUE(log.WriteTo(directory.File("a.mprof")).ok());
  const auto run = [&](const std::vector<std::string>& arguments) {
    const testing::Result result = testing::Memprof(arguments, directory.File(""));
    EXPECT_EQ(result.status, 0) << result.err;
    return result.out;
  };
  EXPECT_THAT(
      run({"report", "a.mprof"}),
      HasSubstr("\nSettings of the allocator\n  PYTORCH_ALLOC_CONF was read by PyTorch 2.15.0"));
  EXPECT_THAT(run({"report", "--json", "a.mprof"}),
              ::testing::ContainsRegex("\"state\": ?\"no-effect\""));
  const std::string advice = run({"advise", "a.mprof"});
  EXPECT_THAT(advice, HasSubstr("setting without effect: PyTorch's allocator"));
  EXPECT_THAT(advice, HasSubstr("No segment of this log is"));
  EXPECT_THAT(advice, Not(HasSubstr("max_split_size_mb:64")));
  EXPECT_THAT(run({"advise", "--json", "a.mprof"}), HasSubstr("idle-setting"));
}

TEST(SettingsTest, ProcessesWithTheSameAreOneEntry) {
  const analysis::testing::TempDirectory directory;
  for (int rank = 0; rank < 3; ++rank) {
    LogBuilder log;
    Fill(log, "2.15.0",
         {rank == 2 ? "PYTORCH_ALLOC_CONF=max_split_size_mb:128"
                    : "PYTORCH_ALLOC_CONF=max_split_size_mb:64"});
    log.header().set_pid(static_cast<std::uint32_t>(100 + rank));
    ASSERT_TRUE(log.WriteTo(directory.File("r" + std::to_string(rank) + ".mprof")).ok());
  }
  const testing::Result result =
      testing::Memprof({"report", "r0.mprof", "r1.mprof", "r2.mprof"}, directory.File(""));
  EXPECT_THAT(result.out, HasSubstr("was read by PyTorch 2.15.0, in 2 of 3 processes\n"));
  EXPECT_THAT(result.out, HasSubstr("was read by PyTorch 2.15.0, in 1 of 3 processes\n"));
}

}  // namespace
}  // namespace memprof::cli
