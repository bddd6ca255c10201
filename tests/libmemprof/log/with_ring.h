// A ring in private memory, and its definitions, decoded without the writer.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "libmemprof/src/base/memory_budget.h"
#include "libmemprof/src/log/definitions.h"
#include "libmemprof/src/log/ring_buffer.h"
#include "tests/libmemprof/log/log_reader.h"

namespace memprof::recorder {

// The definitions in the ring, decoded without the writer.
inline testing::Log PublishedDefinitions(RingBuffer* ring) {
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
    SetMemoryLimit(kDefaultMemoryMib << 20, 0);
    RingOptions options;
    options.shared_directory = "/nowhere";
    EXPECT_TRUE(ring_.Create(options));
  }
  RingBuffer ring_;
  Definitions definitions_{&ring_};
};

}  // namespace memprof::recorder
