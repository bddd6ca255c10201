// Memory by line of source, compared with plain loops over all allocations.
#include "analysis/source/line_bytes.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "analysis/leaks/leaks.h"
#include "analysis/testing/log_builder.h"
#include "tests/support/load_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;

// Functions call each other at random in two files, so that most stacks have a line twice. Some
// memory is never freed, and one line leaks in every step.
std::shared_ptr<const Session> RandomProgram(std::uint32_t seed) {
  std::mt19937 random(seed);
  LogBuilder log;
  log.Device(0, std::uint64_t{1} << 40);
  const int leak = log.Stack({"main (a.py:1)", "keep (a.py:4)"});
  std::vector<std::uint64_t> live;
  std::uint64_t address = 0x100000;
  for (std::uint64_t i = 0; i < 400; ++i) {
    if (i % 10 == 0) {
      log.Step(i / 10);
      log.Alloc(Layer::kLinear, address += 0x100000, 512, {.stack = leak});
    }
    std::vector<std::string> frames;
    for (std::size_t depth = random() % 7; depth > 0; --depth)
      frames.push_back(std::string(1, static_cast<char>('f' + random() % 4)) + " (" +
                       (random() % 2 == 0 ? "a" : "b") + ".py:" + std::to_string(random() % 4 + 1) +
                       ")");
    const int stack = frames.empty() ? 0 : log.Stack(frames);
    const auto device = static_cast<int>(random() % 2);
    log.Alloc(Layer::kLinear, address += 0x100000, random() % 1000 + 1,
              {.device = device, .stack = stack});
    live.push_back(address);
    while (live.size() > 20 && random() % 3 != 0) {
      const std::size_t row = random() % live.size();
      log.Free(live[row]);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(row));
    }
  }
  return LoadLog(log);
}

std::set<std::uint32_t> LeakingStacks(const Session& session) {
  std::set<std::uint32_t> stacks;
  for (const Leak& leak : LeaksOf(session)->leaks) stacks.insert(leak.stack.value);
  return stacks;
}

// Self and inclusive by line of a file, one allocation after the other.
using Lines = std::map<int, std::pair<LineBytes, LineBytes>>;
Lines PlainLines(const Session& session, Symbols& symbols, const LineQuery& query,
                 const std::string& file) {
  const std::set<std::uint32_t> leaking = LeakingStacks(session);
  Lines lines;
  for (std::uint32_t i = 0; i < session.allocations().size(); ++i) {
    const Allocation a = session.allocation(AllocationId(i));
    if (a.device != query.device) continue;
    if (query.passing != nullptr && !query.passing->Has(AllocationId(i))) continue;
    const auto lives = [&a](TimeNs at) {
      return at == kForever ? a.alive() : a.birth_time <= at && at < a.death_time;
    };
    LineBytes bytes;
    if (lives(query.at)) bytes.live = a.bytes;
    if (lives(query.peak)) bytes.peak = a.bytes;
    if (a.alive() && leaking.contains(a.stack.value)) bytes.leaked = a.bytes;
    if (bytes.most() == 0) continue;
    std::set<int> on_stack;
    for (const SourceFrame& frame : symbols.ResolveStack(a.stack))
      if (frame.file == file) on_stack.insert(frame.line);
    for (const int line : on_stack) lines[line].second += bytes;
    const SourceFrame site = symbols.Site(a.stack);
    if (site.file == file) lines[site.line].first += bytes;
  }
  return lines;
}

TEST(LineBytes, MatchesPlainSums) {
  for (const std::uint32_t seed : {1u, 2u, 3u}) {
    const auto session = RandomProgram(seed);
    ASSERT_NE(session, nullptr);
    Symbols symbols(session);
    const TimeNs begin = session->run().start_time, end = session->run().end_time;
    std::vector<bool> odd(session->records().size());
    for (std::size_t i = 0; i < odd.size(); ++i) odd[i] = i % 2 == 1;
    const auto some = std::make_shared<const AllocationSet>(odd);
    std::uint64_t leaked = 0;
    for (const int device : {0, 1}) {
      for (const TimeNs at : {kForever, begin + (end - begin) / 2, begin}) {
        for (const auto& passing : {std::shared_ptr<const AllocationSet>(), some}) {
          const LineQuery query{device, at, begin + (end - begin) / 3, passing};
          const std::vector<StackBytes> stacks = BytesByStack(*session, query);
          std::map<std::string, LineBytes> files;
          for (const std::string file : {"a.py", "b.py"}) {
            const Lines want = PlainLines(*session, symbols, query, file);
            const std::vector<SourceLine> lines = LinesOfFile(*session, symbols, stacks, file);
            ASSERT_EQ(lines.size(), want.size());
            for (const SourceLine& line : lines) {
              ASSERT_TRUE(want.contains(line.line));
              EXPECT_EQ(line.self, want.at(line.line).first);
              EXPECT_EQ(line.inclusive, want.at(line.line).second);
              EXPECT_EQ(line.sites.empty(), line.self.most() == 0);
              files[file] += line.self;
              leaked += line.self.leaked;
            }
          }
          std::uint64_t last = ~std::uint64_t{0};
          for (const FileBytes& file : FilesOfSites(symbols, stacks)) {
            EXPECT_EQ(file.self, files[file.file]);
            EXPECT_LE(file.self.most(), last) << "largest first";
            last = file.self.most();
          }
        }
      }
    }
    EXPECT_GT(leaked, 0u) << "no leak, so nothing of leaks was tested";
  }
}

TEST(LineBytes, ListsTheLargestOfManyStacksAndCountsAll) {
  LogBuilder log;
  for (std::uint64_t i = 1; i <= kMostStacks + 5; ++i)
    log.Alloc(Layer::kLinear, i << 20, i,
              {.stack = log.Stack({"main (m.py:" + std::to_string(i) + ")", "f (a.py:7)"})});
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  Symbols symbols(session);
  const auto lines = LinesOfFile(*session, symbols, BytesByStack(*session, {}), "a.py");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].stacks, kMostStacks + 5);
  ASSERT_EQ(lines[0].through.size(), kMostStacks);
  const std::uint64_t count = lines[0].stacks;
  EXPECT_EQ(lines[0].inclusive.live, count * (count + 1) / 2);
  EXPECT_EQ(session->record(AllocationId(static_cast<std::uint32_t>(count - 1))).stack,
            lines[0].through[0]);
}

TEST(LineBytes, FindsFilesByTheEndOfTheirPaths) {
  LogBuilder log;
  log.Alloc(Layer::kLinear, 0x1000, 1, {.stack = log.Stack({"f (/a/t.py:1)", "g (/b/t.py:2)"})});
  log.Alloc(Layer::kLinear, 0x2000, 1, {.stack = log.Stack({"h (t.pyx:1)", "i (u.py:1)"})});
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  Symbols symbols(session);
  using Names = std::vector<std::string>;
  EXPECT_EQ(FilesNamed(*session, symbols, "t.py"), (Names{"/a/t.py", "/b/t.py"}));
  EXPECT_EQ(FilesNamed(*session, symbols, "b/t.py"), Names{"/b/t.py"});
  EXPECT_EQ(FilesNamed(*session, symbols, "u.py"), Names{"u.py"});
  EXPECT_EQ(FilesNamed(*session, symbols, "v.py"), Names{});
}

TEST(LineBytes, CountsAllocatorsMemoryAsItsBlocks) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  const int grow = log.Stack({"main (a.py:1)", "grow (a.py:2)"});
  const int use = log.Stack({"main (a.py:1)", "use (a.py:3)"});
  const int raw = log.Stack({"main (a.py:1)", "raw (a.py:4)"});
  log.Alloc(Layer::kLinear, 0x100000, 4096, {.stack = grow});
  log.Alloc(Layer::kSegment, 0x100000, 4096, {.stack = grow});
  log.Alloc(Layer::kBlock, 0x100000, 1024, {.stack = use});
  log.Alloc(Layer::kLinear, 0x200000, 512, {.stack = raw});
  log.Alloc(Layer::kPinned, 0x300000, 256, {.device = kNoDevice, .stack = raw});
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  Symbols symbols(session);
  const auto stacks = BytesByStack(*session, {});
  const auto lines = LinesOfFile(*session, symbols, stacks, "a.py");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].inclusive.live, 1536u) << "main";
  EXPECT_EQ(lines[1].inclusive.live, 1024u) << "use";
  EXPECT_EQ(lines[2].inclusive.live, 512u) << "raw";
  const auto host = BytesByStack(*session, {.device = kNoDevice});
  ASSERT_EQ(host.size(), 1u);
  EXPECT_EQ(host[0].bytes.live, 256u);
}

}  // namespace
}  // namespace memprof::analysis
