// Texture and surface objects, as they were described.
#ifndef SIMCUDA_DRIVER_TEXTURE_H
#define SIMCUDA_DRIVER_TEXTURE_H

#include <optional>

#include "simcuda/driver/cuda_headers.h"

namespace memprof::simcuda {

class Context;

constexpr int kMaxLinearTexture = 268435456;  // elements

struct Texture {
  const Context* context = nullptr;
  CUDA_RESOURCE_DESC resource{};
  CUDA_TEXTURE_DESC texture{};
  std::optional<CUDA_RESOURCE_VIEW_DESC> view;
};

struct Surface {
  const Context* context = nullptr;
  CUDA_RESOURCE_DESC resource{};
};

// Destroys the objects of a context that ends.
void FreeTexturesOf(const Context* context);

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_TEXTURE_H
