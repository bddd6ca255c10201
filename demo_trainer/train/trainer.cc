// Runs the training steps, prints the loss, marks steps for the profiler.
#include "demo_trainer/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "demo_trainer/error.h"
#include "demo_trainer/profiler.h"
#include "demo_trainer/stand_in.h"

namespace memprof::demo {
namespace {

constexpr int64_t kWarmupSteps = 10;

int DeviceCount() {
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result == cudaErrorNoDevice) return 0;
  if (result == cudaErrorInsufficientDriver) {
    throw Error("no usable CUDA driver here; `memprof run --sim -- demo_trainer` uses a stand-in");
  }
  Check(result, "counting devices");
  return count;
}

}  // namespace

Trainer::Trainer(const Options& options)
    : options_(options),
      text_(options_.text, options_.model.context, options_.seed),
      ranks_(options_, options_.ranks > 1 ? Gpt::ParameterCount(options_.model) + 1 : 0),
      scaler_(options_.loss_scale, options_.loss_scale != 1.0f) {
  const int count = DeviceCount();
  if (count < options_.devices) {
    throw Error("--devices " + std::to_string(options_.devices) + " asks for more than the " +
                std::to_string(count) + " there are");
  }
  for (int id = 0; id < options_.devices; ++id) {
    devices_.push_back(std::make_unique<Device>(id, options_.allocator, options_.max_split_bytes));
    const int64_t shard = static_cast<int64_t>(options_.rank) * options_.devices + id;
    replicas_.push_back(std::make_unique<Replica>(*devices_.back(), options_, text_, shard));
  }
}

Trainer::~Trainer() {
  replicas_.clear();
  try {
    for (const auto& device : devices_) {
      device->Synchronize();
      device->allocator().EmptyCache();
    }
  } catch (const Error& error) {
    std::fprintf(stderr, "demo_trainer: %s\n", error.what());
  }
  if (options_.stats) PrintStats("exit");
}

void Trainer::PrintModel() const {
  if (!Prints()) return;
  const ModelConfig& model = options_.model;
  cudaDeviceProp properties;
  Check(cudaGetDeviceProperties(&properties, 0), "asking for the device's name");
  std::printf("device: %s%s, %d of them, %d ranks\n", properties.name,
              stand_in::Present() ? " (kernels run on the CPU)" : "", options_.devices,
              options_.ranks);
  std::printf("model: %lld parameters, %lld layers, dim %lld, %lld heads, context %lld, %s\n",
              static_cast<long long>(Gpt::ParameterCount(model)),
              static_cast<long long>(model.layers), static_cast<long long>(model.dim),
              static_cast<long long>(model.heads), static_cast<long long>(model.context),
              DTypeName(model.dtype));
  std::printf("text: %lld bytes, %lld windows a step\n", static_cast<long long>(text_.bytes()),
              static_cast<long long>(options_.batch * options_.grad_accum));
}

float Trainer::LearningRate(int64_t step) const {
  return options_.lr * static_cast<float>(std::min(step + 1, kWarmupSteps)) /
         static_cast<float>(kWarmupSteps);
}

void Trainer::Run() {
  PrintModel();
  for (int64_t step = 0; step < options_.steps; ++step) {
    profiler::Step(static_cast<uint64_t>(step));
    AfterStep(step, TrainStep(step));
  }
  for (const auto& device : devices_) device->Synchronize();
  if (options_.stats) PrintStats("end");
}

Trainer::Outcome Trainer::TrainStep(int64_t step) {
  Outcome outcome;
  outcome.scale = scaler_.scale();
  for (int64_t micro = 0; micro < options_.grad_accum; ++micro) {
    for (const auto& replica : replicas_) replica->RunMicroBatch(step, outcome.scale);
  }
  for (const auto& replica : replicas_) {
    outcome.loss += replica->TakeLoss() / static_cast<float>(replicas_.size());
  }
  AverageGradients(replicas_);
  ShareWithRanks(&outcome.loss);

  const profiler::Range range("optimizer");
  float grad_scale = 1.0f / outcome.scale;
  outcome.gradient_norm = replicas_[0]->optimizer().GradientNorm(grad_scale);
  outcome.skipped = !scaler_.Update(outcome.gradient_norm);
  if (options_.clip > 0.0f && outcome.gradient_norm > options_.clip) {
    grad_scale *= options_.clip / outcome.gradient_norm;
  }
  for (const auto& replica : replicas_) {
    if (!outcome.skipped) replica->optimizer().Step(LearningRate(step), grad_scale);
    replica->optimizer().ClearGradients();
    replica->model().DropLowPrecisionWeights();
  }
  return outcome;
}

// Averages the gradients, and the loss, over all ranks.
void Trainer::ShareWithRanks(float* loss) {
  if (options_.ranks == 1) return;
  const profiler::Range range("all-reduce");
  std::vector<float> values(static_cast<size_t>(ranks_.count()));
  size_t at = 0;
  for (const Parameter* parameter : replicas_[0]->model().parameters()) {
    parameter->grad.CopyToHost(&values[at]);
    at += static_cast<size_t>(parameter->grad.count());
  }
  values[at] = *loss;
  ranks_.Average(&values);
  *loss = values[at];
  for (const auto& replica : replicas_) {
    at = 0;
    for (const Parameter* parameter : replica->model().parameters()) {
      parameter->grad.CopyFromHost(&values[at]);
      at += static_cast<size_t>(parameter->grad.count());
    }
  }
}

void Trainer::AfterStep(int64_t step, const Outcome& outcome) {
  const bool prints = step % options_.print_every == 0 || step + 1 == options_.steps;
  if (Prints() && outcome.skipped) {
    std::printf("step %lld: a gradient overflowed; step skipped, loss scale %g -> %g\n",
                static_cast<long long>(step), static_cast<double>(outcome.scale),
                static_cast<double>(scaler_.scale()));
  } else if (Prints() && prints) {
    std::printf("step %lld: loss %.6f, gradient norm %.4f", static_cast<long long>(step),
                static_cast<double>(outcome.loss), static_cast<double>(outcome.gradient_norm));
    if (outcome.scale != 1.0f) {
      std::printf(", loss scale %g", static_cast<double>(outcome.scale));
    }
    std::printf("\n");
  }
  if (Prints()) std::fflush(stdout);
  if (options_.eval_every > 0 && (step + 1) % options_.eval_every == 0) Evaluate(step);
  const auto& snapshots = options_.snapshots;
  if (std::find(snapshots.begin(), snapshots.end(), step) != snapshots.end()) {
    for (const auto& device : devices_) device->Synchronize();
    profiler::Snapshot("step " + std::to_string(step));
  }
}

void Trainer::Evaluate(int64_t step) {
  const bool leak = options_.Leaks("eval") && step >= options_.leak_after;
  const float loss = replicas_[0]->Evaluate(text_, leak);
  if (options_.empty_cache) devices_[0]->allocator().EmptyCache();
  if (!Prints()) return;
  std::printf("step %lld: held-out loss %.6f\n", static_cast<long long>(step),
              static_cast<double>(loss));
  std::fflush(stdout);
}

void Trainer::PrintStats(const char* when) const {
  for (const auto& device : devices_) {
    std::printf("stats when=%s rank=%d device=%d %s\n", when, options_.rank, device->id(),
                FormatStats(device->allocator().stats()).c_str());
  }
  std::fflush(stdout);
}

}  // namespace memprof::demo
