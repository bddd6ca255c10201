// Selects the instantiation of a kernel by the dtype of a tensor.
#ifndef DEMO_TRAINER_OPS_DISPATCH_H_
#define DEMO_TRAINER_OPS_DISPATCH_H_

#include "demo_trainer/error.h"
#include "demo_trainer/tensor.h"

namespace memprof::demo {

// Calls function(T()) with T = float or BFloat16.
template <typename Function>
void ForDType(DType dtype, const Function& function) {
  switch (dtype) {
    case DType::kFloat32:
      return function(float());
    case DType::kBFloat16:
      return function(BFloat16());
    case DType::kInt32:
      break;
  }
  throw Error("an operation on numbers was given integers");
}

}  // namespace memprof::demo

#endif  // DEMO_TRAINER_OPS_DISPATCH_H_
