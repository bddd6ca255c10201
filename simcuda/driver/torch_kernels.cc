// Names and arguments of PyTorch's kernels.
#include "simcuda/driver/torch_kernels.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "simcuda/driver/allocation.h"
#include "simcuda/driver/contents.h"

namespace memprof::simcuda {
namespace {

using Family = TorchKernel::Family;
using Result = TorchKernel::Result;

constexpr size_t kMaxBytes = KnownBytes::kMaxWrite;
constexpr std::string_view kComputed = "ilfd";

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// What follows the part; empty without it.
std::string_view After(std::string_view text, std::string_view part) {
  const size_t at = text.find(part);
  return at == std::string_view::npos ? std::string_view() : text.substr(at + part.size());
}

size_t BytesOf(char type) {
  switch (type) {
    case 'a':
    case 'b':
    case 'h':
      return 1;
    case 's':
    case 't':
      return 2;
    case 'i':
    case 'j':
    case 'f':
      return 4;
    default:
      return 8;
  }
}

void SetType(TorchKernel* kernel, Result result, std::string_view type) {
  if (type.empty() || !Has(kComputed, type.substr(0, 1))) return;
  kernel->result = result;
  kernel->type = type[0];
  kernel->bytes = result == Result::kCompare ? 1 : BytesOf(type[0]);
}

int Number(std::string_view text) { return std::atoi(std::string(text.substr(0, 4)).c_str()); }

TorchKernel Elementwise(std::string_view functor) {
  const size_t end = std::min(functor.find("St5arrayIPc"), functor.find("NS_6detail5ArrayIPc"));
  if (end == std::string_view::npos) return {};
  const std::string_view operands = After(functor.substr(end), "IPcL");  // m3E, i3E
  if (operands.empty()) return {};
  TorchKernel kernel{.family = Family::kElementwise};
  kernel.operands = Number(operands.substr(1));
  functor = functor.substr(0, end);
  // The types of a lambda's parameters, or of a functor.
  for (const std::string_view sign : {"EUl", "FunctorI"}) {
    if (const auto type = After(functor, sign); !type.empty()) kernel.bytes = BytesOf(type[0]);
  }
  const bool fixed = Has(functor, "UnaryFunctor");
  SetType(&kernel, Result::kFill, After(functor, "NS0_11FillFunctorI"));
  SetType(&kernel, Result::kAddNumber, After(functor, "NS0_21CUDAFunctorOnSelf_addI"));
  if (!fixed) SetType(&kernel, Result::kAdd, After(functor, "NS0_15CUDAFunctor_addI"));
  if (!fixed) SetType(&kernel, Result::kCompare, After(functor, "14CompareFunctorI"));
  return kernel;
}

TorchKernel Reduction(std::string_view operation) {
  TorchKernel kernel{.family = Family::kReduction};
  const std::string_view type = After(operation, "8ReduceOpI").substr(0, 1);
  SetType(&kernel, Result::kLargest, Has(operation, "13MaxNanFunctorI") ? type : "");
  SetType(&kernel, Result::kSmallest, Has(operation, "13MinNanFunctorI") ? type : "");
  SetType(&kernel, Result::kSum, Has(operation, "11sum_functorI") ? type : "");
  return kernel;
}

TorchKernel Foreach(std::string_view functor) {
  TorchKernel kernel{.family = Family::kForeach};
  std::string_view lists = After(functor, "18TensorListMetadataILi");
  if (lists.empty()) {
    kernel.scalars = true;
    lists = After(functor, "28TensorListScalarListMetadataI");
    if (lists.size() < 4 || lists[0] == 'N') return {};
    lists = lists.substr(3);  // fLi3E
  }
  kernel.operands = Number(lists);
  const std::string_view type = After(After(lists, "Functor"), "I");
  if (!type.empty()) kernel.bytes = BytesOf(type[0]);
  if (Has(functor, "21BinaryOpScalarFunctorI") && Has(functor, "Li1ELi1ELi0E")) {
    SetType(&kernel, Result::kAddNumber, After(functor, "JSt4plusI"));
  }
  return kernel;
}

TorchKernel Concatenation(std::string_view parts) {
  const std::string_view size = After(parts, "10OpaqueTypeILj");
  if (!Has(parts, "_contigI") || size.empty() || !Has(size, "jLi1ELi128E")) return {};
  return {.family = Family::kConcatenation, .bytes = static_cast<size_t>(Number(size))};
}

bool IsDevice(uint64_t address) {
  if (address < 65536) return false;
  const auto found = Allocations().Find(address);
  return found != nullptr && !found->on_host();
}

template <typename T>
T Load(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

template <typename T>
std::vector<T> Elements(uint64_t address, size_t count) {
  std::vector<T> values(count);
  DeviceContents().Read(address, values.data(), count * sizeof(T));
  return values;
}

template <typename T>
T Sum(T a, T b) {
  if constexpr (std::numeric_limits<T>::is_integer) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}

// Unknown numbers are zeros. That is right for a counter, of which there is one number.
bool Computes(const uint64_t* inputs, int count, size_t elements, size_t bytes) {
  const size_t all = elements * bytes;
  if (all > kMaxBytes) return false;
  return elements == 1 || std::all_of(inputs, inputs + count, [&](uint64_t input) {
           return DeviceContents().Knows(input, all);
         });
}

enum Comparison { kGreaterOrEqual, kGreater, kLessOrEqual, kLess };

template <typename T>
bool Compare(T a, T b, int comparison) {
  switch (comparison) {
    case kGreaterOrEqual:
      return a >= b;
    case kGreater:
      return a > b;
    case kLessOrEqual:
      return a <= b;
    default:
      return a < b;
  }
}

template <typename T>
void RunElementwise(const TorchKernel& kernel, size_t count, const void* functor,
                    const uint64_t* data) {
  const int inputs = kernel.operands - 1;
  const bool compares = kernel.result == Result::kCompare;
  const int wanted = kernel.result == Result::kFill        ? 0
                     : kernel.result == Result::kAddNumber ? 1
                                                           : 2;
  if (inputs != wanted || !Computes(data + 1, inputs, count, sizeof(T)) ||
      (compares && !(DeviceContents().Knows(data[1], 1) && DeviceContents().Knows(data[2], 1)))) {
    DeviceContents().Forget(data[0], count * kernel.bytes);
    return;
  }
  const T number = compares ? T{} : Load<T>(functor);
  const int comparison = compares ? Load<int>(functor) : 0;
  std::vector<T> a(count, T{});
  if (inputs > 0) a = Elements<T>(data[1], count);
  const std::vector<T> b = inputs > 1 ? Elements<T>(data[2], count) : std::vector<T>(count, T{1});
  std::vector<uint8_t> bytes(count);
  for (size_t i = 0; i < count; ++i) {
    if (compares) bytes[i] = Compare(a[i], b[i], comparison) ? 1 : 0;
    a[i] = Sum(a[i], static_cast<T>(number * b[i]));
  }
  DeviceContents().Write(data[0], compares ? static_cast<const void*>(bytes.data()) : a.data(),
                         count * kernel.bytes);
}

// The argument of a reduction begins with a functor of a byte and a number of the type. What
// is unused in it may be left of anything.
template <typename T>
struct ReductionArgument {
  static constexpr size_t kMaxDimensions = 25;
  struct Divider {
    unsigned numbers[3];
  };
  template <size_t kArrays>
  struct Offsets {
    int dimensions;
    Divider sizes[kMaxDimensions];
    unsigned strides[kMaxDimensions][kArrays];
  };
  char functor;
  T identity;
  int element_bytes;
  int inputs;
  int outputs;
  int configuration[13];
  Offsets<1> input_offsets;
  Offsets<2> output_offsets;
  uint64_t input;
  uint64_t output;
};

template <typename T>
bool RunReduction(const TorchKernel& kernel, const void* argument) {
  const auto given = Load<ReductionArgument<T>>(argument);
  const bool contiguous = given.element_bytes == sizeof(T) && given.outputs == 1 &&
                          given.input_offsets.dimensions == 1 &&
                          given.input_offsets.strides[0][0] == sizeof(T);
  const auto count = static_cast<size_t>(given.inputs);
  if (!contiguous || !IsDevice(given.input) || !IsDevice(given.output) || given.inputs < 1 ||
      !Computes(&given.input, 1, count, sizeof(T))) {
    return false;
  }
  const std::vector<T> values = Elements<T>(given.input, count);
  T result = values[0];
  for (size_t i = 1; i < count; ++i) {
    result = kernel.result == Result::kSum       ? Sum(result, values[i])
             : kernel.result == Result::kLargest ? std::max(result, values[i])
                                                 : std::min(result, values[i]);
  }
  DeviceContents().Write(given.output, &result, sizeof(result));
  return true;
}

struct TensorLists {
  size_t room = 0;     // of each list
  size_t tensors = 0;  // that the launch works on
};

// The room depends on PyTorch's release. The launch has a block for each part of a tensor; entries
// behind those tensors may be left of an earlier launch.
TensorLists FindLists(const TorchKernel& kernel, unsigned blocks, const uint64_t* list) {
  constexpr uint64_t kPart = 65536;  // elements
  constexpr size_t kRooms[2][2][5] = {{{110, 64, 48, 36, 30}, {770, 448, 336, 252, 210}},
                                      {{96, 64, 48, 36, 30}, {672, 448, 336, 252, 210}}};
  for (const auto& rooms : kRooms[kernel.scalars ? 1 : 0]) {
    const size_t room = rooms[kernel.operands - 1];
    const uint64_t* elements = list + room * static_cast<size_t>(kernel.operands);
    uint64_t parts = 0;
    for (size_t i = 0; i < room && elements[i] - 1 < uint64_t{1} << 40 && IsDevice(list[i]); ++i) {
      parts += (elements[i] + kPart - 1) / kPart;
      if (parts >= blocks) return {room, i + 1};
    }
  }
  return {};
}

bool RunForeach(const TorchKernel& kernel, unsigned blocks, void* const* arguments) {
  if (kernel.operands < 1 || kernel.operands > 5) return false;
  const auto* list = static_cast<const uint64_t*>(arguments[0]);
  const TensorLists lists = FindLists(kernel, blocks, list);
  const uint64_t* elements = list + lists.room * static_cast<size_t>(kernel.operands);
  for (size_t i = 0; i < lists.tensors; ++i) {
    if (kernel.result == Result::kAddNumber && kernel.type == 'f' && elements[i] == 1) {
      const float sum = Elements<float>(list[i], 1)[0] + Load<float>(arguments[3]);
      DeviceContents().Write(list[i], &sum, sizeof(sum));
      continue;
    }
    for (int operand = 0; operand < kernel.operands; ++operand) {
      const uint64_t address = list[static_cast<size_t>(operand) * lists.room + i];
      DeviceContents().Forget(address, elements[i] * kernel.bytes);
    }
  }
  return lists.tensors > 0;
}

// Up to 128 inputs: their addresses, then where each begins in the output, its length along the
// dimension, and its elements.
bool RunConcatenation(const TorchKernel& kernel, unsigned inputs, void* const* arguments) {
  constexpr size_t kBatch = 128;
  const auto output = Load<uint64_t>(arguments[0]);
  const auto* addresses = static_cast<const uint64_t*>(arguments[1]);
  const auto* begins = reinterpret_cast<const uint32_t*>(addresses + kBatch);
  const uint32_t* elements = begins + 2 * kBatch;
  if (inputs > kBatch || Load<int>(arguments[3]) != 0) return false;
  const auto stride = Load<uint32_t>(arguments[4]);
  for (size_t i = 0; i < inputs; ++i) {
    const size_t bytes = elements[i] * kernel.bytes;
    const uint64_t to = output + uint64_t{begins[i]} * stride * kernel.bytes;
    if (bytes > kMaxBytes || !DeviceContents().Knows(addresses[i], bytes)) {
      DeviceContents().Forget(to, bytes);
      continue;
    }
    const std::vector<uint8_t> part = Elements<uint8_t>(addresses[i], bytes);
    DeviceContents().Write(to, part.data(), bytes);
  }
  return true;
}

// Calls the function with a value of the kernel's type.
template <typename Function>
bool WithType(char type, Function function) {
  switch (type) {
    case 'i':
      return function(int32_t{});
    case 'l':
      return function(int64_t{});
    case 'f':
      return function(float{});
    case 'd':
      return function(double{});
    default:
      return false;
  }
}

}  // namespace

TorchKernel ReadTorchKernel(std::string_view name) {
  if (name.rfind("_ZN2at6native", 0) != 0) return {};
  if (const auto rest = After(name, "29vectorized_elementwise_kernelILi"); !rest.empty()) {
    return Elementwise(After(rest, "E"));
  }
  if (const auto rest = After(name, "27unrolled_elementwise_kernelI"); !rest.empty()) {
    if (!Has(rest, "23TrivialOffsetCalculatorI")) return {};
    TorchKernel kernel = Elementwise(rest);
    if (Has(rest, "WithCastI")) kernel.result = Result::kUnknown, kernel.bytes = 8;
    return kernel;
  }
  if (const auto rest = After(name, "13reduce_kernelI"); !rest.empty()) return Reduction(rest);
  if (const auto rest = After(name, "25multi_tensor_apply_kernelI"); !rest.empty()) {
    return Foreach(rest);
  }
  if (const auto rest = After(name, "CatArrayBatchedCopy"); !rest.empty()) {
    return Concatenation(rest);
  }
  return {};
}

bool RunTorchKernel(const TorchKernel& kernel, const unsigned* grid, void* const* arguments) {
  if (arguments == nullptr) return false;
  switch (kernel.family) {
    case Family::kElementwise: {
      const auto count = static_cast<size_t>(Load<int>(arguments[0]));
      const auto* data = static_cast<const uint64_t*>(arguments[2]);
      if (kernel.operands < 1 || !IsDevice(data[0])) return false;
      if (kernel.result == Result::kUnknown) {
        DeviceContents().Forget(data[0], count * kernel.bytes);
        return true;
      }
      return WithType(kernel.type, [&](auto zero) {
        RunElementwise<decltype(zero)>(kernel, count, arguments[1], data);
        return true;
      });
    }
    case Family::kReduction:
      return WithType(kernel.type, [&](auto zero) {
        return RunReduction<decltype(zero)>(kernel, arguments[0]);
      });
    case Family::kForeach:
      return RunForeach(kernel, grid[0], arguments);
    case Family::kConcatenation:
      return RunConcatenation(kernel, grid[1], arguments);
    default:
      return false;
  }
}

}  // namespace memprof::simcuda
