// The columns that the recorder writes, decoded by the real libprotobuf.
#include "libmemprof/src/log/encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "libmemprof/src/log/vocabulary.h"
#include "proto/framing.h"
#include "tests/libmemprof/log/log_reader.h"

namespace memprof::recorder {
namespace {

using ring::RingEvent;

log::Events Decode(EventEncoder* encoder) {
  ByteBuffer out;
  encoder->Encode(&out);
  log::Events columns;
  EXPECT_TRUE(columns.ParseFromArray(out.data(), static_cast<int>(out.size())));
  return columns;
}

void ExpectSame(const RingEvent& in, std::uint32_t thread, const testing::Event& out) {
  EXPECT_EQ(out.time_ns, in.time_ns);
  EXPECT_EQ(out.op, in.op);
  EXPECT_EQ(out.layer, in.layer);
  EXPECT_EQ(out.thread, thread);
  EXPECT_EQ(out.device, in.device_plus_1 - 1);
  EXPECT_EQ(out.address, in.address);
  EXPECT_EQ(out.bytes, in.bytes);
  EXPECT_EQ(out.stack, in.stack);
  EXPECT_EQ(out.context, in.context);
  EXPECT_EQ(out.stream, in.stream);
  EXPECT_EQ(out.label, in.label);
  EXPECT_EQ(out.api, in.api);
  EXPECT_EQ(out.result, in.result);
  EXPECT_EQ(out.aux0, in.aux0);
  EXPECT_EQ(out.aux1, in.aux1);
}

RingEvent RandomEvent(std::mt19937_64* random) {
  // All magnitudes, including extremes whose differences wrap around.
  const auto number = [random] { return (*random)() >> ((*random)() % 64); };
  RingEvent event{};
  event.time_ns = number();
  event.address = number();
  event.bytes = number();
  event.aux0 = number();
  event.aux1 = number();
  event.stream = number();
  event.stack = static_cast<std::uint32_t>(number());
  event.label = static_cast<std::uint32_t>(number());
  event.api = static_cast<std::uint32_t>(number());
  event.context = static_cast<std::uint32_t>(number());
  event.result = static_cast<std::uint32_t>(number());
  event.device_plus_1 = static_cast<std::uint16_t>(number());
  event.op = static_cast<std::uint8_t>(1 + number() % 33);
  event.layer = static_cast<std::uint8_t>(number() % 19);
  return event;
}

class RandomColumns : public ::testing::TestWithParam<int> {};

TEST_P(RandomColumns, ComeBackAsTheyWere) {
  std::mt19937_64 random(static_cast<unsigned>(GetParam()));
  EventEncoder encoder;
  std::vector<std::pair<std::uint32_t, std::vector<RingEvent>>> runs;
  for (std::size_t r = 0; r <= random() % 5; ++r) {
    runs.emplace_back(static_cast<std::uint32_t>(1 + random() % 100), std::vector<RingEvent>());
    for (std::size_t i = 0; i <= random() % 300; ++i)
      runs.back().second.push_back(RandomEvent(&random));
  }
  std::vector<std::pair<std::uint32_t, RingEvent>> all;
  for (const auto& [thread, events] : runs) {
    ASSERT_TRUE(encoder.Add(thread, events.data(), static_cast<std::uint32_t>(events.size())));
    for (const RingEvent& event : events) all.emplace_back(thread, event);
  }
  const log::Events columns = Decode(&encoder);
  EXPECT_EQ(columns.count(), all.size());
  const std::vector<testing::Event> decoded = testing::ExpandEvents(columns);
  ASSERT_EQ(decoded.size(), all.size());
  std::uint64_t first = ~std::uint64_t{0}, last = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    ExpectSame(all[i].second, all[i].first, decoded[i]);
    first = std::min(first, all[i].second.time_ns);
    last = std::max(last, all[i].second.time_ns);
  }
  EXPECT_EQ(encoder.first_time_ns(), first);
  EXPECT_EQ(encoder.last_time_ns(), last);
  EXPECT_EQ(columns.base_time_ns(), first);
}

INSTANTIATE_TEST_SUITE_P(Encoder, RandomColumns, ::testing::Range(0, 25));

TEST(Encoder, LeavesOutColumnsOfZeroes) {
  EventEncoder encoder;
  std::vector<RingEvent> events(10);
  for (RingEvent& event : events) event.op = kOpStep;
  encoder.Add(1, events.data(), 10);
  const log::Events columns = Decode(&encoder);
  EXPECT_EQ(columns.op_size(), 10);
  EXPECT_EQ(columns.thread_size(), 10);
  EXPECT_EQ(columns.layer_size() + columns.address_delta_size() + columns.bytes_size() +
                columns.stack_size() + columns.aux0_delta_size() + columns.device_plus_1_size() +
                columns.stream_size() + columns.result_size(),
            0);
}

TEST(Encoder, BeginsAnewAfterEachMessage) {
  EventEncoder encoder;
  RingEvent event{};
  event.op = kOpAlloc;
  event.address = 0x1000;
  for (int round = 0; round < 3; ++round) {
    encoder.Add(1, &event, 1);
    const log::Events columns = Decode(&encoder);
    ASSERT_EQ(columns.count(), 1u);
    EXPECT_EQ(columns.address_delta(0), 0x1000);
    EXPECT_EQ(encoder.events(), 0u);
  }
}

TEST(Encoder, RefusesMoreRunsThanItHolds) {
  EventEncoder encoder;
  RingEvent event{};
  for (std::size_t i = 0; i < EventEncoder::kMaxRuns; ++i) ASSERT_TRUE(encoder.Add(1, &event, 1));
  EXPECT_FALSE(encoder.Add(1, &event, 1));
  EXPECT_EQ(Decode(&encoder).count(), EventEncoder::kMaxRuns);
}

TEST(Encoder, ZigZagMakesSmallMagnitudesSmall) {
  EXPECT_EQ(ZigZag(0), 0u);
  EXPECT_EQ(ZigZag(static_cast<std::uint64_t>(-1)), 1u);
  EXPECT_EQ(ZigZag(1), 2u);
  EXPECT_EQ(ZigZag(std::uint64_t{1} << 63), ~std::uint64_t{0});
}

// The recorder has its own copy of the format's numbers.
void CheckLayersAndImports() {
  EXPECT_EQ(+kImportIpc, log::IMPORT_IPC);
  EXPECT_EQ(+kImportPhysical, log::IMPORT_PHYSICAL);
  EXPECT_EQ(+kImportPoolPointer, log::IMPORT_POOL_POINTER);
  EXPECT_EQ(+kImportExternal, log::IMPORT_EXTERNAL);
  EXPECT_EQ(+kImportExternalView, log::IMPORT_EXTERNAL_VIEW);
  EXPECT_EQ(+kImportGraphics, log::IMPORT_GRAPHICS);
  EXPECT_EQ(+kImportGraphicsView, log::IMPORT_GRAPHICS_VIEW);
  EXPECT_EQ(+kLayerLinear, log::LAYER_LINEAR);
  EXPECT_EQ(+kLayerPitched, log::LAYER_PITCHED);
  EXPECT_EQ(+kLayerArray, log::LAYER_ARRAY);
  EXPECT_EQ(+kLayerManaged, log::LAYER_MANAGED);
  EXPECT_EQ(+kLayerPinned, log::LAYER_PINNED);
  EXPECT_EQ(+kLayerRegistered, log::LAYER_REGISTERED);
  EXPECT_EQ(+kLayerStreamOrdered, log::LAYER_STREAM_ORDERED);
  EXPECT_EQ(+kLayerVmmPhysical, log::LAYER_VMM_PHYSICAL);
  EXPECT_EQ(+kLayerVmmAddress, log::LAYER_VMM_ADDRESS);
  EXPECT_EQ(+kLayerImported, log::LAYER_IMPORTED);
  EXPECT_EQ(+kLayerGraph, log::LAYER_GRAPH);
  EXPECT_EQ(+kLayerModule, log::LAYER_MODULE);
  EXPECT_EQ(+kLayerMulticast, log::LAYER_MULTICAST);
  EXPECT_EQ(+kLayerSegment, log::LAYER_SEGMENT);
  EXPECT_EQ(+kLayerBlock, log::LAYER_BLOCK);
  EXPECT_EQ(+kLayerTensor, log::LAYER_TENSOR);
}

TEST(Vocabulary, MatchesTheFormat) {
  CheckLayersAndImports();
  EXPECT_EQ(+kOpAlloc, log::OP_ALLOC);
  EXPECT_EQ(+kOpFree, log::OP_FREE);
  EXPECT_EQ(+kOpAllocFailed, log::OP_ALLOC_FAILED);
  EXPECT_EQ(+kOpMap, log::OP_MAP);
  EXPECT_EQ(+kOpUnmap, log::OP_UNMAP);
  EXPECT_EQ(+kOpFreeFailed, log::OP_FREE_FAILED);
  EXPECT_EQ(+kOpStep, log::OP_STEP);
  EXPECT_EQ(+kOpRangePush, log::OP_RANGE_PUSH);
  EXPECT_EQ(+kOpRangePop, log::OP_RANGE_POP);
  EXPECT_EQ(+kOpSnapshot, log::OP_SNAPSHOT);
  EXPECT_EQ(+kOpPause, log::OP_PAUSE);
  EXPECT_EQ(+kOpResume, log::OP_RESUME);
  EXPECT_EQ(+kOpContextCreate, log::OP_CONTEXT_CREATE);
  EXPECT_EQ(+kOpContextDestroy, log::OP_CONTEXT_DESTROY);
  EXPECT_EQ(+kOpDeviceReset, log::OP_DEVICE_RESET);
  EXPECT_EQ(+kOpMemoryInfo, log::OP_MEMORY_INFO);
  EXPECT_EQ(+kOpLaunch, log::OP_LAUNCH);
  EXPECT_EQ(+kOpTouch, log::OP_TOUCH);
  EXPECT_EQ(+kOpMemcpy, log::OP_MEMCPY);
  EXPECT_EQ(+kOpMemset, log::OP_MEMSET);
  EXPECT_EQ(+kOpSync, log::OP_SYNC);
  EXPECT_EQ(+kCopyUnknown, static_cast<unsigned>(log::COPY_UNKNOWN));
  EXPECT_EQ(+kCopyHostToDevice, static_cast<unsigned>(log::COPY_HOST_TO_DEVICE));
  EXPECT_EQ(+kCopyDeviceToHost, static_cast<unsigned>(log::COPY_DEVICE_TO_HOST));
  EXPECT_EQ(+kCopyDeviceToDevice, static_cast<unsigned>(log::COPY_DEVICE_TO_DEVICE));
  EXPECT_EQ(+kCopyHostToHost, static_cast<unsigned>(log::COPY_HOST_TO_HOST));
  EXPECT_EQ(+kCopyPeer, static_cast<unsigned>(log::COPY_PEER));
  EXPECT_EQ(+kOpPoolCreate, log::OP_POOL_CREATE);
  EXPECT_EQ(+kOpPoolDestroy, log::OP_POOL_DESTROY);
  EXPECT_EQ(+kOpPoolTrim, log::OP_POOL_TRIM);
  EXPECT_EQ(+kOpPoolSample, log::OP_POOL_SAMPLE);
  EXPECT_EQ(+kOpFork, log::OP_FORK);
  EXPECT_EQ(+kOpModuleLoad, log::OP_MODULE_LOAD);
  EXPECT_EQ(+kOpModuleUnload, log::OP_MODULE_UNLOAD);
  EXPECT_EQ(+kOpCheckpoint, log::OP_CHECKPOINT);
  EXPECT_EQ(+kOpFrameworkOom, log::OP_FRAMEWORK_OOM);
  EXPECT_EQ(+kOpPrefetch, log::OP_PREFETCH);
  EXPECT_EQ(+kOpAdvise, log::OP_ADVISE);
  EXPECT_EQ(+kOpDiscard, log::OP_DISCARD);
  EXPECT_EQ(+kOpModuleGlobal, log::OP_MODULE_GLOBAL);
  EXPECT_EQ(+kOpHostScan, log::OP_HOST_SCAN);
  EXPECT_EQ(kHolderCpp, static_cast<std::uint64_t>(log::HOLDER_CPP));
  EXPECT_EQ(+kOpUnreachable, log::OP_UNREACHABLE);
  EXPECT_EQ(+kSourceOff, static_cast<unsigned>(log::SOURCE_OFF));
  EXPECT_EQ(+kSourceOn, static_cast<unsigned>(log::SOURCE_ON));
  EXPECT_EQ(+kSourceRefused, static_cast<unsigned>(log::SOURCE_REFUSED));
  EXPECT_EQ(+kSourceLost, static_cast<unsigned>(log::SOURCE_LOST));
}

}  // namespace
}  // namespace memprof::recorder
