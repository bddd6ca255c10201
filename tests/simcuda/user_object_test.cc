// User objects live as long as a reference exists: in the program, a graph or an executable.
#include <vector>

#include "driver_fixture.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=1GiB,overhead=0");

class UserObjectTest : public DriverTest {
 protected:
  static void CUDA_CB Count(void* data) { ++*static_cast<int*>(data); }
  CUuserObject Create(unsigned references) {
    CUuserObject object = nullptr;
    EXPECT_EQ(CUDA_SUCCESS, cuUserObjectCreate(&object, &ended_, Count, references,
                                               CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    return object;
  }
  static CUgraph MakeGraph() {
    CUgraph graph = nullptr;
    EXPECT_EQ(CUDA_SUCCESS, cuGraphCreate(&graph, 0));
    return graph;
  }
  int ended_ = 0;
};

TEST_F(UserObjectTest, EndsWithItsLastReference) {
  const CUuserObject object = Create(2);
  CHECK_CU(cuUserObjectRetain(object, 3));
  CHECK_CU(cuUserObjectRelease(object, 4));
  EXPECT_EQ(ended_, 0);
  // more references than exist
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuUserObjectRelease(object, 2));
  CHECK_CU(cuUserObjectRelease(object, 1));
  EXPECT_EQ(ended_, 1);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuUserObjectRelease(object, 1));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuUserObjectRetain(object, 1));
}

TEST_F(UserObjectTest, GraphAndExecutableHoldReferences) {
  const CUuserObject object = Create(1);
  CUgraph graph = MakeGraph();
  CHECK_CU(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
  CUgraphExec exec = nullptr;
  CHECK_CU(cuGraphInstantiate(&exec, graph, 0));
  CHECK_CU(cuGraphDestroy(graph));
  EXPECT_EQ(ended_, 0) << "the executable still has it";
  CHECK_CU(cuGraphExecDestroy(exec));
  EXPECT_EQ(ended_, 1);
}

TEST_F(UserObjectTest, GraphTakesItsOwnReferences) {
  const CUuserObject object = Create(1);
  CUgraph graph = MakeGraph();
  CHECK_CU(cuGraphRetainUserObject(graph, object, 2, 0));
  CHECK_CU(cuUserObjectRelease(object, 1));
  EXPECT_EQ(ended_, 0);
  CHECK_CU(cuGraphReleaseUserObject(graph, object, 1));
  EXPECT_EQ(ended_, 0);
  CHECK_CU(cuGraphReleaseUserObject(graph, object, 1));
  EXPECT_EQ(ended_, 1);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphReleaseUserObject(graph, object, 1));
  CHECK_CU(cuGraphDestroy(graph));
  EXPECT_EQ(ended_, 1);
}

TEST_F(UserObjectTest, RefusesWhatMakesNoSense) {
  CUuserObject object = nullptr;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuUserObjectCreate(&object, &ended_, Count, 1, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuUserObjectCreate(&object, &ended_, Count, 0, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuUserObjectCreate(&object, &ended_, nullptr, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  CUgraph graph = MakeGraph();
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphRetainUserObject(graph, nullptr, 1, 0));
  CHECK_CU(cuGraphDestroy(graph));
}

#if CUDA_VERSION >= 12030
CUresult UpdateDependencies(CUstream stream, CUgraphNode* node) {
#if CUDA_VERSION >= 13000
  return cuStreamUpdateCaptureDependencies(stream, node, nullptr, 1, 0);
#else
  return cuStreamUpdateCaptureDependencies(stream, node, 1, 0);
#endif
}

TEST_F(UserObjectTest, CapturesIntoAGraphThatIsThere) {
  CUdeviceptr values = 0;
  CHECK_CU(cuMemAlloc(&values, 64));
  CUstream stream = nullptr;
  CHECK_CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUgraph graph = MakeGraph();
  CUgraphNode node = nullptr;
  CHECK_CU(cuGraphAddEmptyNode(&node, graph, nullptr, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuStreamBeginCaptureToGraph(stream, nullptr, nullptr, nullptr, 0,
                                        CU_STREAM_CAPTURE_MODE_RELAXED));
  CHECK_CU(cuStreamBeginCaptureToGraph(stream, graph, &node, nullptr, 1,
                                       CU_STREAM_CAPTURE_MODE_RELAXED));
  CHECK_CU(cuMemsetD8Async(values, 7, 64, stream));
  CHECK_CU(UpdateDependencies(stream, &node));
  CUgraph captured = nullptr;
  CHECK_CU(cuStreamEndCapture(stream, &captured));
  EXPECT_EQ(captured, graph);
  size_t count = 0;
  CHECK_CU(cuGraphGetNodes(graph, nullptr, &count));
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_STATE, UpdateDependencies(stream, &node));
  CHECK_CU(cuGraphDestroy(graph));
  CHECK_CU(cuStreamDestroy(stream));
  CHECK_CU(cuMemFree(values));
}
#endif

// A graph can retain user objects while it is being captured.
TEST_F(UserObjectTest, CapturedGraphOwns) {
  CUstream stream = nullptr;
  CHECK_CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK_CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CUgraph graph = nullptr;
  cuuint64_t id = 0;
#if CUDA_VERSION >= 13000
  CHECK_CU(cuStreamGetCaptureInfo(stream, &status, &id, &graph, nullptr, nullptr, nullptr));
#else
  CHECK_CU(cuStreamGetCaptureInfo_v2(stream, &status, &id, &graph, nullptr, nullptr));
#endif
  const CUuserObject object = Create(1);
  CHECK_CU(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
  CUgraph captured = nullptr;
  CHECK_CU(cuStreamEndCapture(stream, &captured));
  EXPECT_EQ(captured, graph);
  EXPECT_EQ(ended_, 0);
  CHECK_CU(cuGraphDestroy(captured));
  EXPECT_EQ(ended_, 1);
  CHECK_CU(cuStreamDestroy(stream));
}

}  // namespace
}  // namespace memprof::simcuda
