// The logs that tests of the command use.
#include <filesystem>

#include "tests/cli/cli_test_support.h"

namespace memprof::cli::testing {
namespace {

using analysis::Layer;
using analysis::Op;
using analysis::testing::LogBuilder;

}  // namespace

void WriteTraining(LogBuilder& log) {
  log.header().set_executable("/opt/train/train_gpt");
  log.header().clear_argument();
  log.header().add_argument("train_gpt");
  log.header().add_argument("--steps=40");
  log.header().set_hostname("gpu-host");
  log.header().set_pid(4711);
  log.Device(0, 256 * kMiB, "test GPU");
  log.Device(1, 256 * kMiB, "test GPU");
  for (log::Device& device : *log.definitions().mutable_device()) device.set_simulated(false);
  log.Thread(1, 4711, "train_gpt");
  log.SourceState("driver", 1, "CUDA 13.0");
  log.SourceState("cupti", 2, "another subscriber is active");
  const int segment = log.Stack({"main (train.cc:100)", "Allocator::Grow (allocator.cc:61)"});
  const int weights = log.Stack({"main (train.cc:100)", "Model::Model (model.cc:12)"});
  const int forward = log.Stack({"main (train.cc:100)", "Model::Forward (model.cc:40)"});
  const int history =
      log.Stack({"main (train.cc:100)", "TrainStep (train.cc:77)", "HistoryLeak (history.cc:42)"});
  const int prefetch = log.Stack({"main (train.cc:100)", "Loader::Loader (loader.cc:9)"});
  const int replica = log.Stack({"main (train.cc:100)", "Replicate (train.cc:130)"});
  const std::uint64_t base = 0x7f0000000000;
  log.Alloc(Layer::kPinned, 0x5000, 8 * kMiB,
            {.device = analysis::kNoDevice, .stack = prefetch, .api = "cuMemHostAlloc"});
  log.Alloc(Layer::kLinear, base, 64 * kMiB, {.stack = segment, .api = "cuMemAlloc_v2"});
  log.Alloc(Layer::kSegment, base, 64 * kMiB, {.stack = segment});
  for (std::uint64_t i = 0; i < 4; ++i) {
    const std::uint64_t address = base + i * 2 * kMiB;
    log.Alloc(Layer::kBlock, address, 2 * kMiB, {.stack = weights, .aux0 = 2 * kMiB - 100});
    log.TensorCreate(address, 2 * kMiB - 100,
                     log.Tensor("layer" + std::to_string(i) + ".weight", "float32", {512, 1024}),
                     {.stack = weights});
  }
  log.Alloc(Layer::kLinear, base + 1024 * kMiB, 32 * kMiB, {.device = 1, .stack = replica});
  const std::uint32_t cycle = log.String("`Node.next`, in a cycle\ncycle\nNode `Node`, the same");
  for (std::uint64_t step = 0; step < 40; ++step) {
    log.AdvanceTime(10'000'000);
    log.Step(step);
    const std::uint64_t activations = base + 56 * kMiB;
    log.Alloc(Layer::kBlock, activations, 6 * kMiB, {.stack = forward, .aux0 = 6 * kMiB});
    log.TensorCreate(activations, 6 * kMiB, log.Tensor("activations", "bfloat16", {64, 49152}),
                     {.stack = forward});
    const std::uint64_t kept = base + (8 + step) * kMiB;
    log.Alloc(Layer::kBlock, kept, kMiB, {.stack = history, .aux0 = kMiB});
    log.TensorCreate(kept, kMiB, log.Tensor("loss_history", "float32", {262144}),
                     {.stack = history});
    log.Free(Layer::kTensor, activations);
    log.Free(Layer::kBlock, activations);
    if (step != 10) continue;
    log.Event(Op::kHeld, Layer::kUnspecified, base, 2 * kMiB, cycle, {.aux0 = 4});
    log.Event(Op::kHolders, Layer::kUnspecified, 0, 2 * kMiB, 0,
              {.device = analysis::kNoDevice, .aux0 = 340'000, .aux1 = 80'000'000});
  }
  const std::uint32_t list = log.String(
      "list `metrics.losses`, assigned at train.py:7 (global `metrics`, train.py:31)\n"
      "global `metrics`, train.py:31\n"
      "Metrics `metrics`\n"
      "list `metrics.losses`");
  const std::uint32_t graph = log.String(
      "saved by MulBackward0 for the graph of `total` (local `total` of train(), at train.py:40)\n"
      "local `total` of train(), at train.py:40");
  for (std::uint64_t step = 0; step < 40; ++step) {
    const std::uint64_t kept = base + (8 + step) * kMiB;
    log.Event(Op::kHeld, Layer::kUnspecified, kept, kMiB, list, {.aux0 = 1});
    if (step % 4 == 0) log.Event(Op::kHeld, Layer::kUnspecified, kept, kMiB, graph, {.aux0 = 2});
  }
  log.Event(Op::kHolders, Layer::kUnspecified, 0, 0, 0,
            {.device = analysis::kNoDevice, .aux0 = 360'000, .aux1 = 90'000'000});
  log.AllocFailed(Layer::kLinear, 512 * kMiB, {.stack = forward, .result = 2});
  log.self().set_hook_time_ns(1'200'000);
  log.self().set_writer_cpu_ns(3'000'000);
  log.self().set_bytes_written(1176);
  log.self().set_resident_bytes(24 * kMiB);
  log.self().set_stacks(9);
  log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, 180 * kMiB, 0, {.aux0 = 256 * kMiB});
}

void WriteRaw(LogBuilder& log) {
  log.header().clear_argument();
  log.header().set_executable("/opt/tool/raw");
  log.header().set_hostname("gpu-host");
  log.header().set_pid(12);
  log.Device(0, 0, "stand-in");
  const int site = log.Stack({"main (raw.cc:3)", "Table::Grow (table.cc:8)"});
  log.Alloc(Layer::kLinear, 0x10000, 4096, {.stack = site, .api = "cuMemAlloc_v2"});
  log.Alloc(Layer::kManaged, 0x20000, 100'000, {.stack = site});
  log.RangePush("fill \"it\"");
  log.RangePop();
  log.Snapshot("half way");
  log.Free(0x10000);
  log.Free(0x77777);
}

void WriteServing(LogBuilder& log) {
  log.header().clear_argument();
  log.header().set_executable("/usr/bin/python3");
  for (const char* word : {"python3", "serve.py"}) log.header().add_argument(word);
  log.Device(0, 1000 * kMiB, "test GPU");
  const auto sample = [&log](std::uint64_t used, std::uint64_t others) {
    log.AdvanceTime(1'000'000'000);
    log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, (1000 - used) * kMiB, 0,
              {.aux0 = 1000 * kMiB, .aux1 = 1 + others * kMiB});
  };
  const std::string worker = "/x/vllm/v1/worker/";
  const int load = log.Stack({"Worker.load_model (" + worker + "gpu_worker.py:10)"});
  const int cache =
      log.Stack({"Worker.initialize_from_config (" + worker + "gpu_worker.py:20)",
                 "GPUModelRunner.initialize_kv_cache (" + worker + "gpu_model_runner.py:30)"});
  const int run = log.Stack({"Worker.execute_model (" + worker + "gpu_worker.py:40)"});
  const int capture = log.Stack({"GPUModelRunner.capture_model (" + worker + "x.py:50)"});
  const std::uint64_t base = 0x7f0000000000, graphs = std::uint64_t{1} << 32;
  const std::string name = "vLLM KV cache\ngpu_memory_utilization=0.90";
  const auto use = [&](std::uint64_t blocks, std::uint64_t slots) {
    log.AdvanceTime(500'000'000);
    log.Event(Op::kPoolUsage, Layer::kUnspecified, 0, 600 * kMiB, log.String(name),
              {.device = analysis::kNoDevice,
               .aux0 = std::uint64_t{1200} << 32 | blocks,
               .aux1 = std::uint64_t{16} << 32 | slots});
  };
  sample(60, 20);
  log.Alloc(Layer::kLinear, base, 800 * kMiB, {.stack = load});
  log.Alloc(Layer::kSegment, base, 760 * kMiB, {.stack = load});
  log.Alloc(Layer::kSegment, base + 760 * kMiB, 40 * kMiB, {.stack = capture, .aux1 = graphs});
  log.Alloc(Layer::kBlock, base, 100 * kMiB, {.stack = load});
  log.Alloc(Layer::kBlock, base + 100 * kMiB, 600 * kMiB, {.stack = cache});
  log.Alloc(Layer::kBlock, base + 760 * kMiB, 30 * kMiB, {.stack = capture, .aux1 = graphs});
  use(0, 0);
  log.Alloc(Layer::kBlock, base + 700 * kMiB, 50 * kMiB, {.stack = run});
  use(144, 900);
  sample(865, 20);
  log.Free(Layer::kBlock, base + 700 * kMiB);
  use(6, 40);
  sample(865, 20);
}

void WritePools(LogBuilder& log) {
  log.header().clear_argument();
  log.header().add_argument("serve");
  log.header().set_hostname("gpu-host");
  log.header().set_pid(13);
  log.Device(0, 256 * kMiB, "test GPU");
  const int made = log.Stack({"main (serve.cc:100)", "Cache::Cache (cache.cc:12)"});
  const int serve = log.Stack({"main (serve.cc:100)", "Serve (serve.cc:40)"});
  const int capture = log.Stack({"main (serve.cc:100)", "Capture (serve.cc:70)"});
  constexpr std::uint64_t kBase = 0x7f0000000000, kChosen = 1, kCaptured = std::uint64_t{1} << 32;
  log.Event(Op::kFrameworkPool, Layer::kSegment, kChosen, 0, 0,
            {.device = analysis::kNoDevice, .stack = made});
  std::uint64_t at = kBase;
  const auto segment = [&](std::uint64_t bytes, std::uint64_t pool, int stack) {
    log.Alloc(Layer::kLinear, at, bytes, {.stack = stack, .api = "cuMemAlloc_v2"});
    log.Alloc(Layer::kSegment, at, bytes, {.stack = stack, .aux1 = pool});
    log.Alloc(Layer::kBlock, at, bytes, {.stack = stack, .aux1 = pool});
    at += bytes;
    return at - bytes;
  };
  const std::uint64_t idle = segment(24 * kMiB, kChosen, serve);
  segment(20 * kMiB, kCaptured, capture);
  log.AdvanceTime(10'000'000);
  log.Free(Layer::kBlock, idle);
  segment(40 * kMiB, 0, serve);
}

void WriteStreams(LogBuilder& log) {
  log.header().clear_argument();
  log.header().add_argument("prefetch");
  log.header().set_hostname("gpu-host");
  log.header().set_pid(14);
  log.Device(0, 256 * kMiB, "test GPU");
  const int load = log.Stack({"main (train.py:30)", "load (train.py:8)"});
  const int give = log.Stack({"main (train.py:31)", "prefetch (train.py:12)"});
  const int other = log.Stack({"main (train.py:33)", "gather (train.py:20)"});
  constexpr std::uint64_t kBase = 0x7f0000000000;
  log.Alloc(Layer::kLinear, kBase, 100 * kMiB, {.stack = load, .api = "cuMemAlloc_v2"});
  log.Alloc(Layer::kSegment, kBase, 100 * kMiB, {.stack = load});
  const auto sample = [&log](std::uint64_t bytes, std::uint64_t blocks, std::uint64_t peak) {
    log.Event(Op::kWaiting, Layer::kBlock, 0, bytes, 0, {.aux0 = blocks, .aux1 = peak});
  };
  for (std::uint64_t step = 0; step < 3; ++step) {
    log.Step(step);
    for (std::uint64_t i = 0; i < 3; ++i) {
      const std::uint64_t block = kBase + i * 20 * kMiB, bytes = (i + 1) * 4 * kMiB;
      log.Alloc(Layer::kBlock, block, bytes, {.stack = load});
      log.Event(Op::kStreamUse, Layer::kBlock, block, 0, 0,
                {.stack = i == 2 ? other : give, .stream = 2});
      if (step == 1) sample(i * (i + 1) / 2 * 4 * kMiB, i, 40 * kMiB);
      log.Free(Layer::kBlock, block);
    }
    sample(0, 0, 40 * kMiB);
  }
}

void WriteShared(LogBuilder& log) {
  log.header().clear_argument();
  log.header().add_argument("serve");
  log.header().set_hostname("gpu-host");
  log.header().set_pid(81);
  log.Device(0, 1024 * kMiB, "test GPU");
  log.SourceState("driver", 1, "CUDA 13.0");
  const int load = log.Stack({"main (serve.cc:5)", "LoadKernels (serve.cc:11)"});
  const int open = log.Stack({"main (serve.cc:5)", "OpenWeights (serve.cc:20)"});
  const int map = log.Stack({"main (serve.cc:5)", "MapFrame (serve.cc:31)"});
  const int table = log.Stack({"main (serve.cc:5)", "MakeTable (serve.cc:40)"});
  const int graph = log.Stack({"main (serve.cc:5)", "BuildGraph (serve.cc:52)"});
  const auto sample = [&log](std::uint64_t used, std::uint64_t others) {
    log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, (1024 - used) * kMiB, 0,
              {.aux0 = 1024 * kMiB, .aux1 = 1 + others * kMiB});
  };
  log.Event(Op::kModuleLoad, Layer::kModule, 0xa0, 100'000, log.String("kernels.cubin"),
            {.stack = load, .aux0 = 5 * kMiB});
  log.Event(Op::kModuleGlobal, Layer::kModule, 0x500000, 64, log.String("lookup"), {.aux0 = 0xa0});
  for (std::uint64_t i = 0; i < 3; ++i)
    log.Alloc(Layer::kImported, 0x1000000 + i * 0x100000, 0,
              {.stack = open, .aux1 = 1, .api = "cuIpcOpenMemHandle_v2"});
  log.Free(Layer::kImported, 0x1000000);
  log.Alloc(Layer::kImported, 0x900, 8 * kMiB, {.stack = map, .aux1 = 4});
  log.Alloc(Layer::kManaged, 0x2000000, 64 * kMiB, {.stack = table});
  log.Event(Op::kAdvise, Layer::kManaged, 0x2000000, 64 * kMiB, 0, {.aux0 = 1, .aux1 = 1});
  log.Event(Op::kPrefetch, Layer::kManaged, 0x2000000, 32 * kMiB, 0,
            {.device = analysis::kNoDevice, .aux1 = 2});
  log.Alloc(Layer::kGraph, 0x8000000, 10 * kMiB, {.stack = graph, .api = "cuGraphLaunch"});
  log.Event(Op::kPoolSample, Layer::kGraph, 0, 16 * kMiB, 0, {.aux0 = 10 * kMiB});
  log.Alloc(Layer::kPitched, 0x9000000, kMiB, {.stack = table});
  log.Alloc(Layer::kArray, 0x9100000, kMiB, {.stack = table});
  log.Alloc(Layer::kStreamOrdered, 0x9200000, kMiB, {.stack = table, .aux0 = 0x77});
  sample(400, 300);
  log.self().set_writer_cpu_ns(2'000'000);
  log.Free(Layer::kGraph, 0x8000000);
  sample(370, 306);
}

void WriteAlike(LogBuilder& log) {
  log.header().set_executable("/opt/train/ranks");
  const int stack = log.Stack({"main (ranks.cc:7)"});
  for (int device = 0; device < 4; ++device) log.Device(device, 1024 * kMiB, "test GPU");
  for (int device = 0; device < 4; ++device) {
    log.Alloc(Layer::kLinear, 0x1000000, 100 * kMiB, {.device = device, .stack = stack});
    const std::uint64_t context = device == 2 ? 90 : 60;
    log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, (924 - context) * kMiB, 0,
              {.device = device, .aux0 = 1024 * kMiB});
  }
}

Logs::Logs() {
  path_ = std::filesystem::path(directory_.File("")).parent_path().string();
  LogBuilder training;
  WriteTraining(training);
  directory_.Write("train.mprof", training.Bytes());
  LogBuilder raw;
  WriteRaw(raw);
  LogBuilder::WriteOptions cut;
  cut.trailer = false;
  cut.index = false;
  directory_.Write("raw.mprof", raw.Bytes(cut));
  LogBuilder shared;
  WriteShared(shared);
  directory_.Write("shared.mprof", shared.Bytes());
  LogBuilder alike;
  WriteAlike(alike);
  directory_.Write("alike.mprof", alike.Bytes());
  LogBuilder serving;
  WriteServing(serving);
  directory_.Write("serve.mprof", serving.Bytes());
  LogBuilder pools;
  WritePools(pools);
  directory_.Write("pools.mprof", pools.Bytes());
  LogBuilder streams;
  WriteStreams(streams);
  directory_.Write("streams.mprof", streams.Bytes());
  directory_.Write("ours.supp", "# We know of this one.\nleak:^HistoryLeak$\nleak:never.cc\n");
}

}  // namespace memprof::cli::testing
