// A small training run for tests and pictures.
#include "tests/viewer/demo_log.h"

#include <unistd.h>

#include <QFile>
#include <cstddef>
#include <map>
#include <vector>

#include "proto/framing.h"

namespace memprof::viewer::testing {
namespace {

using analysis::Layer;
using analysis::testing::EventFields;
using analysis::testing::LogBuilder;

constexpr std::uint64_t kMiB = 1ull << 20;
constexpr std::uint64_t kBase = 0x7f4200000000ull;

// First fit in segments that are taken from the driver as needed: sufficient for holes and pins in
// the map.
class Allocator {
 public:
  Allocator(LogBuilder& log, int segment_site) : log_(log), segment_site_(segment_site) {}

  std::uint64_t Allocate(std::uint64_t bytes, int site, const std::string& tensor,
                         std::vector<std::uint64_t> shape) {
    bytes = (bytes + 511) / 512 * 512;
    std::uint64_t address = Find(bytes);
    if (address == 0) {
      Grow(std::max(bytes, 20 * kMiB));
      address = Find(bytes);
    }
    used_[address] = bytes;
    EventFields fields{.stack = site};
    fields.aux0 = bytes - 96;
    log_.Alloc(Layer::kBlock, address, bytes, fields);
    if (!tensor.empty()) {
      log_.TensorCreate(address, bytes, log_.Tensor(tensor, "fp32", shape), {.stack = site});
      tensors_[address] = true;
    }
    return address;
  }

  void Free(std::uint64_t address) {
    if (tensors_.erase(address) > 0) log_.Free(Layer::kTensor, address);
    log_.Free(Layer::kBlock, address);
    used_.erase(address);
  }

 private:
  std::uint64_t Find(std::uint64_t bytes) {
    for (const auto& [begin, size] : segments_) {
      std::uint64_t at = begin;
      for (auto used = used_.lower_bound(begin);; ++used) {
        const std::uint64_t end =
            used == used_.end() || used->first >= begin + size ? begin + size : used->first;
        if (end - at >= bytes) return at;
        if (end == begin + size) break;
        at = used->first + used->second;
      }
    }
    return 0;
  }

  void Grow(std::uint64_t bytes) {
    const std::uint64_t address = next_;
    next_ += (bytes + 2 * kMiB) / (2 * kMiB) * (2 * kMiB) + 64 * kMiB;
    EventFields fields{.stack = segment_site_};
    fields.api = "cudaMalloc";
    log_.Alloc(Layer::kLinear, address, bytes, fields);
    log_.Alloc(Layer::kSegment, address, bytes, {.stack = segment_site_});
    segments_[address] = bytes;
  }

  LogBuilder& log_;
  const int segment_site_;
  std::uint64_t next_ = kBase;
  std::map<std::uint64_t, std::uint64_t> segments_, used_;
  std::map<std::uint64_t, bool> tensors_;
};

struct Sites {
  explicit Sites(LogBuilder& log) {
    const auto stack = [&log](std::vector<std::string> inner) {
      std::vector<std::string> frames = {"main (train.cc:210)", "Trainer::Run (trainer.cc:88)"};
      frames.insert(frames.end(), inner.begin(), inner.end());
      return log.Stack(frames);
    };
    segment = stack(
        {"Model::Forward (model.cc:55)", "CachingAllocator::Grow (caching_allocator.cc:140)"});
    weights = stack({"Model::Model (model.cc:21)", "Linear::Linear (layers.cc:33)"});
    adam = stack({"AdamW::AdamW (adamw.cc:17)", "AdamW::MakeState (adamw.cc:29)"});
    attention = stack({"Model::Forward (model.cc:61)", "Attention::Forward (attention.cc:74)"});
    mlp = stack({"Model::Forward (model.cc:64)", "Mlp::Forward (layers.cc:102)"});
    gradient = stack({"Model::Backward (model.cc:90)", "Linear::Backward (layers.cc:58)"});
    leak = stack({"Trainer::Step (trainer.cc:131)", "LossHistory::Append (loss_history.cc:24)"});
    workspace = stack({"cublasCreate (blas.cc:12)"});
  }
  int segment, weights, adam, attention, mlp, gradient, leak, workspace;
};

void TrainStep(LogBuilder& log, Allocator& allocator, const Sites& sites, int step, bool leak) {
  std::vector<std::uint64_t> activations;
  log.RangePush("forward");
  for (int layer = 0; layer < 6; ++layer) {
    const std::string prefix = "h." + std::to_string(layer) + ".";
    log.RangePush("layer " + std::to_string(layer));
    log.AdvanceTime(2'000'000);
    activations.push_back(
        allocator.Allocate(6 * kMiB, sites.attention, prefix + "attn.scores", {8, 8, 128, 192}));
    log.AdvanceTime(2'000'000);
    activations.push_back(allocator.Allocate(9 * kMiB + static_cast<std::uint64_t>(layer % 3) * 512,
                                             sites.mlp, prefix + "mlp.hidden", {8, 128, 2304}));
    log.RangePop();
  }
  log.RangePop();
  if (leak) {
    allocator.Allocate(kLeakBytes, sites.leak, "loss.retained", {256, 1024});
  }
  log.RangePush("backward");
  for (int layer = 5; layer >= 0; --layer) {
    log.AdvanceTime(3'000'000);
    const std::uint64_t gradient = allocator.Allocate(
        4 * kMiB, sites.gradient, "h." + std::to_string(layer) + ".grad", {1024, 1024});
    allocator.Free(activations.back());
    activations.pop_back();
    log.AdvanceTime(1'000'000);
    allocator.Free(activations.back());
    activations.pop_back();
    allocator.Free(gradient);
  }
  log.RangePop();
  if (step == 30) log.Snapshot("after warm-up");
}

// The same without a framework: direct driver allocations.
void DriverStep(LogBuilder& log, const Sites& sites, int step) {
  const std::uint64_t address = kBase + static_cast<std::uint64_t>(step) * 64 * kMiB;
  log.AdvanceTime(5'000'000);
  log.Alloc(Layer::kLinear, address, 16 * kMiB, {.stack = sites.attention});
  log.AdvanceTime(5'000'000);
  log.Alloc(Layer::kStreamOrdered, address + 32 * kMiB, 8 * kMiB, {.stack = sites.mlp});
  log.AdvanceTime(5'000'000);
  log.Free(address + 32 * kMiB);
  log.Free(address);
}

}  // namespace

void FillDemoLog(LogBuilder& log, const DemoOptions& options) {
  log.header().set_executable("/home/user/demo_trainer");
  log.Device(0, options.capacity, "Simulated GPU");
  log.Thread(1, 4711, "main");
  const Sites sites(log);
  if (!options.framework) {
    for (int step = 0; step < options.steps; ++step) {
      log.Step(static_cast<std::uint64_t>(step));
      DriverStep(log, sites, step);
    }
    return;
  }
  Allocator allocator(log, sites.segment);
  log.Alloc(Layer::kLinear, kBase + (1ull << 36), 32 * kMiB, {.stack = sites.workspace});
  log.Alloc(Layer::kPinned, 0x7fff00000000ull, 8 * kMiB, {.device = -1, .stack = sites.workspace});
  for (int layer = 0; layer < 6; ++layer) {
    log.AdvanceTime(4'000'000);
    const std::string prefix = "h." + std::to_string(layer) + ".";
    allocator.Allocate(7 * kMiB, sites.weights, prefix + "attn.weight", {768, 2304});
    allocator.Allocate(9 * kMiB, sites.weights, prefix + "mlp.weight", {768, 3072});
    allocator.Allocate(16 * kMiB, sites.adam, prefix + "adam.m", {768, 5376});
    allocator.Allocate(16 * kMiB, sites.adam, prefix + "adam.v", {768, 5376});
  }
  for (int step = 0; step < options.steps; ++step) {
    log.AdvanceTime(5'000'000);
    log.Step(static_cast<std::uint64_t>(step));
    TrainStep(log, allocator, sites, step, options.leak);
  }
  log.AdvanceTime(10'000'000);
}

void RecordedByThisProcess(analysis::testing::LogBuilder& log, const QTemporaryDir& directory) {
  QFile ring(directory.filePath(QStringLiteral("ring")));
  if (ring.open(QIODevice::WriteOnly)) ring.write("not a ring");
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  log.header().set_pid(static_cast<std::uint32_t>(getpid()));
  log.header().set_hostname(host);
  log.header().set_ring_path(ring.fileName().toStdString());
}

QString WriteDemoLog(const QTemporaryDir& directory, const DemoOptions& options) {
  LogBuilder log;
  FillDemoLog(log, options);
  const QString path = directory.filePath(QStringLiteral("demo.mprof"));
  return log.WriteTo(path.toStdString()).ok() ? path : QString();
}

QByteArray OfVersion(QByteArray log, char version) {
  log[offsetof(log::FileHeader, version)] = version;
  log[offsetof(log::FileHeader, reader_version)] = version;
  return log;
}

}  // namespace memprof::viewer::testing
