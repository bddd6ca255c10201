// Words that are what they should be.
#include "holders/remote/tensors.h"

#include <algorithm>

#include "absl/strings/match.h"

namespace memprof::holders {
namespace {

constexpr std::size_t kMostToLearn = 512;
constexpr std::uint64_t kFirstObject = 16, kLastObject = 32;  // after the head of a Python object
constexpr std::uint64_t kFirst = 8, kLastStorage = 128, kLastData = 64;
constexpr std::uint64_t kDevice = 24, kBytes = 32;
constexpr std::uint64_t kAutograd = 8;  // after the storage in a TensorImpl
constexpr std::uint64_t kLastGradient = 48;
constexpr std::uint64_t kLeastAddress = 1 << 16, kMostBytes = std::uint64_t{1} << 47;
constexpr int kCpu = 0, kCuda = 1, kMostDevices = 64;  // c10::DeviceType

}  // namespace

Tensors::Tensors(Memory& memory, const std::vector<Mapping>& mappings) : memory_(memory) {
  for (const Mapping& mapping : mappings) {
    const std::string name = mapping.path.substr(mapping.path.rfind('/') + 1);
    if (absl::StartsWith(name, "libc10") || absl::StartsWith(name, "libtorch"))
      libraries_.push_back(mapping);
  }
}

bool Tensors::OfTorch(std::uint64_t object) {
  if (object < kLeastAddress || object % 8 != 0) return false;
  return Containing(libraries_, memory_.Word(object)) != nullptr;
}

std::optional<Storage> Tensors::At(std::uint64_t implementation, const Offsets& offsets) {
  const std::uint64_t storage = memory_.Word(implementation + offsets.storage);
  if (!OfTorch(storage)) return std::nullopt;
  Storage found;
  found.address = memory_.Word(storage + offsets.data);
  found.bytes = memory_.Word(storage + offsets.data + kBytes);
  const auto kind = memory_.Load<std::int8_t>(storage + offsets.data + kDevice);
  const auto index = memory_.Load<std::int8_t>(storage + offsets.data + kDevice + 1);
  const bool gpu = kind == kCuda && index >= 0 && index < kMostDevices;
  if (!gpu && !(kind == kCpu && index == -1)) return std::nullopt;
  if (found.address < kLeastAddress || found.bytes == 0 || found.bytes > kMostBytes)
    return std::nullopt;
  found.device = gpu ? index : -1;
  return found;
}

bool Tensors::Learn(const std::vector<std::uint64_t>& tensors) {
  const std::size_t count = std::min(tensors.size(), kMostToLearn);
  std::size_t most = 0;
  Offsets tried;
  for (tried.implementation = kFirstObject; tried.implementation <= kLastObject;
       tried.implementation += 8) {
    std::vector<std::uint64_t> implementations;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t found = memory_.Word(tensors[i] + tried.implementation);
      if (OfTorch(found)) implementations.push_back(found);
    }
    for (tried.storage = kFirst; tried.storage <= kLastStorage; tried.storage += 8) {
      for (tried.data = kFirst; tried.data <= kLastData; tried.data += 8) {
        const auto sound = static_cast<std::size_t>(
            std::count_if(implementations.begin(), implementations.end(),
                          [&](std::uint64_t each) { return At(each, tried).has_value(); }));
        if (sound <= most) continue;
        most = sound;
        offsets_ = tried;
      }
    }
  }
  return offsets_.has_value();
}

std::optional<Storage> Tensors::OfGpu(std::uint64_t implementation) {
  if (!offsets_ || !OfTorch(implementation)) return std::nullopt;
  std::optional<Storage> found = At(implementation, *offsets_);
  if (found && found->device < 0) found.reset();
  return found;
}

std::optional<Storage> Tensors::Of(std::uint64_t tensor) {
  return offsets_ ? OfGpu(memory_.Word(tensor + offsets_->implementation)) : std::nullopt;
}

// TensorImpl -> what autograd knows of it -> the gradient, another TensorImpl.
std::optional<Storage> Tensors::OfGradient(std::uint64_t tensor) {
  if (!offsets_) return std::nullopt;
  const std::uint64_t implementation = memory_.Word(tensor + offsets_->implementation);
  const std::uint64_t autograd = memory_.Word(implementation + offsets_->storage + kAutograd);
  if (!OfTorch(implementation) || !OfTorch(autograd)) return std::nullopt;
  for (std::uint64_t place = kFirst; place <= kLastGradient; place += 8)
    if (const auto found = OfGpu(memory_.Word(autograd + place)); found) return found;
  return std::nullopt;
}

}  // namespace memprof::holders
