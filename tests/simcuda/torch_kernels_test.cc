// Kernels of PyTorch on a device without contents, with arguments as PyTorch passes them.
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "driver_fixture.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=64GiB,overhead=0,contents=none");

const std::string kFill =
    "_ZN2at6native29vectorized_elementwise_kernelILi2ENS0_"
    "11FillFunctorIlEESt5arrayIPcLm1EELb0EEEviT0"
    "_T1_";
const std::string kAddNumber =
    "_ZN2at6native29vectorized_elementwise_kernelILi2ENS0_21CUDAFunctorOnSelf_"
    "addIlEESt5arrayIPcLm2E"
    "ELb0EEEviT0_T1_";
const std::string kUnrolled =
    "ESt5arrayIPcLm3EELi4E23TrivialOffsetCalculatorILi2EjES7_ILi1EjENS0_"
    "6memory15LoadWithoutCastENSA_"
    "16StoreWithoutCastEEEviT_T0_T2_T3_T4_T5_";
const std::string kAdd =
    "_ZN2at6native27unrolled_elementwise_kernelINS0_15CUDAFunctor_addIlE" + kUnrolled;
const std::string kCompare =
    "_ZN2at6native27unrolled_elementwise_kernelINS0_50_GLOBAL__N__30bf7ff7_17_CompareKernels_cu_"
    "8f1b2"
    "9aa14CompareFunctorIlE" +
    kUnrolled;
const std::string kReduce =
    "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIlNS0_14func_wrapper_tIl";
const std::string kLargest = kReduce + "NS0_13MaxNanFunctorIlEEEEjlLi4ELi4EEEEEvT1_";
const std::string kSum =
    kReduce + "ZNS0_11sum_functorIlllEclERNS_14TensorIteratorEEUlllE_EEjlLi4ELi4EEEEEvT1_";
const std::string kOfFloats =
    "_ZN2at6native57_GLOBAL__N__7e105b8f_24_ForeachBinaryOpScalar_cu_86b9896c25multi_tensor_apply_"
    "ker"
    "nelINS1_18TensorListMetadataILi1EEENS1_21BinaryOpScalarFunctorIfLi1ELi1ELi0EEE";
const std::string kForeachAdd = kOfFloats + "JSt4plusIfEfEEEvT_T0_DpT1_";
const std::string kForeachTimes = kOfFloats + "JSt10multipliesIfEfEEEvT_T0_DpT1_";
const std::string kConcatenate =
    "_ZN2at6native40_GLOBAL__N__f1f992fe_8_Shape_cu_49f7391c35CatArrayBatchedCopy_alignedK_"
    "contigINS1_"
    "10OpaqueTypeILj8EEEjLi1ELi128ELi1ELi16EEEvPT_NS1_25CatArrInputTensorMetadataIS5_T0_XT2_EXT3_"
    "EEEN"
    "S1_16TensorSizeStrideIS8_Lj4EEEiS8_";
constexpr CUdeviceptr kApart = 4096;

class TorchKernelsTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    CHECK_CU(cuMemAlloc(&memory_, kMiB));
    // An image that cannot be read has kernels of any name.
    static constexpr char kImage[] = "compiled code";
    CHECK_CU(cuModuleLoadData(&module_, kImage));
    Put(A(), {3, 5, 4});
    Put(B(), {10, 20, 30});
  }
  void TearDown() override {
    CHECK_CU(cuMemFree(memory_));
    DriverTest::TearDown();
  }
  CUdeviceptr A() const { return memory_; }
  CUdeviceptr B() const { return memory_ + kApart; }
  CUdeviceptr Out() const { return memory_ + 2 * kApart; }

  void Put(CUdeviceptr at, const std::vector<int64_t>& values) {
    ASSERT_EQ(CUDA_SUCCESS, cuMemcpyHtoD(at, values.data(), 8 * values.size()));
  }
  template <typename T = int64_t>
  std::vector<T> Get(CUdeviceptr at, size_t count = 3) {
    std::vector<T> values(count, T{99});
    EXPECT_EQ(CUDA_SUCCESS, cuMemcpyDtoH(values.data(), at, sizeof(T) * count));
    return values;
  }
  void Launch(const std::string& name, std::vector<void*> arguments, unsigned blocks = 1,
              unsigned parts = 1) {
    CUfunction kernel = nullptr;
    ASSERT_EQ(CUDA_SUCCESS, cuModuleGetFunction(&kernel, module_, name.c_str()));
    ASSERT_EQ(CUDA_SUCCESS, cuLaunchKernel(kernel, blocks, parts, 1, 128, 1, 1, 0, nullptr,
                                           arguments.data(), nullptr));
  }
  // `number` is what the functor contains.
  void Elementwise(const std::string& name, int count, int64_t number,
                   std::array<CUdeviceptr, 3> data) {
    Launch(name, {&count, &number, &data});
  }
  std::vector<int64_t> Reduce(const std::string& name, int count, int outputs = 1, int stride = 8) {
    // What is not set is left of something else.
    std::array<int64_t, 200> argument;
    argument.fill(static_cast<int64_t>(B()));
    const int shape[] = {8, count, outputs, 1, 1, 1};
    std::memcpy(&argument[2], shape, sizeof(shape));
    auto* input_offsets = reinterpret_cast<int*>(&argument[10]);
    input_offsets[0] = 1;  // dimension
    input_offsets[1 + 3 * 25] = stride;
    argument[124] = static_cast<int64_t>(A());
    argument[125] = static_cast<int64_t>(Out());
    Launch(name, {&argument});
    return Get(Out(), 1);
  }

  CUdeviceptr memory_ = 0;
  CUmodule module_ = nullptr;
};

using Numbers = std::vector<int64_t>;

TEST_F(TorchKernelsTest, AddsNumbersAndTensors) {
  Elementwise(kAddNumber, 3, 100, {Out(), A()});
  EXPECT_EQ(Get(Out()), (Numbers{103, 105, 104}));
  Elementwise(kAdd, 3, 2, {Out(), A(), B()});
  EXPECT_EQ(Get(Out()), (Numbers{23, 45, 64}));
  EXPECT_EQ(Get(A()), (Numbers{3, 5, 4})) << "what it does not write stays";
  Elementwise(kFill, 2, 7, {A()});
  EXPECT_EQ(Get(A()), (Numbers{7, 7, 4}));
}

TEST_F(TorchKernelsTest, UnknownDataIsComputedOnlyIfItIsOneNumber) {
  Put(Out(), {1, 2, 3});
  Elementwise(kAddNumber, 3, 100, {Out(), Out() + kApart});
  EXPECT_EQ(Get(Out()), (Numbers{0, 0, 0}));
  Elementwise(kAddNumber, 1, 100, {Out(), Out() + kApart});
  EXPECT_EQ(Get(Out()), (Numbers{100, 0, 0}));
}

TEST_F(TorchKernelsTest, Compares) {
  const std::array<std::array<uint8_t, 3>, 4> expected = {
      {{0, 1, 1}, {0, 0, 1}, {1, 1, 0}, {1, 0, 0}}};
  Put(B(), {4, 5, 3});
  for (int64_t how = 0; how < 4; ++how) {
    Elementwise(kCompare, 3, how, {Out(), A(), B()});
    const auto& right = expected[static_cast<size_t>(how)];
    EXPECT_EQ(Get<uint8_t>(Out()), std::vector<uint8_t>(right.begin(), right.end())) << how;
  }
  Elementwise(kCompare, 3, 0, {Out(), A(), Out() + kApart});
  EXPECT_EQ(Get<uint8_t>(Out()), std::vector<uint8_t>(3, 0)) << "nothing is known";
}

TEST_F(TorchKernelsTest, Reduces) {
  EXPECT_EQ(Reduce(kLargest, 3), Numbers{5});
  EXPECT_EQ(Reduce(kSum, 3), Numbers{12});
  EXPECT_EQ(Get(A()), (Numbers{3, 5, 4}));
  // Several results, and data that is not known.
  EXPECT_EQ(Reduce(kSum, 2, 2), Numbers{0});
  EXPECT_EQ(Get(A()), (Numbers{0, 0, 0}));
  EXPECT_EQ(Reduce(kSum, 3), Numbers{0});
  Put(A(), {3, 5, 4});
  EXPECT_EQ(Reduce(kSum, 2, 1, 16), Numbers{0}) << "elements apart";
}

TEST_F(TorchKernelsTest, CountsSteps) {
  for (const size_t room : {110u, 770u}) {
    const std::vector<float> steps = {1, 5};
    CHECK_CU(cuMemcpyHtoD(A(), steps.data(), 4));
    CHECK_CU(cuMemcpyHtoD(B(), &steps[1], 4));
    std::vector<uint64_t> lists(4096);
    // The third is left of an earlier launch.
    for (size_t i = 0; i < 3; ++i) {
      lists[i] = A() + i * kApart;
      lists[room + i] = 1;
    }
    char nothing = 0;
    float number = 2;
    Launch(kForeachAdd, {lists.data(), &nothing, &nothing, &number}, 2);
    EXPECT_EQ(Get<float>(A(), 1)[0], 3) << room;
    EXPECT_EQ(Get<float>(B(), 1)[0], 7) << room;
    EXPECT_EQ(Get<float>(Out(), 1)[0], 0) << room;
    lists[room] = 70000;  // two blocks
    Launch(kForeachTimes, {lists.data(), &nothing, &nothing, &number}, 2);
    EXPECT_EQ(Get<float>(A(), 1)[0], 0) << room;
    CHECK_CU(cuMemcpyHtoD(Out() + 300 * kKiB, steps.data(), 8));
    Launch(kForeachTimes, {lists.data(), &nothing, &nothing, &number}, 2);
    EXPECT_EQ(Get<float>(Out() + 300 * kKiB, 2), steps) << "beyond what it writes";
  }
}

TEST_F(TorchKernelsTest, Concatenates) {
  std::array<uint64_t, 512> inputs{};
  auto* begins = reinterpret_cast<uint32_t*>(&inputs[128]);
  inputs[0] = A();
  inputs[1] = B();
  begins[1] = 3;
  begins[2 * 128] = 3;
  begins[2 * 128 + 1] = 2;
  CUdeviceptr out = Out();
  std::array<uint32_t, 8> strides{};
  int dimension = 0;
  uint32_t stride = 1;
  Launch(kConcatenate, {&out, &inputs, &strides, &dimension, &stride}, 1, 2);
  EXPECT_EQ(Get(Out(), 6), (Numbers{3, 5, 4, 10, 20, 0}));
}

TEST_F(TorchKernelsTest, OthersMayWriteAnywhere) {
  Launch("_ZN2at6native7unknownEv", {});
  EXPECT_EQ(Get(A()), (Numbers{0, 0, 0}));
}

TEST_F(TorchKernelsTest, NamesMayEndAnywhere) {
  for (const std::string& name : {kFill, kAdd, kCompare, kLargest, kForeachAdd, kConcatenate})
    for (size_t size = 1; size < name.size(); ++size) {
      CUfunction kernel = nullptr;
      ASSERT_EQ(CUDA_SUCCESS, cuModuleGetFunction(&kernel, module_, name.substr(0, size).c_str()));
    }
}

}  // namespace
}  // namespace memprof::simcuda
