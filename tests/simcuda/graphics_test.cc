// Graphics resources, without a real OpenGL.
#include <cstring>

#include "driver_fixture.h"

extern "C" CUresult cuGraphicsGLRegisterBuffer(CUgraphicsResource*, unsigned, unsigned);
extern "C" CUresult cuGraphicsGLRegisterImage(CUgraphicsResource*, unsigned, unsigned, unsigned);

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=64MiB,overhead=0");
constexpr unsigned kTexture2D = 0x0de1;

class GraphicsTest : public DriverTest {
 protected:
  CUgraphicsResource Buffer(unsigned name) {
    CUgraphicsResource resource = nullptr;
    EXPECT_EQ(CUDA_SUCCESS, cuGraphicsGLRegisterBuffer(&resource, name, 0));
    return resource;
  }
};

TEST_F(GraphicsTest, ABufferIsThereWhileItIsMapped) {
  CUgraphicsResource buffer = Buffer(3);
  CUdeviceptr address = 0, again = 0;
  size_t bytes = 0;
  EXPECT_EQ(CUDA_ERROR_NOT_MAPPED, cuGraphicsResourceGetMappedPointer(&address, &bytes, buffer));
  EXPECT_EQ(CUDA_ERROR_NOT_MAPPED, cuGraphicsUnmapResources(1, &buffer, nullptr));
  CHECK_CU(cuGraphicsMapResources(1, &buffer, nullptr));
  EXPECT_EQ(CUDA_ERROR_ALREADY_MAPPED, cuGraphicsMapResources(1, &buffer, nullptr));
  EXPECT_EQ(CUDA_ERROR_ALREADY_MAPPED, cuGraphicsResourceSetMapFlags(buffer, 0));
  CHECK_CU(cuGraphicsResourceGetMappedPointer(&address, &bytes, buffer));
  CHECK_CU(cuGraphicsResourceGetMappedPointer(&again, nullptr, buffer));
  EXPECT_EQ(again, address);
  EXPECT_EQ(bytes, 3 * 64 * kKiB);
  CHECK_CU(cuMemsetD8(address, 7, bytes));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFree(address));  // the program does not own the address
  CHECK_CU(cuGraphicsUnmapResources(1, &buffer, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemsetD8(address, 7, bytes));
  // The contents belong to the graphics interface and are kept between mappings.
  CHECK_CU(cuGraphicsMapResources(1, &buffer, nullptr));
  CHECK_CU(cuGraphicsResourceGetMappedPointer(&address, &bytes, buffer));
  unsigned char last = 0;
  CHECK_CU(cuMemcpyDtoH(&last, address + bytes - 1, 1));
  EXPECT_EQ(last, 7);
  EXPECT_EQ(Memory().free_bytes, Memory().capacity_bytes);  // not counted on any device
  CHECK_CU(cuGraphicsUnregisterResource(buffer));           // unmaps as well
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuGraphicsUnregisterResource(buffer));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuGraphicsMapResources(1, &buffer, nullptr));
}

TEST_F(GraphicsTest, ATextureIsAnArray) {
  CUgraphicsResource image = nullptr;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphicsGLRegisterImage(&image, 20, 1, 0));
  CHECK_CU(cuGraphicsGLRegisterImage(&image, 20, kTexture2D, 0));
  CUarray array = nullptr, again = nullptr;
  EXPECT_EQ(CUDA_ERROR_NOT_MAPPED, cuGraphicsSubResourceGetMappedArray(&array, image, 0, 0));
  CHECK_CU(cuGraphicsMapResources(1, &image, nullptr));
  CUdeviceptr address = 0;
  size_t bytes = 0;
  EXPECT_EQ(CUDA_ERROR_NOT_MAPPED_AS_POINTER,
            cuGraphicsResourceGetMappedPointer(&address, &bytes, image));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphicsSubResourceGetMappedArray(&array, image, 1, 0));
  CHECK_CU(cuGraphicsSubResourceGetMappedArray(&array, image, 0, 0));
  CHECK_CU(cuGraphicsSubResourceGetMappedArray(&again, image, 0, 0));
  EXPECT_EQ(again, array);
  CUDA_ARRAY_DESCRIPTOR descriptor = {};
  CHECK_CU(cuArrayGetDescriptor(&descriptor, array));
  EXPECT_EQ(descriptor.Width, 20u);
  EXPECT_EQ(descriptor.NumChannels, 4u);
  EXPECT_EQ(Memory().array_bytes, 0u);
  CHECK_CU(cuGraphicsUnmapResources(1, &image, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuArrayGetDescriptor(&descriptor, array));
  CUgraphicsResource buffer = Buffer(1);
  CHECK_CU(cuGraphicsMapResources(1, &buffer, nullptr));
  EXPECT_EQ(CUDA_ERROR_NOT_MAPPED_AS_ARRAY,
            cuGraphicsSubResourceGetMappedArray(&array, buffer, 0, 0));
}

TEST_F(GraphicsTest, ManyAreMappedTogetherOrNotAtAll) {
  CUgraphicsResource both[] = {Buffer(1), Buffer(2)};
  CHECK_CU(cuGraphicsMapResources(1, &both[1], nullptr));
  EXPECT_EQ(CUDA_ERROR_ALREADY_MAPPED, cuGraphicsMapResources(2, both, nullptr));
  EXPECT_EQ(CUDA_ERROR_NOT_MAPPED, cuGraphicsUnmapResources(1, &both[0], nullptr));
  CHECK_CU(cuGraphicsMapResources(1, &both[0], nullptr));
  CHECK_CU(cuGraphicsUnmapResources(2, both, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphicsMapResources(0, both, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphicsMapResources(1, nullptr, nullptr));
  for (const unsigned name : {0u, 1000000u}) {
    CUgraphicsResource none = nullptr;
    EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphicsGLRegisterBuffer(&none, name, 0));
  }
}

}  // namespace
}  // namespace memprof::simcuda
