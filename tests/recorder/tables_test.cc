// The recorder's tables, each beside a simple twin: live allocations, VMM references, definitions
// and the stack trie.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "libmemprof/src/array_bytes.h"
#include "libmemprof/src/definitions.h"
#include "libmemprof/src/live_table.h"
#include "libmemprof/src/modules.h"
#include "libmemprof/src/stack_table.h"
#include "libmemprof/src/vmm_ledger.h"
#include "libmemprof/src/vocabulary.h"
#include "tests/recorder/log_reader.h"

namespace memprof::recorder {
namespace {

using ring::RingEvent;

// What the ring holds in definitions, decoded without the writer.
testing::Log PublishedDefinitions(RingBuffer* ring) {
  testing::Log log;
  std::map<std::uint64_t, ring::SlabHeader*> in_order;
  for (std::uint32_t i = 0; i < ring->slabs_ready(); ++i) {
    ring::SlabHeader* slab = ring->slab(i);
    if (slab->state.load() != ring::SlabState::kFree && slab->kind == ring::SlabKind::kDefinitions)
      in_order[slab->sequence] = slab;
  }
  for (const auto& [sequence, slab] : in_order) {
    for (std::uint32_t at = 0; at < slab->published.load();) {
      ring::DefinitionRecord record;
      std::memcpy(&record, SlabBytesBegin(slab) + at, sizeof record);
      const char* payload = SlabBytesBegin(slab) + at + sizeof record;
      if (record.kind == ring::DefinitionKind::kNode) {
        ring::NodeRecord node;
        std::memcpy(&node, payload, sizeof node);
        EXPECT_EQ(node.id, log.nodes.size() + 1) << "ids are consecutive";
        EXPECT_LT(node.parent, node.id);
        log.nodes[node.id] = {node.parent, node.address, node.module};
      } else {
        log::Definitions definitions;
        EXPECT_TRUE(definitions.ParseFromArray(payload, static_cast<int>(record.bytes)));
        testing::AddDefinitions(definitions, &log);
      }
      at += ring::PaddedRecordBytes(record.bytes);
    }
  }
  return log;
}

class WithRing : public ::testing::Test {
 protected:
  WithRing() {
    RingOptions options;
    options.shared_directory = "/nowhere";
    EXPECT_TRUE(ring_.Create(options));
  }
  RingBuffer ring_;
  Definitions definitions_{&ring_};
};

using DefinitionsTest = WithRing;

TEST_F(DefinitionsTest, EveryKindIsDecodedByLibprotobuf) {
  const std::uint32_t name = definitions_.InternString("weights");
  const std::uint32_t dtype = definitions_.InternString("bad \xc3(");
  EXPECT_EQ(definitions_.InternString("weights"), name);
  const std::int64_t shape[] = {7, 1ll << 40};
  const std::uint32_t tensor = definitions_.InternTensor(name, dtype, 2, shape);
  EXPECT_EQ(definitions_.InternTensor(name, dtype, 2, shape), tensor);
  EXPECT_NE(definitions_.InternTensor(name, dtype, 1, shape), tensor);
  definitions_.AddThread(3, 4711, "worker");
  const unsigned char uuid[16] = {1, 2, 3};
  definitions_.AddDevice({1, "GPU", 80ull << 30, uuid, true, 13000, 79ull << 30});
  definitions_.AddContext(5, 0xdeadbeef, 1, true);
  definitions_.AddPool(0xabc, 1, true);
  const unsigned char build_id[20] = {9, 9};
  definitions_.AddModule({8, "/lib/x.so", build_id, 20, 0x1000, 0x2000, 0x3000});
  definitions_.AddSource("driver", kSourceOn, "because");

  const testing::Log log = PublishedDefinitions(&ring_);
  EXPECT_EQ(log.Text(name), "weights");
  EXPECT_EQ(log.Text(dtype), "bad \xef\xbf\xbd(");
  EXPECT_THAT(log.tensors.at(tensor).shape(), ::testing::ElementsAre(7, 1ll << 40));
  EXPECT_EQ(log.threads.at(3).tid(), 4711u);
  EXPECT_EQ(log.threads.at(3).name(), "worker");
  EXPECT_EQ(log.devices.at(1).uuid().size(), 16u);
  EXPECT_EQ(log.devices.at(1).capacity_bytes(), 80ull << 30);
  EXPECT_EQ(log.devices.at(1).free_at_start_bytes(), 79ull << 30);
  EXPECT_TRUE(log.devices.at(1).simulated());
  EXPECT_EQ(log.contexts.at(5).handle(), 0xdeadbeefu);
  EXPECT_TRUE(log.contexts.at(5).primary());
  EXPECT_TRUE(log.pools.at(0xabc).is_default());
  EXPECT_EQ(log.modules.at(8).path(), "/lib/x.so");
  EXPECT_EQ(log.modules.at(8).build_id().size(), 20u);
  EXPECT_EQ(log.modules.at(8).end_address(), 0x3000u);
  EXPECT_GT(log.modules.at(8).load_time_ns(), 0u);
  EXPECT_EQ(log.sources.at(0).detail(), "because");
}

TEST_F(DefinitionsTest, ThousandsOfStringsKeepTheirIds) {
  std::map<std::string, std::uint32_t> twin;
  std::mt19937 random(5);
  for (int i = 0; i < 20000; ++i) {
    const std::string text = "name" + std::to_string(random() % 5000);
    const std::uint32_t id = definitions_.InternString(text.data(), text.size());
    ASSERT_NE(id, 0u);
    const auto [known, is_new] = twin.emplace(text, id);
    ASSERT_EQ(known->second, id) << text;
  }
  const testing::Log log = PublishedDefinitions(&ring_);
  ASSERT_EQ(log.strings.size(), twin.size());
  for (const auto& [text, id] : twin) EXPECT_EQ(log.Text(id), text);
}

TEST_F(DefinitionsTest, WithoutRoomTheyAreCountedAsLostAndHaveNoId) {
  const std::string large(30000, 'x');
  std::uint32_t id = 1, last = 0;
  for (int i = 0; i < 100000 && id != 0; ++i) {
    const std::string text = large + std::to_string(i);
    id = definitions_.InternString(text.data(), text.size());
    if (id != 0) last = id;
  }
  EXPECT_EQ(id, 0u);
  EXPECT_GT(last, 100u);
  EXPECT_GE(ring_.AnomalyCount(log::Anomaly::kDefinitionsLost), 1u);
  EXPECT_EQ(definitions_.InternString((large + "0").c_str()), 1u) << "known ones still answer";
}

class StackTableTest : public WithRing {
 protected:
  StackTableTest() { EXPECT_TRUE(stacks_.Create()); }
  Modules modules_{&definitions_};
  StackTable stacks_{&definitions_, &modules_};
  StackCache cache_{};
};

using Stack = std::vector<void*>;

Stack RandomStack(std::mt19937* random) {
  Stack stack;
  for (std::size_t depth = 1 + (*random)() % 12, i = 0; i < depth; ++i)
    stack.push_back(reinterpret_cast<void*>(0x400000ul + 16 * ((*random)() % 4)));
  return stack;
}

TEST_F(StackTableTest, SameStackSameNodeAndTheLogHasItsFrames) {
  std::mt19937 random(1);
  std::map<Stack, std::uint32_t> twin;
  for (int i = 0; i < 20000; ++i) {
    const Stack stack = RandomStack(&random);
    const std::uint32_t node =
        stacks_.Intern(stack.data(), static_cast<int>(stack.size()), &cache_);
    ASSERT_NE(node, 0u);
    const auto [known, is_new] = twin.emplace(stack, node);
    ASSERT_EQ(known->second, node);
  }
  const testing::Log log = PublishedDefinitions(&ring_);
  EXPECT_EQ(log.nodes.size(), stacks_.nodes());
  std::set<std::uint32_t> distinct;
  for (const auto& [stack, node] : twin) {
    distinct.insert(node);
    const std::vector<testing::StackNode> frames = log.Stack(node);
    ASSERT_EQ(frames.size(), stack.size());
    for (std::size_t i = 0; i < stack.size(); ++i)
      EXPECT_EQ(frames[i].address, reinterpret_cast<std::uint64_t>(stack[i]) - 1);
  }
  EXPECT_EQ(distinct.size(), twin.size());
  // No edge is written twice.
  std::set<std::pair<std::uint32_t, std::uint64_t>> edges;
  for (const auto& [id, node] : log.nodes)
    EXPECT_TRUE(edges.emplace(node.parent, node.address).second);
}

TEST_F(StackTableTest, ThreadsAgreeOnEveryNode) {
  constexpr int kThreads = 4, kStacks = 3000;
  std::vector<std::vector<std::uint32_t>> nodes(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 random(99);  // all threads meet the same stacks at about the same time
      auto cache = std::make_unique<StackCache>();
      for (int i = 0; i < kStacks; ++i) {
        const Stack stack = RandomStack(&random);
        nodes[static_cast<std::size_t>(t)].push_back(
            stacks_.Intern(stack.data(), static_cast<int>(stack.size()), cache.get()));
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (int t = 1; t < kThreads; ++t) EXPECT_EQ(nodes[static_cast<std::size_t>(t)], nodes[0]);
  EXPECT_EQ(PublishedDefinitions(&ring_).nodes.size(), stacks_.nodes());
}

TEST_F(StackTableTest, FramesKnowTheirModule) {
  void* frames[] = {reinterpret_cast<void*>(&ring::PaddedRecordBytes),
                    reinterpret_cast<void*>(&std::strlen)};
  const std::uint32_t node = stacks_.Intern(frames, 2, &cache_);
  const testing::Log log = PublishedDefinitions(&ring_);
  const std::vector<testing::StackNode> stack = log.Stack(node);
  ASSERT_EQ(stack.size(), 2u);
  for (const testing::StackNode& frame : stack) {
    ASSERT_TRUE(log.modules.count(frame.module));
    const log::Module& module = log.modules.at(frame.module);
    EXPECT_GE(frame.address, module.first_address());
    EXPECT_LT(frame.address, module.end_address());
  }
}

TEST_F(StackTableTest, AnEmptyStackIsNone) { EXPECT_EQ(stacks_.Intern(nullptr, 0, &cache_), 0u); }

RingEvent Allocation(std::uint64_t address, std::uint64_t bytes, std::uint64_t time) {
  RingEvent event{};
  event.op = kOpAlloc;
  event.layer = kLayerLinear;
  event.address = address;
  event.bytes = bytes;
  event.time_ns = time;
  return event;
}

RingEvent Release(std::uint64_t address, std::uint64_t time) {
  RingEvent event = Allocation(address, 0, time);
  event.op = kOpFree;
  return event;
}

TEST(LiveTable, AgreesWithAMapOnRandomTraffic) {
  std::mt19937 random(11);
  LiveTable table;
  std::map<std::uint64_t, std::uint64_t> twin;
  std::uint64_t live = 0, peak = 0, allocations = 0, frees = 0;
  for (std::uint64_t i = 0; i < 200000; ++i) {
    const std::uint64_t address = 512 * (1 + random() % 8000);
    if (twin.count(address) == 0) {
      const std::uint64_t bytes = random() % 5000;
      table.Apply(Allocation(address, bytes, i));
      twin[address] = bytes;
      live += bytes;
      peak = std::max(peak, live);
      ++allocations;
    } else {
      table.Apply(Release(address, i));
      live -= twin[address];
      twin.erase(address);
      ++frees;
    }
    ASSERT_EQ(table.totals().live_bytes, live);
  }
  EXPECT_EQ(table.totals().peak_bytes, peak);
  EXPECT_EQ(table.totals().allocations, allocations);
  EXPECT_EQ(table.totals().frees, frees);
}

TEST(LiveTable, AFreeThatArrivesFirstSettlesItsAllocation) {
  LiveTable table;
  table.Apply(Release(0x1000, 20));
  EXPECT_EQ(table.totals().frees, 0u);
  table.Apply(Allocation(0x1000, 64, 10));
  EXPECT_EQ(table.totals().live_bytes, 0u);
  EXPECT_EQ(table.totals().frees, 1u);
  table.Apply(Allocation(0x1000, 64, 30));  // the address lives again
  EXPECT_EQ(table.totals().live_bytes, 64u);
}

TEST(LiveTable, CountsOnlyWhatOccupiesADevice) {
  LiveTable table;
  RingEvent event = Allocation(0x1000, 64, 1);
  for (const Layer layer : {kLayerPinned, kLayerRegistered, kLayerVmmAddress, kLayerImported,
                            kLayerGraph, kLayerSegment, kLayerBlock, kLayerTensor}) {
    event.layer = layer;
    table.Apply(event);
  }
  EXPECT_EQ(table.totals().allocations, 0u);
  for (const Layer layer : {kLayerLinear, kLayerPitched, kLayerArray, kLayerManaged,
                            kLayerStreamOrdered, kLayerVmmPhysical}) {
    event.layer = layer;
    event.address += 0x1000;
    table.Apply(event);
  }
  EXPECT_EQ(table.totals().allocations, 6u);
  EXPECT_EQ(table.totals().live_bytes, 6 * 64u);
}

TEST(LiveTable, TheEndOfAContextFreesWhatWasItsOwn) {
  LiveTable table;
  for (std::uint64_t i = 1; i <= 3000; ++i) {
    RingEvent event = Allocation(i * 512, 10, i);
    event.context = 1 + i % 3;
    table.Apply(event);
  }
  RingEvent end{};
  end.op = kOpContextDestroy;
  end.context = 2;
  table.Apply(end);
  EXPECT_EQ(table.totals().live_bytes, 20000u);
}

// The rule of the ledger in its simplest form: sets of references.
TEST(VmmLedger, LastReferenceAgreesWithATwin) {
  std::mt19937 random(3);
  VmmLedger ledger;
  struct Twin {
    int references = 0;
    std::multiset<std::uint64_t> mapped;
  };
  std::map<std::uint64_t, Twin> twin;
  std::uint64_t next_handle = 1;
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t handle =
        twin.empty() ? 0 : std::next(twin.begin(), random() % twin.size())->first;
    switch (random() % 5) {
      case 0:
        if (twin.size() > 20) break;
        ledger.Create(next_handle, 100, 0, kLayerVmmPhysical);
        twin[next_handle++].references = 1;
        break;
      case 1:
        if (handle == 0 || twin[handle].references == 0) break;
        ledger.Retain(handle);
        ++twin[handle].references;
        break;
      case 2: {
        if (handle == 0 || twin[handle].references == 0) break;
        const VmmLedger::Physical gone = ledger.Release(handle);
        const bool last = --twin[handle].references == 0 && twin[handle].mapped.empty();
        ASSERT_EQ(gone.last, last);
        if (last) twin.erase(handle);
        break;
      }
      case 3: {
        if (handle == 0 || twin[handle].references == 0) break;
        const std::uint64_t address = 4096 * (1 + random() % 1000000) + handle;
        ledger.Map(address, 1, handle);
        twin[handle].mapped.insert(address);
        break;
      }
      default: {
        if (handle == 0 || twin[handle].mapped.empty()) break;
        const std::uint64_t address = *twin[handle].mapped.begin();
        VmmLedger::Mapping mapping;
        VmmLedger::Physical physical;
        ASSERT_TRUE(ledger.Unmap(address, 1, &mapping, &physical));
        ASSERT_EQ(mapping.address, address);
        twin[handle].mapped.erase(twin[handle].mapped.begin());
        const bool last = twin[handle].references == 0 && twin[handle].mapped.empty();
        ASSERT_EQ(physical.last, last);
        ASSERT_EQ(physical.bytes, 100u);
        if (last) twin.erase(handle);
        break;
      }
    }
  }
}

TEST(VmmLedger, OneUnmapMayCoverSeveralMaps) {
  VmmLedger ledger;
  ledger.Create(1, 10, 0, kLayerVmmPhysical);
  ledger.Map(1000, 10, 1);
  ledger.Map(1010, 10, 1);
  ledger.Map(1020, 10, 1);
  VmmLedger::Mapping mapping;
  VmmLedger::Physical physical;
  int removed = 0;
  while (ledger.Unmap(1000, 20, &mapping, &physical)) ++removed;
  EXPECT_EQ(removed, 2);
  EXPECT_FALSE(ledger.Release(1).last);
  ASSERT_TRUE(ledger.Unmap(1020, 10, &mapping, &physical));
  EXPECT_TRUE(physical.last);
  EXPECT_EQ(ledger.Release(1).handle, 0u) << "gone";
}

TEST(ArrayBytes, CountElementsChannelsAndLevels) {
  CUDA_ARRAY_DESCRIPTOR flat{};
  flat.Width = 100;
  flat.Format = CU_AD_FORMAT_FLOAT;
  flat.NumChannels = 4;
  EXPECT_EQ(ArrayBytes(&flat), 1600u);
  flat.Height = 10;
  EXPECT_EQ(ArrayBytes(&flat), 16000u);
  CUDA_ARRAY3D_DESCRIPTOR deep{};
  deep.Width = 64;
  deep.Height = 32;
  deep.Depth = 8;
  deep.Format = CU_AD_FORMAT_HALF;
  deep.NumChannels = 1;
  EXPECT_EQ(ArrayBytes3D(&deep, 1), 64u * 32 * 8 * 2);
  EXPECT_EQ(ArrayBytes3D(&deep, 3), 2u * (64 * 32 * 8 + 32 * 16 * 4 + 16 * 8 * 2));
  deep.Flags = CUDA_ARRAY3D_LAYERED;
  EXPECT_EQ(ArrayBytes3D(&deep, 2), 2u * 8 * (64 * 32 + 32 * 16));
  deep.Format = static_cast<CUarray_format>(0x91);  // BC1: 4 bits a pixel, all channels
  EXPECT_EQ(ArrayBytes3D(&deep, 1), 64u * 32 * 8 / 2);
  deep.Format = static_cast<CUarray_format>(0xb0);  // planar video
  EXPECT_EQ(ArrayBytes3D(&deep, 1), 0u);
  const unsigned old[] = {10, 20, 0x03, 2};  // width, height, 32-bit format, channels
  EXPECT_EQ(ArrayBytes32(old), 10u * 20 * 4 * 2);
  const unsigned old3d[] = {10, 20, 3, 0x01, 1, 0};
  EXPECT_EQ(ArrayBytes3D32(old3d), 600u);
  EXPECT_EQ(ArrayBytes(nullptr) + ArrayBytes3D(nullptr, 1) + ArrayBytes32(nullptr), 0u);
}

}  // namespace
}  // namespace memprof::recorder
