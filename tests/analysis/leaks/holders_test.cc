// What keeps memory alive, from the marks of looks.
#include "analysis/leaks/holders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/leaks/leaks.h"
#include "analysis/load/load.h"
#include "tests/support/random_log.h"
#include "tests/support/temp_file.h"

namespace memprof::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::LoadLog;
using testing::LogBuilder;
using testing::TempDirectory;
using ::testing::UnorderedElementsAre;

constexpr std::uint64_t kBase = 0x100000, kApart = 0x1000, kBytes = 1024;

class HoldersTest : public ::testing::Test {
 protected:
  HoldersTest() {
    const int stack = log_.Stack({"main (a.cc:1)"});
    log_.Alloc(Layer::kLinear, kBase, 1 << 20, {.stack = stack});
    log_.Alloc(Layer::kSegment, kBase, 1 << 20, {.stack = stack});
    for (int i = 0; i < 4; ++i)
      log_.Alloc(Layer::kBlock, kBase + i * kApart, kBytes, {.stack = stack});
  }
  void Held(int block, HolderKind kind, const std::string& text) {
    log_.Event(Op::kHeld, Layer::kUnspecified, kBase + block * kApart, kBytes, log_.String(text),
               {.aux0 = static_cast<std::uint64_t>(kind)});
  }
  // A mark of a scan, for the driver's memory.
  void Scanned(const std::string& text, std::uint64_t place_1 = 0) {
    log_.Event(Op::kHeld, Layer::kLinear, kBase, 1 << 20, log_.String(text),
               {.aux0 = static_cast<std::uint64_t>(HolderKind::kCpp), .aux1 = place_1});
  }
  void EndScan() {
    log_.Event(Op::kHostScan, Layer::kUnspecified, 0, 0, 0, {.device = -1, .aux1 = 1});
  }
  // Paths of the holders of the memory of a layer.
  std::vector<std::string> PathsOf(Layer layer) {
    const auto session = LoadLog(log_);
    std::vector<AllocationId> ids;
    for (std::uint32_t i = 0; i < session->allocations().size(); ++i)
      if (session->record(AllocationId(i)).layer == layer) ids.push_back(AllocationId(i));
    std::vector<std::string> paths;
    for (const Holder& holder : Holders(*session).Of(ids)) paths.push_back(holder.path);
    return paths;
  }
  void EndLook() { log_.Event(Op::kHolders, Layer::kUnspecified, 0, 0, 0, {.device = -1}); }
  // "path|root|kind: blocks, bytes" of each holder of the blocks.
  std::vector<std::string> Told(bool in_steps = false) {
    const auto session = LoadLog(log_);
    std::vector<AllocationId> blocks;
    for (std::uint32_t i = 0; i < session->allocations().size(); ++i)
      if (session->record(AllocationId(i)).layer == Layer::kBlock)
        blocks.push_back(AllocationId(i));
    std::vector<std::string> told;
    const Holders holders(*session);
    for (const Holder& holder : holders.Of(blocks, in_steps ? holders.LastStepOf(0) : EventId()))
      told.push_back(holder.path + "|" + holder.root + "|" +
                     std::string(HolderKindName(holder.kind)) + ": " +
                     std::to_string(holder.blocks) + ", " + std::to_string(holder.bytes));
    return told;
  }
  std::vector<std::string> ToldInSteps() { return Told(true); }

  LogBuilder log_;
};

TEST_F(HoldersTest, JoinsBlocksOfTheSameHolderTheLargestFirst) {
  Held(0, HolderKind::kAutograd, "graph\nroot a");
  for (int i = 0; i < 3; ++i) Held(i, HolderKind::kPython, "list\nroot b");
  EndLook();
  EXPECT_THAT(Told(), ElementsAre("list|root b|python: 3, 3072", "graph|root a|autograd: 1, 1024"));
}

TEST_F(HoldersTest, OfEachBlockTheLastLookThatFoundItCounts) {
  for (int i = 0; i < 2; ++i) Held(i, HolderKind::kPython, "old\n");
  EndLook();
  Held(1, HolderKind::kPython, "new\n");
  EndLook();
  EndLook();  // this look found neither
  EXPECT_THAT(Told(), ElementsAre("old||python: 1, 1024", "new||python: 1, 1024"));
}

TEST_F(HoldersTest, WhatGrowsWithTheStepsIsToldAsItWasHeldInThem) {
  log_.Step(0);
  for (int i = 0; i < 2; ++i) Held(i, HolderKind::kPython, "early\n");
  EndLook();
  log_.Step(1);
  Held(0, HolderKind::kPython, "in the steps\n");
  EndLook();
  log_.Step(2);
  for (int i = 0; i < 3; ++i) Held(i, HolderKind::kCycle, "main has returned\n");
  EndLook();
  EXPECT_THAT(Told(), ElementsAre("main has returned||cycle: 3, 3072"));
  EXPECT_THAT(ToldInSteps(),
              UnorderedElementsAre("early||python: 1, 1024", "in the steps||python: 1, 1024",
                                   "main has returned||cycle: 1, 1024"));
}

TEST_F(HoldersTest, GarbageIsWhatALookFoundInCyclesBefore) {
  for (int i = 0; i < 3; ++i) Held(i, HolderKind::kCycle, "cycle\n");
  Held(1, HolderKind::kPython, "also a variable\n");
  EndLook();
  Held(0, HolderKind::kCycle, "cycle\n");
  EndLook();
  Held(3, HolderKind::kCycle, "too late\n");
  EndLook();
  const auto session = LoadLog(log_);
  std::vector<AllocationId> blocks;
  std::vector<EventId> ends;
  for (std::uint32_t i = 0; i < session->allocations().size(); ++i)
    if (session->record(AllocationId(i)).layer == Layer::kBlock) blocks.push_back(AllocationId(i));
  for (std::uint32_t i = 0; i < session->events().size(); ++i)
    if (session->events().op(i) == Op::kHolders) ends.push_back(EventId(i));
  const Holders holders(*session);
  EXPECT_EQ(holders.GarbageAt(blocks, EventId(0)), std::nullopt);
  EXPECT_EQ(holders.GarbageAt(blocks, ends[0]), 2 * kBytes);
  EXPECT_EQ(holders.GarbageAt(blocks, ends[1]), 2 * kBytes);
  EXPECT_EQ(holders.GarbageAt(blocks, ends[2]), 3 * kBytes);
}

TEST_F(HoldersTest, TheChainIsWhatFollowsTheRoot) {
  Held(0, HolderKind::kPython, "list `m.p`\nglobal `m`\n`m`: Metrics\n`m.p`: list");
  Held(1, HolderKind::kPython, "`t`\nglobal `t`");
  EndLook();
  const auto session = LoadLog(log_);
  std::vector<AllocationId> all;
  for (std::uint32_t i = 0; i < session->allocations().size(); ++i) all.push_back(AllocationId(i));
  const std::vector<Holder> holders = Holders(*session).Of(all);
  ASSERT_EQ(holders.size(), 2u);
  EXPECT_THAT(holders[0].chain, ElementsAre("`m`: Metrics", "`m.p`: list"));
  EXPECT_THAT(holders[1].chain, IsEmpty());
}

TEST_F(HoldersTest, WithoutALookThereAreNone) { EXPECT_THAT(Told(), IsEmpty()); }

TEST_F(HoldersTest, WhatNobodyHoldsHasNone) {
  EndLook();
  EXPECT_THAT(Told(), IsEmpty());
}

TEST_F(HoldersTest, AStrangeKindOrTextIsToldAsItIs) {
  Held(0, static_cast<HolderKind>(9), "no root");
  Held(0, HolderKind::kCycle, "");
  EndLook();
  EXPECT_THAT(Told(),
              ::testing::UnorderedElementsAre("no root||unknown: 1, 1024", "||cycle: 1, 1024"));
}

TEST_F(HoldersTest, ABlockAtTheAddressOfItsSegmentIsMeant) {
  Held(0, HolderKind::kPython, "list\n");
  log_.Free(Layer::kBlock, kBase);
  EndLook();
  const auto session = LoadLog(log_);
  for (std::uint32_t i = 0; i < session->events().size(); ++i) {
    if (session->events().op(i) != Op::kHeld) continue;
    EXPECT_EQ(session->record(session->events().allocation(i)).layer, Layer::kBlock);
  }
}

TEST_F(HoldersTest, AScanIsOfTheDriversMemory) {
  Scanned("global of /none/trainer\nglobal of /none/trainer", 1 + 0x40);
  EndScan();
  EXPECT_THAT(PathsOf(Layer::kBlock), IsEmpty());
  EXPECT_THAT(PathsOf(Layer::kLinear), ElementsAre("global of trainer + 0x40"));
}

TEST_F(HoldersTest, TheLastScanCounts) {
  Scanned("stack of thread 1\nstack of thread 1");
  Scanned("stack of thread 2\nstack of thread 2");
  EndScan();
  Scanned("heap\nheap");
  EndScan();
  EXPECT_THAT(PathsOf(Layer::kLinear), ElementsAre("heap"));
}

TEST_F(HoldersTest, PythonsVariablesCountBeforeThoseOfAScan) {
  for (const bool scan_first : {true, false}) {
    LogBuilder log;
    log.Alloc(Layer::kLinear, kBase, kBytes, {.stack = log.Stack({"main (a.cc:1)"})});
    for (const bool scan : {scan_first, !scan_first}) {
      log.Event(Op::kHeld, scan ? Layer::kLinear : Layer::kUnspecified, kBase, kBytes,
                log.String(scan ? "heap\nheap" : "list\nroot"), {.aux0 = scan ? 3u : 1u});
      log.Event(scan ? Op::kHostScan : Op::kHolders, Layer::kUnspecified, 0, 0, 0, {.device = -1});
    }
    const auto session = LoadLog(log);
    const AllocationId id(0);
    const std::vector<Holder> holders = Holders(*session).Of({&id, 1});
    ASSERT_EQ(holders.size(), 1u);
    EXPECT_EQ(holders[0].path, "list");
  }
}

// A tree's variable has pointers to three of its nodes.
TEST_F(HoldersTest, EntriesAtSeveralPlacesOfAVariableAreOne) {
  const std::string tree =
      "heap blocks of 56 bytes, in global of /b/a\nglobal of /b/a\nheap blocks of 56 bytes";
  Scanned(tree, 1 + 0x10);
  Scanned(tree, 1 + 0x18);
  const std::string one =
      "heap block of 8 KiB, in global of /b/a\nglobal of /b/a\nheap block of 8 KiB";
  Scanned(one, 1 + 0x20);
  EndScan();
  EXPECT_THAT(PathsOf(Layer::kLinear),
              ::testing::UnorderedElementsAre("heap blocks of 56 bytes, in global of a",
                                              "heap block of 8 KiB, in global of a + 0x20"));
}

TEST_F(HoldersTest, AFewPlacesOfAVariableAreTold) {
  for (const int count : {4, 5}) {
    LogBuilder log;
    log.Alloc(Layer::kLinear, kBase, kBytes, {.stack = log.Stack({"main (a.cc:1)"})});
    for (int i = 0; i < count; ++i)
      log.Event(Op::kHeld, Layer::kLinear, kBase, kBytes,
                log.String("thread-local variable of /b/a\nthread-local variable of /b/a"),
                {.aux0 = 3, .aux1 = 9u + static_cast<unsigned>(i) * 8});
    log.Event(Op::kHostScan, Layer::kUnspecified, 0, 0, 0, {.device = -1});
    const auto session = LoadLog(log);
    const AllocationId id(0);
    const std::vector<Holder> holders = Holders(*session).Of({&id, 1});
    EXPECT_EQ(holders.size(), count == 4 ? 4u : 1u);
    EXPECT_EQ(holders[0].path,
              count == 4 ? "thread-local variable of a + 0x8" : "thread-local variable of a");
  }
}

// Damaged or foreign logs.
TEST_F(HoldersTest, StrangeLabelsOfScansAreToldAsTheyAre) {
  Scanned("", 5);
  Scanned("one line", 5);
  Scanned("x\nglobal of ", 5);
  Scanned("y\nglobal of /b/a\nz", ~std::uint64_t{0});
  EndScan();
  EXPECT_THAT(PathsOf(Layer::kLinear), ::testing::UnorderedElementsAre("", "one line", "x", "y"));
}

TEST_F(HoldersTest, LeaksAndTheRestHaveThem) {
  Held(0, HolderKind::kPython, "list\nroot");
  EndLook();
  const LeakReport report = FindLeaks(*LoadLog(log_));
  std::size_t with = 0;
  for (const Leak& leak : report.live_at_exit) with += leak.holders.size();
  EXPECT_EQ(with, 1u);
}

TEST_F(HoldersTest, TheRestIsWhatNoLookFoundAHolderOf) {
  Held(0, HolderKind::kPython, "list\nroot");
  EndLook();
  EndLook();
  const LeakReport report = FindLeaks(*LoadLog(log_));
  for (const Leak& leak : report.live_at_exit) {
    ASSERT_TRUE(leak.without_holder.has_value());
    if (leak.layer != Layer::kBlock) continue;
    EXPECT_EQ(leak.without_holder->blocks, 3u);
    EXPECT_EQ(leak.without_holder->bytes, 3 * kBytes);
  }
}

TEST_F(HoldersTest, WithoutALookThereIsNoRest) {
  const LeakReport report = FindLeaks(*LoadLog(log_));
  ASSERT_FALSE(report.live_at_exit.empty());
  for (const Leak& leak : report.live_at_exit) EXPECT_FALSE(leak.without_holder.has_value());
}

TEST_F(HoldersTest, WhatOnlyRepeatsAVariableComesLast) {
  for (int i = 0; i < 3; ++i)
    Held(i, HolderKind::kPython, "`x`, held by `last_value` (global `last_value`, sys)");
  Held(0, HolderKind::kPython, "`metrics.last_value` (global `metrics`, train.py:3)");
  EndLook();
  EXPECT_THAT(PathsOf(Layer::kBlock),
              ElementsAre("`metrics.last_value` (global `metrics`, train.py:3)",
                          "`x`, held by `last_value` (global `last_value`, sys)"));
}

// The library that asked for memory of which Python only knows that native code holds it.
class AskedForTest : public HoldersTest {
 protected:
  AskedForTest() {
    std::uint32_t id = 0;
    for (const char* path :
         {"/usr/bin/python3.11", "/v/site-packages/torch/lib/libtorch_cpu.so", "/usr/lib/libc.so.6",
          "/opt/memprof/lib/libmemprof.so", "/home/u/libmylib.so", "/home/u/libother.so"}) {
      log::Module* const module = log_.definitions().add_module();
      module->set_id(++id);
      module->set_path(path);
      module->set_first_address(0x1000 * id);
      module->set_end_address(0x1000 * id + 0x1000);
    }
  }
  // The path of the holder of a block that this stack of modules, outermost first, has allocated.
  std::string Told(const std::vector<std::uint32_t>& modules, HolderKind kind) {
    const int stack = NativeStack(modules);
    log_.Alloc(Layer::kBlock, kBase + 16 * kApart, kBytes, {.stack = stack});
    Held(16, kind, "only native code holds this `Tensor`\nnative code");
    EndLook();
    const auto session = LoadLog(log_);
    const AllocationId id(static_cast<std::uint32_t>(session->allocations().size() - 1));
    const std::vector<Holder> holders = Holders(*session).Of({&id, 1});
    EXPECT_EQ(holders.size(), 1u);
    EXPECT_EQ(holders[0].root, "native code");
    return holders[0].path;
  }
  int NativeStack(const std::vector<std::uint32_t>& modules) {
    log::StackTrie* const trie = log_.definitions().mutable_trie();
    const int before = trie->parent_size();
    std::int64_t last = 0;
    for (std::size_t i = 0; i < modules.size(); ++i) {
      trie->add_parent(i == 0 ? 0 : static_cast<std::uint32_t>(before + static_cast<int>(i)));
      const std::int64_t address = 0x1000 * modules[i] + 0x10;
      trie->add_address_delta(address - last);
      last = address;
      trie->add_module(modules[i]);
      trie->add_kind(log::FRAME_NATIVE);
    }
    return before + static_cast<int>(modules.size());
  }
};

constexpr std::uint32_t kPython = 1, kTorch = 2, kLibc = 3, kRecorder = 4, kMine = 5, kOther = 6;

TEST_F(AskedForTest, TheInnermostLibraryThatIsNoFrameworks) {
  EXPECT_EQ(Told({kPython, kOther, kPython, kMine, kTorch, kLibc, kRecorder}, HolderKind::kCpp),
            "only native code holds this `Tensor`; `libmylib.so` asked for it");
}

TEST_F(AskedForTest, NobodyElse) {
  EXPECT_EQ(Told({kPython, kTorch, kLibc}, HolderKind::kCpp),
            "only native code holds this `Tensor`");
}

TEST_F(AskedForTest, AVariableOfPythonNeedsNoSuchHint) {
  EXPECT_EQ(Told({kPython, kMine, kTorch}, HolderKind::kPython),
            "only native code holds this `Tensor`");
}

// Looks of two processes overlap: the end of one's is no end of the other's.
TEST(ManyProcesses, EachHasItsOwnLooks) {
  const TempDirectory directory;
  std::vector<std::string> paths;
  for (const int process : {0, 1}) {
    LogBuilder log;
    log.header().set_pid(static_cast<std::uint32_t>(100 + process));
    log.Alloc(Layer::kLinear, 0x100000, 8192, {.stack = log.Stack({"main (a.cc:1)"})});
    if (process == 1) log.AdvanceTime(1500);
    for (const char* text : {"a\n", "b\n"}) {
      log.AdvanceTime(2000);
      log.Event(Op::kHeld, Layer::kUnspecified, 0x100000, 8192, log.String(text), {.aux0 = 1});
    }
    log.Event(Op::kHolders, Layer::kUnspecified, 0, 0, 0, {.device = -1});
    paths.push_back(directory.Write(std::to_string(process) + ".mprof", log.Bytes()));
  }
  const auto session = LoadLogs(paths, {.find_steps = false});
  ASSERT_TRUE(session.ok()) << session.status();
  const Holders holders(**session);
  for (std::uint32_t i = 0; i < (*session)->allocations().size(); ++i) {
    const AllocationId id(i);
    EXPECT_EQ(holders.Of({&id, 1}).size(), 2u) << "process " << i;
  }
}

TEST(SumUpHolders, EntriesOfAContainerAreOneRow) {
  const auto holder = [](std::string path, std::uint64_t bytes) {
    Holder made;
    made.path = std::move(path);
    made.bytes = bytes;
    made.blocks = 1;
    return made;
  };
  const std::vector<Holder> sums = SumUp({holder("`x` (global `last_traceback`, sys)", 900),
                                          holder("`staged['a[0].weight']` (global `staged`)", 3),
                                          holder("`staged['b']` (global `staged`)", 4),
                                          holder("`alone[0]`", 5), holder("`alone[0]`", 6)});
  ASSERT_EQ(sums.size(), 3u);
  EXPECT_EQ(sums[0].path, "`alone[…]`");
  EXPECT_EQ(sums[0].bytes, 11u);
  EXPECT_EQ(sums[1].path, "`staged[…]` (global `staged`)");
  EXPECT_EQ(sums[1].bytes, 7u);
  EXPECT_EQ(sums[1].blocks, 2u);
  EXPECT_EQ(sums[2].bytes, 900u) << "the program's variables come first";
}

TEST(SumUpHolders, EntriesOfManyEntriesAreOneRow) {
  std::vector<Holder> holders;
  const auto add = [&](const std::string& path) {
    holders.emplace_back();
    holders.back().path = "`" + path + "` (global `checkpoint`)";
    holders.back().bytes = holders.back().blocks = 1;
  };
  for (int i = 0; i < 4; ++i)
    for (const char* name : {"step", "exp_avg"})
      add("checkpoint['optimizer']['state'][" + std::to_string(i) + "]['" + name + "']");
  for (const char* name : {"0.weight", "0.bias", "2[0].weight"})
    add("checkpoint['model']['" + std::string(name) + "']");
  for (int i = 0; i < 3; ++i) add("few[" + std::to_string(i) + "][0]");
  const std::vector<Holder> sums = SumUp(holders);
  ASSERT_EQ(sums.size(), 5u);
  EXPECT_EQ(sums[0].path, "`checkpoint['optimizer']['state'][…][…]` (global `checkpoint`)");
  EXPECT_EQ(sums[0].bytes, 8u);
  EXPECT_EQ(sums[1].path, "`checkpoint['model'][…]` (global `checkpoint`)");
  EXPECT_EQ(sums[1].blocks, 3u);
  EXPECT_EQ(sums[2].path, "`few[0][0]` (global `checkpoint`)") << "three can be read";
}

}  // namespace
}  // namespace memprof::analysis
