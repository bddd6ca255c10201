// Copies of boxes between memory of all kinds, against a model of every byte.
#include <memory>
#include <random>
#include <vector>

#include "tests/simcuda/copy_pattern.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=1GiB,overhead=0");

// A three-dimensional box in one kind of memory, and the expected value of every byte.
class Place {
 public:
  enum Kind { kHost, kPinned, kDevice, kManaged, kArray, kKinds };
  Place(Kind kind, size_t width, size_t height, size_t depth, size_t pitch, unsigned seed)
      : kind_(kind), width_(width), height_(height), depth_(depth), pitch_(pitch) {
    model_ = Pattern(width * height * depth, seed);
    const size_t bytes = pitch * height * depth;
    void* pinned = nullptr;
    switch (kind) {
      case kHost:
        host_.resize(bytes);
        base_ = reinterpret_cast<CUdeviceptr>(host_.data());
        break;
      case kPinned:
        EXPECT_EQ(CUDA_SUCCESS, cuMemHostAlloc(&pinned, bytes, 0));
        base_ = reinterpret_cast<CUdeviceptr>(pinned);
        break;
      case kDevice:
        EXPECT_EQ(CUDA_SUCCESS, cuMemAlloc(&base_, bytes));
        break;
      case kManaged:
        EXPECT_EQ(CUDA_SUCCESS, cuMemAllocManaged(&base_, bytes, CU_MEM_ATTACH_GLOBAL));
        break;
      default: {
        CUDA_ARRAY3D_DESCRIPTOR descriptor = {};
        descriptor.Width = width;
        descriptor.Height = height;
        descriptor.Depth = depth;
        descriptor.Format = CU_AD_FORMAT_SIGNED_INT8;
        descriptor.NumChannels = 1;
        EXPECT_EQ(CUDA_SUCCESS, cuArray3DCreate(&array_, &descriptor));
        break;
      }
    }
    ForEachRow([&](CUDA_MEMCPY3D* copy, unsigned char* row) {
      Side(copy, true, 0, copy->srcY, copy->srcZ);
      copy->srcMemoryType = CU_MEMORYTYPE_HOST;
      copy->srcHost = row;
      copy->srcY = copy->srcZ = 0;
    });
  }
  ~Place() {
    if (kind_ == kPinned) cuMemFreeHost(reinterpret_cast<void*>(base_));
    if (kind_ == kDevice || kind_ == kManaged) cuMemFree(base_);
    if (kind_ == kArray) cuArrayDestroy(array_);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  // Describes this place as one side of a copy that starts there.
  void Side(CUDA_MEMCPY3D* copy, bool destination, size_t x, size_t y, size_t z) const {
    const CUmemorytype type = kind_ == kArray    ? CU_MEMORYTYPE_ARRAY
                              : kind_ == kDevice ? CU_MEMORYTYPE_DEVICE
                              : kind_ == kHost   ? CU_MEMORYTYPE_HOST
                                                 : CU_MEMORYTYPE_UNIFIED;
    if (destination) {
      copy->dstMemoryType = type;
      copy->dstArray = array_;
      copy->dstDevice = base_;
      copy->dstHost = reinterpret_cast<void*>(base_);
      copy->dstPitch = pitch_;
      copy->dstHeight = height_;
      copy->dstXInBytes = x;
      copy->dstY = y;
      copy->dstZ = z;
    } else {
      copy->srcMemoryType = type;
      copy->srcArray = array_;
      copy->srcDevice = base_;
      copy->srcHost = reinterpret_cast<void*>(base_);
      copy->srcPitch = pitch_;
      copy->srcHeight = height_;
      copy->srcXInBytes = x;
      copy->srcY = y;
      copy->srcZ = z;
    }
  }
  unsigned char& Byte(size_t x, size_t y, size_t z) {
    return model_[(z * height_ + y) * width_ + x];
  }
  // Checks every byte against the model.
  void Check() {
    const std::vector<unsigned char> expected = model_;
    ForEachRow([&](CUDA_MEMCPY3D* copy, unsigned char* row) {
      Side(copy, false, 0, copy->srcY, copy->srcZ);
      copy->dstMemoryType = CU_MEMORYTYPE_HOST;
      copy->dstHost = row;
    });
    EXPECT_EQ(model_, expected) << "kind " << kind_;
  }
  const Kind kind_;
  const size_t width_;
  const size_t height_;
  const size_t depth_;

 private:
  // One copy for each row of the model. srcY and srcZ give the position of the row.
  template <class Fill>
  void ForEachRow(Fill fill) {
    for (size_t z = 0; z < depth_; ++z) {
      for (size_t y = 0; y < height_; ++y) {
        CUDA_MEMCPY3D copy = {};
        copy.srcY = y;
        copy.srcZ = z;
        copy.WidthInBytes = width_;
        copy.Height = 1;
        copy.Depth = 1;
        fill(&copy, &Byte(0, y, z));
        ASSERT_EQ(CUDA_SUCCESS, cuMemcpy3D(&copy));
      }
    }
  }
  const size_t pitch_;
  std::vector<unsigned char> model_;
  std::vector<unsigned char> host_;
  CUdeviceptr base_ = 0;
  CUarray array_ = nullptr;
};

TEST_F(CopyTest, BoxesOfAllKindsAgreeWithABytewiseModel) {
  std::mt19937 random(12);
  std::vector<std::unique_ptr<Place>> places;
  for (int i = 0; i < 2 * Place::kKinds; ++i) {
    const size_t width = 5 + random() % 40;
    places.push_back(std::make_unique<Place>(static_cast<Place::Kind>(i % Place::kKinds), width,
                                             2 + random() % 6, 2 + random() % 4,
                                             width + random() % 9, random()));
  }
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    Place& from = *places[random() % places.size()];
    Place& to = *places[random() % places.size()];
    if (&from == &to) continue;
    const size_t start[6] = {random() % from.width_, random() % from.height_,
                             random() % from.depth_, random() % to.width_,
                             random() % to.height_,  random() % to.depth_};
    const size_t shape[3] = {1 + random() % 12, 1 + random() % 3, 1 + random() % 3};
    const size_t room[6] = {from.width_, from.height_, from.depth_,
                            to.width_,   to.height_,   to.depth_};
    bool fits = true;
    bool fits_arrays = true;
    for (int i = 0; i < 6; ++i) {
      const bool inside = start[i] + shape[i % 3] <= room[i];
      fits = fits && inside;
      if ((i < 3 ? from : to).kind_ == Place::kArray) fits_arrays = fits_arrays && inside;
    }
    // In plain memory, bytes outside of the rows may still belong to the block; only arrays refuse
    // reliably.
    if (!fits && fits_arrays) continue;
    CUDA_MEMCPY3D copy = {};
    from.Side(&copy, false, start[0], start[1], start[2]);
    to.Side(&copy, true, start[3], start[4], start[5]);
    copy.WidthInBytes = shape[0];
    copy.Height = shape[1];
    copy.Depth = shape[2];
    const CUresult result = round % 2 == 0 ? cuMemcpy3D(&copy) : cuMemcpy3DAsync(&copy, nullptr);
    ASSERT_EQ(result, fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
    refused += fits ? 0 : 1;
    for (size_t z = 0; fits && z < shape[2]; ++z) {
      for (size_t y = 0; y < shape[1]; ++y) {
        for (size_t x = 0; x < shape[0]; ++x) {
          to.Byte(start[3] + x, start[4] + y, start[5] + z) =
              from.Byte(start[0] + x, start[1] + y, start[2] + z);
        }
      }
    }
  }
  EXPECT_GT(refused, 50);
  CHECK_CU(cuCtxSynchronize());
  for (const auto& place : places) place->Check();
}

}  // namespace
}  // namespace memprof::simcuda
