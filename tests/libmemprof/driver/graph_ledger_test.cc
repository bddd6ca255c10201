// The ledger of graphs' memory nodes, against a model that keeps everything in maps.
#include "libmemprof/src/driver/graph_ledger.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

namespace memprof::recorder {
namespace {

using Node = GraphLedger::Node;
using Change = GraphLedger::Change;

std::vector<Change> Launch(GraphLedger* ledger, std::uint64_t exec) {
  MappedArray<Change> changes;
  ledger->Launch(exec, &changes);
  return {changes.begin(), changes.end()};
}

TEST(GraphLedger, ForgetsGraphsAndExecutables) {
  GraphLedger ledger;
  EXPECT_FALSE(ledger.HasMemory(7));
  ledger.AddNode(1, {0x1000, 10, 3, 2, false});
  ledger.AddNode(1, {0x2000, 20, 4, 2, false});
  ledger.Instantiate(1, 7);
  EXPECT_TRUE(ledger.HasMemory(7));
  EXPECT_FALSE(ledger.HasMemory(1));
  std::int32_t device = -1;
  EXPECT_EQ(ledger.RequestedBytes(7, &device), 30u);
  EXPECT_EQ(device, 2);
  EXPECT_EQ(ledger.devices(), 4u);
  ledger.DestroyGraph(1);
  ledger.Instantiate(1, 8);
  EXPECT_FALSE(ledger.HasMemory(8));
  EXPECT_TRUE(ledger.HasMemory(7));
  ledger.DestroyExec(7);
  EXPECT_FALSE(ledger.HasMemory(7));
}

TEST(GraphLedger, AGraphWithinAGraphRunsInItsPlace) {
  GraphLedger ledger;
  ledger.AddNode(1, {0x1000, 10, 0, 0, false});
  ledger.AddChild(1, 2, true);
  ledger.AddNode(1, {0x3000, 30, 0, 0, false});
  ledger.AddNode(2, {0x2000, 20, 0, 0, false});  // a moved child graph belongs to its node
  ledger.Instantiate(1, 7);
  std::vector<std::uint64_t> bytes;
  for (const Change& change : Launch(&ledger, 7)) bytes.push_back(change.node.bytes);
  EXPECT_EQ(bytes, (std::vector<std::uint64_t>{10, 20, 30}));
  ledger.DestroyGraph(1);
  ledger.Instantiate(2, 8);
  EXPECT_FALSE(ledger.HasMemory(8)) << "it ended with its parent";
}

TEST(GraphLedger, ACopyIsOfWhatWasThere) {
  GraphLedger ledger;
  ledger.AddNode(2, {0x2000, 20, 0, 0, false});
  ledger.AddChild(3, 2, true);
  ledger.AddChild(1, 3, false);
  ledger.Clone(3, 4);
  ledger.AddNode(2, {0x9000, 90, 0, 0, false});
  ledger.DestroyGraph(3);
  std::int32_t device = -1;
  for (const std::uint64_t graph : {1u, 4u}) {
    ledger.Instantiate(graph, 7);
    EXPECT_EQ(ledger.RequestedBytes(7, &device), 20u) << graph;
  }
}

TEST(GraphLedger, GraphsWithinThemselvesEnd) {
  GraphLedger ledger;
  ledger.AddNode(1, {0x1000, 10, 0, 0, false});
  ledger.AddChild(1, 2, true);
  ledger.AddChild(2, 1, true);
  ledger.Instantiate(1, 7);
  EXPECT_TRUE(ledger.HasMemory(7));
  ledger.DestroyGraph(1);
  ledger.Instantiate(1, 7);
  EXPECT_FALSE(ledger.HasMemory(7));
}

TEST(GraphLedger, AnExecutablesHandleMayComeBack) {
  GraphLedger ledger;
  ledger.AddNode(1, {0x1000, 10, 0, 0, false});
  ledger.Instantiate(1, 7);
  ledger.Instantiate(2, 7);
  EXPECT_FALSE(ledger.HasMemory(7));
}

TEST(GraphLedger, OnlyTheDevicesMemoryEndsWithIt) {
  GraphLedger ledger;
  for (int device = 0; device < 3; ++device)
    ledger.AddNode(1, {0x1000u + device, 10u + device, 0, device, false});
  ledger.Instantiate(1, 7);
  Launch(&ledger, 7);
  MappedArray<Node> ended;
  ledger.EndDevice(1, &ended);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].bytes, 11u);
  EXPECT_EQ(ledger.Freeing(0x1001), 0u);
  EXPECT_NE(ledger.Freeing(0x1000), 0u);
  EXPECT_NE(ledger.Freeing(0x1002), 0u);
  EXPECT_EQ(ledger.Freeing(0x1002), 0u);
}

// Between the driver's free and the end of its hook, a graph of another thread may get the address.
TEST(GraphLedger, AnAddressThatIsBeingFreedMayBeAllocatedAgain) {
  GraphLedger ledger;
  ledger.AddNode(1, {0x1000, 10, 0, 0, false});
  ledger.Instantiate(1, 7);
  ledger.AddNode(2, {0x1000, 20, 0, 0, false});
  ledger.Instantiate(2, 8);
  Launch(&ledger, 7);
  const std::uint32_t freeing = ledger.Freeing(0x1000);
  const std::vector<Change> changes = Launch(&ledger, 8);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_FALSE(changes[0].is_free);
  ledger.Freed(freeing, true);
  ledger.Freed(ledger.Freeing(0x1000), true);
  EXPECT_EQ(ledger.Freeing(0x1000), 0u);
}

TEST(GraphLedger, AFailedFreeLeavesTheMemory) {
  GraphLedger ledger;
  ledger.AddNode(1, {0x1000, 10, 0, 0, false});
  ledger.Instantiate(1, 7);
  Launch(&ledger, 7);
  ledger.Freed(ledger.Freeing(0x1000), false);
  EXPECT_NE(ledger.Freeing(0x1000), 0u);
  ledger.Freed(0, false);
  ledger.Freed(99, false);  // unknown
}

// Checks the allocations after a launch of these nodes, independently of the ledger.
void CheckLaunched(const std::vector<Node>& nodes, const std::set<std::uint64_t>& live, int i) {
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    bool freed_later = false;
    for (std::size_t m = n; m < nodes.size(); ++m)
      freed_later |= nodes[m].frees && nodes[m].address == nodes[n].address;
    bool made_before = false;
    for (std::size_t m = 0; m < nodes.size(); ++m)
      made_before |= !nodes[m].frees && nodes[m].address == nodes[n].address;
    if (!nodes[n].frees) {
      ASSERT_EQ(live.contains(nodes[n].address), !freed_later) << i;
    } else if (!made_before) {
      ASSERT_FALSE(live.contains(nodes[n].address)) << i;
    }
  }
}

// Random graphs, launches and frees: live allocations agree with a model, and each change is one
// that the previous state allows.
TEST(GraphLedger, AgreesWithAModel) {
  std::mt19937 random(5);
  GraphLedger ledger;
  std::map<std::uint64_t, std::vector<Node>> graphs, execs;
  std::set<std::uint64_t> live;
  std::uint64_t next = 0x1000;
  std::vector<std::uint64_t> addresses;
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t graph = 1 + random() % 4, exec = 100 + random() % 5;
    switch (random() % 8) {
      case 0: {
        const Node node{next += 16, 1 + random() % 100, 0, 0, false};
        addresses.push_back(node.address);
        graphs[graph].push_back(node);
        ledger.AddNode(graph, node);
        break;
      }
      case 1: {
        if (addresses.empty()) break;
        const Node node{addresses[random() % addresses.size()], 0, 0, -1, true};
        graphs[graph].push_back(node);
        ledger.AddNode(graph, node);
        break;
      }
      case 2:
        if (graphs[graph].size() < 6) break;
        graphs.erase(graph);
        ledger.DestroyGraph(graph);
        break;
      case 3:
        execs[exec] = graphs[graph];
        ledger.Instantiate(graph, exec);
        break;
      case 4:
        if (!addresses.empty()) {
          const std::uint64_t address = addresses[random() % addresses.size()];
          const bool succeeds = random() % 4 != 0;
          const std::uint32_t freeing = ledger.Freeing(address);
          ASSERT_EQ(freeing != 0, live.count(address) == 1);
          ledger.Freed(freeing, succeeds);
          if (succeeds) live.erase(address);
        }
        break;
      default: {
        ASSERT_EQ(ledger.HasMemory(exec), !execs[exec].empty());
        for (const Change& change : Launch(&ledger, exec)) {
          if (change.is_free)
            ASSERT_EQ(live.erase(change.node.address), 1u) << i;
          else
            ASSERT_TRUE(live.insert(change.node.address).second) << i;
        }
        ASSERT_NO_FATAL_FAILURE(CheckLaunched(execs[exec], live, i));
      }
    }
  }
  EXPECT_GT(addresses.size(), 100u);
}

}  // namespace
}  // namespace memprof::recorder
