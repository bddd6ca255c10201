// The states of stream capture, and what graphs and their executables refuse.
#include <thread>
#include <vector>

#include "driver_fixture.h"

namespace memprof::simcuda {
namespace {

const Configure kConfigure("memory=1GiB,overhead=0");

class CaptureTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    CHECK_CU(cuMemAlloc(&values_, 32));
    for (CUstream& stream : streams_) CHECK_CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK_CU(cuEventCreate(&event_, CU_EVENT_DISABLE_TIMING));
  }
  static CUresult Begin(CUstream stream) {
    return cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  }
  static void End(CUstream stream, size_t nodes) {
    CUgraph graph = nullptr;
    ASSERT_EQ(CUDA_SUCCESS, cuStreamEndCapture(stream, &graph));
    size_t count = 99;
    EXPECT_EQ(CUDA_SUCCESS, cuGraphGetNodes(graph, nullptr, &count));
    EXPECT_EQ(count, nodes);
    EXPECT_EQ(CUDA_SUCCESS, cuGraphDestroy(graph));
  }
  static bool Capturing(CUstream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    EXPECT_EQ(CUDA_SUCCESS, cuStreamIsCapturing(stream, &status));
    EXPECT_NE(status, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    return status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
  }
  CUresult Fill(CUstream stream, unsigned value = 1) {
    return cuMemsetD32Async(values_, value, 8, stream);
  }
  unsigned First() {
    unsigned value = 0;
    EXPECT_EQ(CUDA_SUCCESS, cuMemcpyDtoH(&value, values_, 4));
    return value;
  }
  void TearDown() override {
    CHECK_CU(cuMemFree(values_));
    DriverTest::TearDown();
  }
  CUdeviceptr values_ = 0;
  CUstream streams_[3] = {};
  CUevent event_ = nullptr;
};

TEST_F(CaptureTest, BeginAndEndAreAPair) {
  CUgraph graph = nullptr;
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(streams_[0], &graph));
  for (const int mode : {-1, 3, 99}) {
    EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
              cuStreamBeginCapture(streams_[0], static_cast<CUstreamCaptureMode>(mode)));
  }
  for (const CUstream legacy : {static_cast<CUstream>(nullptr), CU_STREAM_LEGACY}) {
    EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, Begin(legacy));
  }
  for (const CUstreamCaptureMode mode :
       {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
        CU_STREAM_CAPTURE_MODE_RELAXED}) {
    for (const CUstream stream : {streams_[0], CU_STREAM_PER_THREAD}) {
      EXPECT_FALSE(Capturing(stream));
      CHECK_CU(cuStreamBeginCapture(stream, mode));
      EXPECT_TRUE(Capturing(stream));
      EXPECT_EQ(CUDA_ERROR_ILLEGAL_STATE, cuStreamBeginCapture(stream, mode));
      EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuStreamEndCapture(stream, nullptr));
      EXPECT_TRUE(Capturing(stream));
      End(stream, 0);
      EXPECT_FALSE(Capturing(stream));
    }
  }
}

TEST_F(CaptureTest, EveryCaptureHasItsOwnNumber) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  cuuint64_t ids[3] = {7, 7, 7};
  CHECK_CU(
      cuStreamGetCaptureInfo(streams_[0], &status, &ids[0], nullptr, nullptr, nullptr, nullptr));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_EQ(ids[0], 7u);
  for (int i = 0; i < 3; ++i) {
    CHECK_CU(Begin(streams_[i]));
    CUgraph graph = nullptr;
    CHECK_CU(
        cuStreamGetCaptureInfo(streams_[i], &status, &ids[i], &graph, nullptr, nullptr, nullptr));
    EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    EXPECT_NE(graph, nullptr);
  }
  EXPECT_NE(ids[0], ids[1]);
  EXPECT_NE(ids[1], ids[2]);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuStreamGetCaptureInfo(streams_[0], nullptr, &ids[0], nullptr,
                                                             nullptr, nullptr, nullptr));
  for (const CUstream stream : streams_) End(stream, 0);
}

TEST_F(CaptureTest, CallsThatACapturingStreamRefuses) {
  CHECK_CU(Begin(streams_[0]));
  CHECK_CU(Fill(streams_[0]));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize(streams_[0]));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamQuery(streams_[0]));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
            cuStreamAddCallback(
                streams_[0], [](CUstream, CUresult, void*) {}, nullptr, 0));
  // An event of the capture is no event of a stream.
  CHECK_CU(cuEventRecord(event_, streams_[0]));
  EXPECT_EQ(CUDA_ERROR_CAPTURED_EVENT, cuEventQuery(event_));
  EXPECT_EQ(CUDA_ERROR_CAPTURED_EVENT, cuEventSynchronize(event_));
  // Others go on as if nothing were.
  CHECK_CU(Fill(streams_[1], 5));
  CHECK_CU(cuStreamSynchronize(streams_[1]));
  EXPECT_EQ(First(), 5u);
  CHECK_CU(cuStreamQuery(streams_[1]));
  End(streams_[0], 1);
  CHECK_CU(cuStreamQuery(streams_[0]));
  EXPECT_EQ(First(), 5u);
}

TEST_F(CaptureTest, NothingIsWaitedForAcrossTheBorder) {
  CUevent never = nullptr;
  CHECK_CU(cuEventCreate(&never, 0));
  CHECK_CU(cuEventRecord(event_, streams_[1]));
  CHECK_CU(Begin(streams_[0]));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, cuStreamWaitEvent(streams_[0], event_, 0));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, cuStreamWaitEvent(streams_[0], never, 0));
  EXPECT_TRUE(Capturing(streams_[0]));
  EXPECT_FALSE(Capturing(streams_[1]));
  End(streams_[0], 0);
}

TEST_F(CaptureTest, CapturesDoNotMerge) {
  CHECK_CU(Begin(streams_[0]));
  CHECK_CU(Begin(streams_[1]));
  CHECK_CU(cuEventRecord(event_, streams_[0]));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_MERGE, cuStreamWaitEvent(streams_[1], event_, 0));
  CHECK_CU(Fill(streams_[1]));
  // One that captures nothing yet joins, and is not to be ended by itself.
  CHECK_CU(cuStreamWaitEvent(streams_[2], event_, 0));
  EXPECT_TRUE(Capturing(streams_[2]));
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_STATE, Begin(streams_[2]));
  CUgraph graph = nullptr;
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, cuStreamEndCapture(streams_[2], &graph));
  CHECK_CU(Fill(streams_[2]));
  CHECK_CU(cuEventRecord(event_, streams_[2]));
  CHECK_CU(cuStreamWaitEvent(streams_[0], event_, 0));
  End(streams_[0], 1);
  EXPECT_FALSE(Capturing(streams_[2]));
  EXPECT_TRUE(Capturing(streams_[1]));
  End(streams_[1], 1);
}

TEST_F(CaptureTest, TheEventsOfAnEndedCaptureDrawNobodyIn) {
  CHECK_CU(Begin(streams_[0]));
  CHECK_CU(cuEventRecord(event_, streams_[0]));
  End(streams_[0], 0);
  EXPECT_EQ(CUDA_ERROR_CAPTURED_EVENT, cuStreamWaitEvent(streams_[1], event_, 0));
  EXPECT_FALSE(Capturing(streams_[1]));
  // What is enqueued runs, as it must outside of a capture.
  CHECK_CU(Fill(streams_[1], 9));
  CHECK_CU(cuStreamSynchronize(streams_[1]));
  EXPECT_EQ(First(), 9u);
  // Recorded anew, it is an event like others.
  CHECK_CU(cuEventRecord(event_, streams_[0]));
  CHECK_CU(cuStreamWaitEvent(streams_[1], event_, 0));
  CHECK_CU(cuEventSynchronize(event_));
}

TEST_F(CaptureTest, EachThreadHasItsMode) {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  CHECK_CU(cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
  std::thread([] {
    CUstreamCaptureMode other = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    EXPECT_EQ(CUDA_SUCCESS, cuThreadExchangeStreamCaptureMode(&other));
    EXPECT_EQ(other, CU_STREAM_CAPTURE_MODE_GLOBAL);
  }).join();
  CHECK_CU(cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuThreadExchangeStreamCaptureMode(nullptr));
}

TEST_F(CaptureTest, CapturedNodesAreOfTheirKinds) {
  CHECK_CU(Begin(streams_[0]));
  CHECK_CU(Fill(streams_[0]));
  unsigned host[8] = {};
  CHECK_CU(cuMemcpyDtoHAsync(host, values_, 32, streams_[0]));
  CHECK_CU(cuLaunchHostFunc(
      streams_[0], [](void* data) { ++static_cast<unsigned*>(data)[0]; }, host));
  CUgraph graph = nullptr;
  CHECK_CU(cuStreamEndCapture(streams_[0], &graph));
  CUgraphNode nodes[4] = {};
  size_t count = 4;
  CHECK_CU(cuGraphGetNodes(graph, nodes, &count));
  ASSERT_EQ(count, 3u);
  const CUgraphNodeType expected[] = {CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_MEMCPY,
                                      CU_GRAPH_NODE_TYPE_HOST};
  for (size_t i = 0; i < count; ++i) {
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    CHECK_CU(cuGraphNodeGetType(nodes[i], &type));
    EXPECT_EQ(type, expected[i]);
  }
  CUgraphExec exec = nullptr;
  CHECK_CU(cuGraphInstantiate(&exec, graph, 0));
  // The executable outlives its graph.
  CHECK_CU(cuGraphDestroy(graph));
  for (int i = 0; i < 3; ++i) CHECK_CU(cuGraphLaunch(exec, streams_[1]));
  CHECK_CU(cuStreamSynchronize(streams_[1]));
  EXPECT_EQ(host[0], 2u);
  EXPECT_EQ(host[7], 1u);
  CHECK_CU(cuGraphExecDestroy(exec));
}

TEST_F(CaptureTest, AGraphInsideAnother) {
  CHECK_CU(Begin(streams_[0]));
  int runs = 0;
  CHECK_CU(cuLaunchHostFunc(
      streams_[0], [](void* data) { ++*static_cast<int*>(data); }, &runs));
  CUgraph inner = nullptr;
  CHECK_CU(cuStreamEndCapture(streams_[0], &inner));
  CUgraphExec inner_exec = nullptr;
  CHECK_CU(cuGraphInstantiate(&inner_exec, inner, 0));
  CHECK_CU(Begin(streams_[0]));
  CHECK_CU(cuGraphLaunch(inner_exec, streams_[0]));
  CHECK_CU(cuGraphLaunch(inner_exec, streams_[0]));
  CUgraph outer = nullptr;
  CHECK_CU(cuStreamEndCapture(streams_[0], &outer));
  EXPECT_EQ(runs, 0);
  CUgraphExec outer_exec = nullptr;
  CHECK_CU(cuGraphInstantiate(&outer_exec, outer, 0));
  CHECK_CU(cuGraphExecDestroy(inner_exec));
  CHECK_CU(cuGraphLaunch(outer_exec, streams_[0]));
  CHECK_CU(cuStreamSynchronize(streams_[0]));
  EXPECT_EQ(runs, 2);
  CHECK_CU(cuGraphExecDestroy(outer_exec));
  CHECK_CU(cuGraphDestroy(outer));
  CHECK_CU(cuGraphDestroy(inner));
}

TEST_F(CaptureTest, DeadGraphsAreRefusedEverywhere) {
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec exec = nullptr;
  CHECK_CU(cuGraphCreate(&graph, 0));
  CHECK_CU(cuGraphAddEmptyNode(&node, graph, nullptr, 0));
  CHECK_CU(cuGraphInstantiate(&exec, graph, 0));
  CHECK_CU(cuGraphExecDestroy(exec));
  CHECK_CU(cuGraphDestroy(graph));
  size_t count = 0;
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  const CUDA_HOST_NODE_PARAMS host = {[](void*) {}, nullptr};
  const CUresult results[] = {cuGraphDestroy(graph),
                              cuGraphExecDestroy(exec),
                              cuGraphLaunch(exec, streams_[0]),
                              cuGraphUpload(exec, streams_[0]),
                              cuGraphInstantiate(&exec, graph, 0),
                              cuGraphAddEmptyNode(&node, graph, nullptr, 0),
                              cuGraphAddHostNode(&node, graph, nullptr, 0, &host),
                              cuGraphGetNodes(graph, nullptr, &count),
                              cuGraphGetRootNodes(graph, nullptr, &count),
                              cuGraphNodeGetType(node, &type),
                              cuGraphDestroyNode(node),
                              cuGraphCreate(&graph, 1),
                              cuGraphCreate(nullptr, 0)};
  for (const CUresult& result : results) {
    EXPECT_EQ(result, CUDA_ERROR_INVALID_VALUE) << &result - results;
  }
}

TEST_F(CaptureTest, NodesDependOnNodesOfTheirGraphAlone) {
  CUgraph graph = nullptr;
  CHECK_CU(cuGraphCreate(&graph, 0));
  std::vector<CUgraphNode> nodes(4);
  // A diamond.
  CHECK_CU(cuGraphAddEmptyNode(&nodes[0], graph, nullptr, 0));
  CHECK_CU(cuGraphAddEmptyNode(&nodes[1], graph, &nodes[0], 1));
  CHECK_CU(cuGraphAddEmptyNode(&nodes[2], graph, &nodes[0], 1));
  CHECK_CU(cuGraphAddEmptyNode(&nodes[3], graph, &nodes[1], 2));
  CUgraphNode none = nullptr;
  const auto bogus = reinterpret_cast<CUgraphNode>(&none);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphAddEmptyNode(&none, graph, &bogus, 1));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphAddEmptyNode(&none, graph, nullptr, 1));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphAddEmptyNode(nullptr, graph, nullptr, 0));
  const CUDA_HOST_NODE_PARAMS empty = {};
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphAddHostNode(&none, graph, nullptr, 0, &empty));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphAddHostNode(&none, graph, nullptr, 0, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuGraphAddMemcpyNode(&none, graph, nullptr, 0, nullptr, context_));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuGraphAddMemsetNode(&none, graph, nullptr, 0, nullptr, context_));
  EXPECT_EQ(none, nullptr);
  // Room for fewer and for more than there are.
  CUgraphNode got[8] = {bogus, bogus, bogus, bogus, bogus, bogus, bogus, bogus};
  size_t count = 2;
  CHECK_CU(cuGraphGetNodes(graph, got, &count));
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(got[1], nodes[1]);
  EXPECT_EQ(got[2], bogus);
  count = 6;
  CHECK_CU(cuGraphGetNodes(graph, got, &count));
  EXPECT_EQ(count, 4u);
  EXPECT_EQ(got[3], nodes[3]);
  EXPECT_EQ(got[5], nullptr);
  EXPECT_EQ(got[6], bogus);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphGetNodes(graph, got, nullptr));
  CHECK_CU(cuGraphDestroyNode(nodes[0]));
  count = 8;
  CHECK_CU(cuGraphGetRootNodes(graph, got, &count));
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphDestroyNode(nodes[0]));
  CHECK_CU(cuGraphDestroy(graph));
}

TEST_F(CaptureTest, ALaunchRunsAllNodesInOrder) {
  std::vector<int> ran;
  struct Note {
    std::vector<int>* ran;
    int value;
  };
  Note notes[] = {{&ran, 0}, {&ran, 1}, {&ran, 2}};
  const CUhostFn write = [](void* data) {
    const auto* note = static_cast<Note*>(data);
    note->ran->push_back(note->value);
  };
  CHECK_CU(Begin(streams_[0]));
  for (Note& note : notes) CHECK_CU(cuLaunchHostFunc(streams_[0], write, &note));
  CUgraph graph = nullptr;
  CHECK_CU(cuStreamEndCapture(streams_[0], &graph));
  CUgraphExec exec = nullptr;
  CHECK_CU(cuGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 10; ++i) CHECK_CU(cuGraphLaunch(exec, streams_[1]));
  CHECK_CU(cuCtxSynchronize());
  CHECK_CU(cuGraphExecDestroy(exec));
  CHECK_CU(cuGraphDestroy(graph));
  ASSERT_EQ(ran.size(), 30u);
  for (size_t i = 0; i < ran.size(); ++i) EXPECT_EQ(ran[i], static_cast<int>(i % 3));
}

}  // namespace
}  // namespace memprof::simcuda
