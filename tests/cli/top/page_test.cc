// The page of `memprof top` as text: golden pages, and what holds for every page and size.
#include "cli/top/internal/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "cli/console/text.h"
#include "tests/cli/cli_test_support.h"

namespace memprof::cli {
namespace {

using testing::ExpectGolden;
using ::testing::HasSubstr;
using testing::kMiB;

constexpr analysis::TimeNs kSecond = 1'000'000'000;

LiveDevice Device(int number) {
  LiveDevice device;
  device.device = number;
  device.name = "NVIDIA H100 80GB HBM3";
  device.capacity = 81'559 * kMiB;
  device.used = 30'000 * kMiB;
  device.allocated = 25'000 * kMiB;
  device.reserved = 29'000 * kMiB;
  device.peak = 28'000 * kMiB;
  device.headroom = 50'000.0 * kMiB;
  device.growth = 1.5 * kMiB;
  device.growth_tier = "suspected";
  device.steps_to_oom = 33'333;
  device.seconds_to_oom = 8'333;
  device.categories = {{"activations", "activations", 12'000 * kMiB},
                       {"optimizer state", "optimizer_state", 8'000 * kMiB},
                       {"parameters", "parameters", 4'000 * kMiB},
                       {"reserved, not in use", "slack", 4'000 * kMiB},
                       {"gradients", "gradients", 1'000 * kMiB}};
  device.layers = {{"linear", "linear", 29'000 * kMiB}};
  for (std::uint64_t i = 0; i < 288; ++i)
    device.curve.emplace_back((12'000 + 10 * i) * kMiB, (24'000 + 10 * i + 2'000 * (i % 3)) * kMiB);
  return device;
}

LiveProcess Process(int rank) {
  LiveProcess process;
  process.path = Cat("rank", rank, ".mprof");
  process.command = "python train.py --steps 10000 --batch 64 --data /data/set/of/the/year";
  process.host = "node7";
  process.pid = 4711 + static_cast<std::uint32_t>(rank);
  process.rank = rank;
  process.start_unix_ns = 1'000 * kSecond;
  process.last_event = 99 * kSecond;
  process.judged = 80 * kSecond;
  process.step = 396;
  process.steps = 396;
  process.steps_per_second = 4;
  process.devices = {Device(rank)};
  process.leaks = {
      {"suspected", rank, false, 1.0 * kMiB, 396 * kMiB, "HistoryLeak (history.cc:42)"},
      {"growing", rank, true, 0.5 * kMiB, 200 * kMiB,
       "main (train.py:51), in GPT2Model.forward (transformers/modeling_gpt2.py:123)"},
      {"growing", analysis::kNoDevice, false, 0.25 * kMiB, 99 * kMiB,
       "Loader::Next (loader.cc:7)"}};
  process.failures = 2;
  process.failure = LiveFailure{rank, 2048 * kMiB, 70 * kSecond, 280, true, "Step (train.cc:9)"};
  return process;
}

TopPage Page(int ranks) {
  TopPage page;
  for (int rank = 0; rank < ranks; ++rank) page.processes.push_back(Process(rank));
  page.now_unix_ns = 1'100 * kSecond;
  page.every = kSecond;
  page.whole_every = 20 * kSecond;
  return page;
}

std::string Text(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) Append(text, line, "\n");
  return text;
}

TEST(TopPage, OfOneProcessInASmallTerminal) {
  ExpectGolden("top_80x24.txt", Text(PageLines(Page(1), 0, 80, 23)));
}

TEST(TopPage, OfManyRanksInALargeTerminal) {
  TopPage page = Page(24);
  page.processes[3].state = LiveState::kKilled;
  page.processes[3].losses = {{"events_lost", 1'234}};
  page.processes[5].devices.clear();
  page.processes[6].devices.push_back(Device(7));
  page.errors = {"rank9.mprof: is empty"};
  ExpectGolden("top_160x50.txt", Text(PageLines(page, 3, 160, 49)));
}

TEST(TopPage, FitsIntoEveryTerminal) {
  TopPage page = Page(9);
  page.processes[4].devices.clear();
  page.processes[5].losses = {{"events_lost", 1}};
  page.errors = {"a", "b", "c", "d"};
  for (const std::size_t width : {1, 2, 5, 11, 12, 13, 30, 50, 51, 79, 80, 100, 400})
    for (std::size_t height = 1; height < 60; ++height)
      for (const std::size_t chosen : {0, 4, 5, 8, 99}) {
        const auto lines = PageLines(page, chosen, width, height);
        ASSERT_LE(lines.size(), height);
        for (const std::string& line : lines) {
          ASSERT_LE(Columns(line), width) << line;
          ASSERT_TRUE(line.empty() || line.back() != ' ') << line;
        }
      }
}

TEST(TopPage, ShowsTheChosenRowOfMany) {
  const TopPage page = Page(100);
  for (const std::size_t chosen : {0, 1, 50, 98, 99})
    EXPECT_THAT(Text(PageLines(page, chosen, 80, 24)), HasSubstr(Cat("> rank ", chosen, " ")));
}

TEST(TopPage, SortsRows) {
  TopPage page = Page(4);
  page.processes[2].devices[0].used *= 2;
  page.processes[1].devices[0].growth *= 2;
  page.processes[3].devices[0].seconds_to_oom = 5;
  page.processes[0].rank = 7;
  const auto first = [&page](TopSort sort) {
    page.sort = sort;
    return RowsOf(page)[0].process->path;
  };
  EXPECT_EQ(first(TopSort::kRank), "rank1.mprof");
  EXPECT_EQ(first(TopSort::kUsed), "rank2.mprof");
  EXPECT_EQ(first(TopSort::kGrowth), "rank1.mprof");
  EXPECT_EQ(first(TopSort::kOom), "rank3.mprof");
}

TEST(TopPage, SaysWhatIsUnknown) {
  TopPage page = Page(1);
  LiveProcess& process = page.processes[0];
  LiveDevice& device = process.devices[0];
  device.growth = 0;
  device.headroom = device.steps_to_oom = device.seconds_to_oom = -1;
  device.capacity = 0;
  device.categories.clear();
  process.step = -1;
  process.steps_per_second = 0;
  process.too_short = true;
  process.leaks.clear();
  process.failure.reset();
  const std::string text = Text(PageLines(page, 0, 80, 24));
  EXPECT_THAT(text, HasSubstr("Too early to judge growth"));
  EXPECT_THAT(text, HasSubstr("Memory by kind"));
  process.too_short = false;
  EXPECT_THAT(Text(PageLines(page, 0, 80, 24)), HasSubstr("Nothing grows steadily"));
}

TEST(TopPage, NamesOfTheLogCannotControlTheTerminal) {
  TopPage page = Page(1);
  page.processes[0].command = "\033[2J";
  page.processes[0].host = "a\nb";
  page.processes[0].end_reason = "\a";
  page.processes[0].devices[0].name =
      "\x9b"
      "1m\033";
  page.errors = {"\033]0;x"};
  for (const LiveState state : {LiveState::kRunning, LiveState::kEnded, LiveState::kKilled}) {
    page.processes[0].state = state;
    for (const std::string& line : PageLines(page, 0, 200, 0))
      for (const char c : line) EXPECT_FALSE(c >= 0 && c < 32) << line;
  }
}

TEST(TopPage, TimeGoesOnBetweenReadings) {
  TopPage page = Page(1);
  EXPECT_THAT(Text(PageLines(page, 0, 80, 24)), HasSubstr("running for 1 min 40 s"));
  page.now_unix_ns += 20 * kSecond;
  EXPECT_THAT(Text(PageLines(page, 0, 80, 24)),
              HasSubstr("running for 2 min 00 s; no event for 21.0 s"));
  page.processes[0].state = LiveState::kEnded;
  page.processes[0].end_reason = "exit";
  EXPECT_THAT(Text(PageLines(page, 0, 80, 24)), HasSubstr("ended after 99.0 s"));
}

// What each cell shows, computed point by point.
TEST(TopChart, AgreesWithEachCellComputedAlone) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> curve(1 + random() % 50);
    for (auto& [least, most] : curve) {
      least = random() % 1000;
      most = least + random() % 1000;
    }
    const std::size_t rows = 1 + random() % 6, columns = 1 + random() % curve.size();
    const std::uint64_t top = 2000;
    const auto lines = ChartLines(curve, 0, top, columns, rows);
    ASSERT_EQ(lines.size(), rows);
    for (std::size_t row = 0; row < rows; ++row) {
      ASSERT_EQ(Columns(lines[row]), columns);
      std::string_view rest = lines[row];
      for (std::size_t column = 0; column < columns; ++column) {
        std::uint64_t least = UINT64_MAX, most = 0;
        for (std::size_t i = 0; i < curve.size(); ++i) {
          const bool here =
              i >= column * curve.size() / columns && i < (column + 1) * curve.size() / columns;
          if (!here) continue;
          least = std::min(least, curve[i].first);
          most = std::max(most, curve[i].second);
        }
        const std::size_t bytes = rest[0] == ' ' ? 1 : 3;
        const std::string_view cell = rest.substr(0, bytes);
        rest.remove_prefix(bytes);
        const std::uint64_t foot = (rows - 1 - row) * top, head = foot + top;  // times `rows`
        EXPECT_EQ(cell == "█", least * rows * 8 > head * 8 - top || least * rows >= head);
        EXPECT_EQ(cell == " ", most * rows <= foot);
        EXPECT_EQ(cell == "░", least * rows <= foot && most * rows * 2 > foot * 2 + top);
      }
    }
  }
}

}  // namespace
}  // namespace memprof::cli
