// Shared by tests of operations: tensors of the tested dtype, and the expected accuracy.
#ifndef TESTS_DEMO_TRAINER_OPS_FIXTURE_H_
#define TESTS_DEMO_TRAINER_OPS_FIXTURE_H_

#include <gtest/gtest.h>

#include "tests/demo_trainer/reference.h"

namespace memprof::demo {

inline std::string DTypeOf(const testing::TestParamInfo<DType>& dtype) {
  return DTypeName(dtype.param);
}

class OpsTwinTest : public testing::TestWithParam<DType> {
 protected:
  Tensor Make(const std::vector<float>& values, std::vector<int64_t> shape) {
    return reference::UploadAs(*device_, GetParam(), values, std::move(shape));
  }
  Tensor Random(std::vector<int64_t> shape, uint64_t seed, float deviation = 1.0f) {
    int64_t count = 1;
    for (const int64_t extent : shape) count *= extent;
    return Make(RandomValues(static_cast<size_t>(count), seed, deviation), std::move(shape));
  }
  Tensor Empty(std::vector<int64_t> shape) {
    return Tensor(*device_, "out", GetParam(), std::move(shape));
  }
  double Tolerance(double roundings) const { return roundings * reference::Precision(GetParam()); }

  const std::unique_ptr<Device> device_ = MakeDevice();
};

}  // namespace memprof::demo

#endif  // TESTS_DEMO_TRAINER_OPS_FIXTURE_H_
