// Hooks of graphics interfaces: registrations are imports, mapped resources are views of them.
#include "tests/libmemprof/events/recorded_driver.h"

namespace memprof::recorder {
namespace {

using ::testing::ElementsAre;
using testing::Event;
using ::testing::IsEmpty;

class GraphicsHooks : public HooksTest {
 protected:
  // Events of imported memory in order of time: "alloc 640 kind 7 of another", "map", "free".
  // Imported memory is never in the totals.
  std::vector<std::string> Story() {
    EXPECT_EQ(Stats().live_bytes, 0u);
    std::vector<std::string> story;
    for (const Event& event : Finish().events) {
      if (event.layer != log::LAYER_IMPORTED) continue;
      std::string words = testing::LowerWord(log::Op_Name(event.op), 3);
      if (event.op == log::OP_ALLOC)
        words += " " + std::to_string(event.bytes) + " kind " + std::to_string(event.aux1) +
                 (event.aux0 == 0 ? "" : " of another");
      story.push_back(words);
    }
    return story;
  }
  CUgraphicsResource Register(unsigned buffer = 5) {
    CUgraphicsResource resource = nullptr;
    EXPECT_EQ(Call("cuGraphicsGLRegisterBuffer", &resource, buffer, 0u), CUDA_SUCCESS);
    return resource;
  }
  void Map(CUgraphicsResource resource) {
    EXPECT_EQ(Call("cuGraphicsMapResources", 1u, &resource, kNoStream), CUDA_SUCCESS);
  }
  CUdeviceptr MappedPointer(CUgraphicsResource resource) {
    CUdeviceptr pointer = 0;
    std::size_t bytes = 0;
    EXPECT_EQ(Call("cuGraphicsResourceGetMappedPointer_v2", &pointer, &bytes, resource),
              CUDA_SUCCESS);
    EXPECT_EQ(bytes, driver_.range_bytes);
    return pointer;
  }
};

TEST_F(GraphicsHooks, ResourcesAreImportsAndMappingsViews) {
  Start();
  const CUgraphicsResource buffer = Register();
  CUgraphicsResource image = nullptr;
  Call("cuGraphicsGLRegisterImage", &image, 6u, 0x0de1u, 0u);
  CUgraphicsResource all[] = {buffer, image};
  Call("cuGraphicsMapResources_ptsz", 2u, all, kNoStream);
  driver_.next = MappedPointer(buffer);
  MappedPointer(buffer);  // a second query gives the same pointer
  Call("cuGraphicsUnmapResources", 2u, all, kNoStream);
  for (CUgraphicsResource resource : all) Call("cuGraphicsUnregisterResource", resource);
  EXPECT_THAT(Story(),
              ElementsAre("alloc 0 kind 6", "alloc 0 kind 6", "map", "map",
                          "alloc 640 kind 7 of another", "free", "unmap", "unmap", "free", "free"));
}

TEST_F(GraphicsHooks, AMapNamesTheResource) {
  Start();
  CUgraphicsResource resource = Register();
  Call("cuGraphicsMapResources", 1u, &resource, static_cast<CUstream>(At(0x51)));
  const Event map = Finish().WithOp(log::OP_MAP).at(0);
  EXPECT_EQ(map.address, reinterpret_cast<std::uint64_t>(resource));
  EXPECT_EQ(map.stream, 0x51u);
  EXPECT_EQ(map.device, 0);
}

TEST_F(GraphicsHooks, EveryWayToRegister) {
  Start();
  CUgraphicsResource resource = nullptr;
  Call("cuGraphicsEGLRegisterImage", &resource, At(7), 0u);
  Call("cuGraphicsGLRegisterBuffer", &resource, 1u, 0u);
  Call("cuGraphicsGLRegisterImage", &resource, 2u, 0x0de1u, 0u);
  EXPECT_THAT(Story(), ElementsAre("alloc 0 kind 6", "alloc 0 kind 6", "alloc 0 kind 6"));
}

TEST_F(GraphicsHooks, ArraysAreViewsWithTheirBytes) {
  Start();
  const CUgraphicsResource resource = Register();
  Map(resource);
  CUarray array = nullptr;
  EXPECT_EQ(Call("cuGraphicsSubResourceGetMappedArray", &array, resource, 0u, 0u), CUDA_SUCCESS);
  CUmipmappedArray mipmap = nullptr;
  EXPECT_EQ(Call("cuGraphicsResourceGetMappedMipmappedArray", &mipmap, resource), CUDA_SUCCESS);
  MappedPointer(resource);
  EXPECT_THAT(Story(), ElementsAre("alloc 0 kind 6", "map", "alloc 1024 kind 9 of another",
                                   "alloc 0 kind 9 of another", "alloc 640 kind 7 of another"));
}

TEST_F(GraphicsHooks, TheEndOfARegistrationEndsItsViews) {
  Start();
  const CUgraphicsResource resource = Register(), other = Register();
  Map(resource);
  const CUdeviceptr gone = MappedPointer(resource), kept = MappedPointer(other);
  Answer(CUDA_ERROR_INVALID_HANDLE);
  Call("cuGraphicsUnregisterResource", resource);
  Answer(CUDA_SUCCESS);
  Call("cuGraphicsUnregisterResource", resource);
  const testing::Log log = Finish();
  std::vector<std::uint64_t> freed;
  for (const Event& event : log.WithOp(log::OP_FREE)) freed.push_back(event.address);
  const auto handle = reinterpret_cast<std::uint64_t>(resource);
  EXPECT_THAT(freed, ElementsAre(handle, handle, gone)) << "and not " << kept;
  EXPECT_EQ(log.WithOp(log::OP_FREE_FAILED).size(), 1u);
}

TEST_F(GraphicsHooks, AnUnmapThatFailsLeavesTheViews) {
  Start();
  CUgraphicsResource resource = Register();
  Map(resource);
  MappedPointer(resource);
  Answer(CUDA_ERROR_UNKNOWN);
  Call("cuGraphicsUnmapResources", 1u, &resource, kNoStream);
  EXPECT_THAT(Finish().WithOp(log::OP_FREE), IsEmpty());
}

// A frame of an EGL stream; its planes are addresses or arrays.
TEST_F(GraphicsHooks, FramesOfStreams) {
  Start();
  CUgraphicsResource frame = nullptr;
  Call("cuEGLStreamConsumerAcquireFrame", At(1), &frame, static_cast<CUstream*>(nullptr), 100u);
  std::uint64_t planes[16] = {};
  Call("cuGraphicsResourceGetMappedEglFrame", static_cast<void*>(planes), frame, 0u, 0u);
  Call("cuEGLStreamConsumerReleaseFrame", At(1), frame, static_cast<CUstream*>(nullptr));
  driver_.egl_frame.is_pitched = 0;
  CUgraphicsResource image = nullptr;
  Call("cuGraphicsEGLRegisterImage", &image, At(7), 0u);
  Call("cuGraphicsResourceGetMappedEglFrame", static_cast<void*>(planes), image, 0u, 0u);
  Answer(CUDA_ERROR_LAUNCH_TIMEOUT);
  Call("cuEGLStreamConsumerAcquireFrame", At(1), &frame, static_cast<CUstream*>(nullptr), 100u);
  EXPECT_THAT(Story(),
              ElementsAre("alloc 0 kind 6", "alloc 4096 kind 7 of another",
                          "alloc 0 kind 7 of another", "free", "free", "free", "alloc 0 kind 6",
                          "alloc 1024 kind 9 of another", "alloc 1024 kind 9 of another"))
      << "a missing frame is not a failure";
}

}  // namespace
}  // namespace memprof::recorder
