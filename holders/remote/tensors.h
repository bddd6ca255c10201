// The memory of PyTorch's tensors in another process.
//
//     tensor + c -> TensorImpl + a -> StorageImpl + b = address, + b + 24 = device, + b + 32 =
//     bytes
//
// The first words of both are pointers into PyTorch's libraries (tables of virtual functions),
// which an arbitrary object does not have. c, a and b depend on the release, and are those by which
// the most tensors are sound. python/memprof/_holders/saved_memory.py does the same inside a
// process.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "holders/remote/memory.h"
#include "holders/remote/process.h"

namespace memprof::holders {

struct Storage {
  int device = 0;
  std::uint64_t address = 0, bytes = 0;
};

class Tensors {
 public:
  Tensors(Memory& memory, const std::vector<Mapping>& mappings);

  // Finds the offsets; false if none fits, as if no tensor has memory.
  bool Learn(const std::vector<std::uint64_t>& tensors);
  // Of an object of a tensor's type. Nothing for memory that is not a GPU's.
  std::optional<Storage> Of(std::uint64_t tensor);
  std::optional<Storage> OfGradient(std::uint64_t tensor);

 private:
  struct Offsets {
    std::uint64_t implementation = 0, storage = 0, data = 0;
  };
  bool OfTorch(std::uint64_t object);
  // Of memory of any device; -1 as the device of the host's.
  std::optional<Storage> At(std::uint64_t implementation, const Offsets& offsets);
  std::optional<Storage> OfGpu(std::uint64_t implementation);

  Memory& memory_;
  std::vector<Mapping> libraries_;
  std::optional<Offsets> offsets_;
};

}  // namespace memprof::holders
