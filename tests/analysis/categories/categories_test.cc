// Categories: words, hills, sums, and whole trainings whose truth is known.
#include "analysis/categories/categories.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/categories/units.h"
#include "analysis/categories/words.h"
#include "analysis/peak/peak.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::EventFields;
using testing::LoadLog;
using testing::LogBuilder;

TEST(CategoryWordsTest, NamesOfTensors) {
  const std::pair<const char*, Category> kNames[] = {
      {"wte.weight", Category::kParameters},
      {"blocks.3.attn.qkv.weight", Category::kParameters},
      {"blocks.0.ln_1.bias", Category::kParameters},
      {"blocks.0.mlp.up.weight.bf16", Category::kParameters},
      {"bn.running_mean", Category::kParameters},
      {"lstm.weight_hh_l0", Category::kParameters},
      {"wte.weight.grad", Category::kGradients},
      {"blocks.0.ln_1.bias.grad", Category::kGradients},
      {"blocks.1.attn.qkv.weight.exp_avg", Category::kOptimizerState},
      {"blocks.1.attn.qkv.weight.exp_avg_sq", Category::kOptimizerState},
      {"fc.weight.momentum_buffer", Category::kOptimizerState},
      {"embedding.out", Category::kActivations},
      {"blocks.0.ln_1.mean", Category::kActivations},
      {"blocks.0.attn.probs", Category::kActivations},
      {"blocks.0.attn.scores", Category::kActivations},
      {"blocks.0.middle", Category::kActivations},
      {"loss.rows", Category::kActivations},
      {"loss", Category::kActivations},
      {"eval.loss", Category::kActivations},
      {"eval.logits", Category::kActivations},
      {"blocks.0.attn.probs.grad", Category::kTemporaries},
      {"blocks.0.in.grad", Category::kTemporaries},
      {"logits.grad", Category::kTemporaries},
      {"optimizer.norm.partial", Category::kTemporaries},
      {"lm_head.workspace", Category::kWorkspaces},
      {"all_reduce.buffer", Category::kCommunication},
      {"batch.tokens", Category::kInputs},
      {"batch.targets", Category::kInputs},
      {"x", Category::kUnknown},
      {"", Category::kUnknown},
      {"weights_of_all", Category::kUnknown},
  };
  for (const auto& [name, category] : kNames)
    EXPECT_EQ(CategoryOfTensorName(name), category)
        << name << " is " << CategoryName(CategoryOfTensorName(name));
}

TEST(CategoryWordsTest, Frames) {
  struct Case {
    const char* function;
    const char* file;
    const char* module;
    bool python;
    Phase phase;
  };
  const Case kCases[] = {
      {"memprof::demo::Linear::Forward(Tensor const&)", "linear.cc", "train", false,
       Phase::kForward},
      {"Linear::Backward(Forward const&)", "linear.cc", "train", false, Phase::kBackward},
      {"(anonymous namespace)::Backward(int)", "x.cc", "train", false, Phase::kBackward},
      {"torch::autograd::Engine::thread_main(int)", "", "libtorch_cpu.so", false, Phase::kBackward},
      {"Optimizer::Step(float)", "train.cc", "train", false, Phase::kOptimizer},
      {"step", "/usr/lib/python3/torch/optim/adam.py", "python", true, Phase::kOptimizer},
      {"step", "/home/optimist/train.py", "python", true, Phase::kNone},
      {"Parameter::PrepareGrad()", "p.cc", "train", false, Phase::kGradient},
      {"torch::autograd::AccumulateGrad::apply()", "", "libtorch_cpu.so", false, Phase::kGradient},
      {"Parameter::As(DType)", "p.cc", "train", false, Phase::kParameter},
      {"ncclCommInitRank", "", "libnccl.so.2", false, Phase::kCommunication},
      {"AverageGradients(int)", "p.cc", "train", false, Phase::kCommunication},
      {"cublasCreate_v2", "", "libcublas.so.12", false, Phase::kWorkspace},
      {"UploadBatch(Device&)", "loader.cc", "train", false, Phase::kInput},
      {"_next_data", "/x/torch/utils/data/dataloader.py", "python", true, Phase::kInput},
      {"main", "main.cc", "train", false, Phase::kNone},
      {"at::native::_cudnn_rnn_flatten_weight", "", "libtorch_cuda.so", false, Phase::kParameter},
      {"at::native::_cudnn_rnn", "", "libtorch_cuda.so", false, Phase::kNone},
      {"at::native::cudnn_convolution", "", "libtorch_cuda.so", false, Phase::kNone},
      {"at::native::(anonymous namespace)::Workspace::Workspace(unsigned long)", "",
       "libtorch_cuda.so", false, Phase::kWorkspace},
      {"CudnnScratch::Grow()", "scratch.cc", "train", false, Phase::kWorkspace},
      {"CudnnRnnBackward0::apply", "", "libtorch_cpu.so", false, Phase::kBackward},
      {"Module._apply", "/x/torch/nn/modules/module.py", "python", true, Phase::kParameter},
      {"Linear.__init__", "/x/torch/nn/modules/linear.py", "python", true, Phase::kParameter},
      {"Linear.forward", "/x/torch/nn/modules/linear.py", "python", true, Phase::kForward},
      {"Parameter.__deepcopy__", "/x/torch/nn/parameter.py", "python", true, Phase::kParameter},
      {"AveragedModel.__init__", "/x/torch/optim/swa_utils.py", "python", true, Phase::kNone},
  };
  for (const Case& c : kCases) {
    SourceFrame frame;
    frame.function = c.function;
    frame.file = c.file;
    frame.module = c.module;
    frame.python = c.python;
    frame.symbolised = true;
    EXPECT_EQ(PhaseOfFrame(frame), c.phase) << c.function;
    frame.symbolised = false;
    EXPECT_EQ(PhaseOfFrame(frame), Phase::kNone) << c.function;
  }
}

TEST(CategoryWordsTest, Ranges) {
  EXPECT_EQ(PhaseOfRange("forward"), Phase::kForward);
  EXPECT_EQ(PhaseOfRange("evaluation"), Phase::kForward);
  EXPECT_EQ(PhaseOfRange("Backward pass"), Phase::kBackward);
  EXPECT_EQ(PhaseOfRange("Optimizer.step#Adam.step"), Phase::kOptimizer);
  EXPECT_EQ(PhaseOfRange("ncclAllReduce"), Phase::kCommunication);
  EXPECT_EQ(PhaseOfRange("all-reduce"), Phase::kCommunication);
  EXPECT_EQ(PhaseOfRange("DataLoader.next"), Phase::kInput);
  EXPECT_EQ(PhaseOfRange("step 3"), Phase::kNone);
  // Of modules, however they are called.
  EXPECT_EQ(PhaseOfRange("optim_head.backward_lstm (forward)"), Phase::kForward);
  EXPECT_EQ(PhaseOfRange("forward_net (backward)"), Phase::kBackward);
  EXPECT_EQ(PhaseOfRange("blocks.3 (recomputed)"), Phase::kForward);
  EXPECT_EQ(PhaseOfRange("Lion.step (optimizer)"), Phase::kOptimizer);
}

// The last step's activations are no workspaces because nobody lived to free them.
TEST(CategoriesTest, WhatADyingStepTookIsNotKept) {
  for (const int steps : {2, 6}) {
    LogBuilder log;
    const int forward = log.Stack({"main (a.py:1)", "forward (a.py:9)"});
    for (int step = 0; step < steps; ++step) {
      log.Step(static_cast<std::uint64_t>(step));
      log.Alloc(Layer::kBlock, 0x10000, 4096, {.stack = forward});
      log.Alloc(Layer::kBlock, 0x20000, 8192, {.stack = forward});
      if (step + 1 == steps) break;
      log.Free(Layer::kBlock, 0x20000);
      log.Free(Layer::kBlock, 0x10000);
    }
    const auto session = LoadLog(log);
    const Categories categories(*session);
    const auto last = static_cast<std::uint32_t>(session->records().size() - 1);
    Symbols symbols(session);
    const Categories with_stacks(*session, &symbols);
    EXPECT_EQ(with_stacks.Of(AllocationId(last)).category,
              steps == 6 ? Category::kActivations : Category::kWorkspaces);
  }
}

// A program whose stacks tell what its parameters are: a data set is none, a copy of a parameter is
// one, and zeros of its shape are moments. Gradients are what a backward pass leaves behind with
// sizes of parameters, in the last step too.
TEST(CategoriesTest, WhatIsThereBeforeTheFirstStep) {
  constexpr std::uint64_t kWeight = 40'000, kData = 900'000;
  LogBuilder log;
  const int weight = log.Stack({"main (a.cc:1)", "Parameter::Parameter (p.cc:9)"});
  const int data = log.Stack({"main (a.cc:2)", "Load (d.cc:3)"});
  const int clone = log.Stack({"main (a.cc:3)", "Average (e.cc:4)"});
  const int zeros = log.Stack({"main (a.cc:4)", "Moments (e.cc:5)", "at::zeros_like (z.cc:1)"});
  const int forward = log.Stack({"main (a.cc:5)", "Model::Forward (m.cc:6)"});
  const int backward = log.Stack({"main (a.cc:6)", "Model::Backward (m.cc:7)"});
  std::vector<Category> wanted;
  std::uint64_t address = 0x1000000;
  const auto make = [&](std::uint64_t bytes, int stack, Category category) {
    address += 0x1000000;
    log.Alloc(Layer::kBlock, address, bytes, {.stack = stack});
    wanted.push_back(category);
    return address;
  };
  make(kData, data, Category::kInputs);
  make(kWeight, weight, Category::kParameters);
  make(kWeight, clone, Category::kParameters);
  make(kWeight, zeros, Category::kOptimizerState);
  for (int step = 0; step < 6; ++step) {
    log.Step(static_cast<std::uint64_t>(step));
    const std::uint64_t kept = make(70'000, forward, Category::kActivations);
    const std::uint64_t passing = make(60'000, backward, Category::kTemporaries);
    const std::uint64_t gradient = make(kWeight, backward, Category::kGradients);
    log.Free(Layer::kBlock, passing);
    log.Free(Layer::kBlock, kept);
    if (step < 5) log.Free(Layer::kBlock, gradient);
  }
  const auto session = LoadLog(log);
  Symbols symbols(session);
  const Categories categories(*session, &symbols);
  for (std::uint32_t i = 0; i < wanted.size(); ++i)
    EXPECT_EQ(categories.Of(AllocationId(i)).category, wanted[i]) << i;
}

// Names that say nothing, or something else, but were given as parameters.
TEST(NamedStateTest, ParametersAreWhatTheProgramCallsSo) {
  LogBuilder log;
  std::uint64_t address = 0x1000;
  const auto block = [&](const char* name, bool named_as_parameter) {
    log.Alloc(Layer::kBlock, address, 512);
    if (named_as_parameter) log.RangePush("memprof: parameters");
    if (*name != '\0') log.TensorCreate(address, 512, log.Tensor(name, "float32", {128}));
    if (named_as_parameter) log.RangePop();
    address += 512;
  };
  block("places", true);
  block("momentum_encoder.input", true);
  block("", false);  // set-up that stays, and is none
  log.Step(0);
  block("places.grad", false);
  block("places.row_var", false);
  block("momentum_encoder.input.exp_avg", false);
  block("other.grad", false);
  log.Step(1);
  log.Step(2);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const Categories categories(*session);
  std::vector<Category> found;
  for (std::uint32_t i = 0; i < session->records().size(); ++i)
    if (session->record(AllocationId(i)).layer == Layer::kBlock)
      found.push_back(categories.Of(AllocationId(i)).category);
  EXPECT_THAT(found, ::testing::ElementsAre(Category::kParameters, Category::kParameters,
                                            Category::kUnknown, Category::kGradients,
                                            Category::kOptimizerState, Category::kOptimizerState,
                                            Category::kTemporaries));
}

TEST(CategoryWordsTest, EveryCategoryHasItsOwnNames) {
  std::vector<std::string_view> names, keys;
  for (std::size_t c = 0; c < kCategoryCount; ++c) {
    names.push_back(CategoryName(static_cast<Category>(c)));
    keys.push_back(CategoryKey(static_cast<Category>(c)));
    EXPECT_EQ(keys.back().find(' '), std::string_view::npos);
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::adjacent_find(keys.begin(), keys.end()), keys.end());
}

using Bytes = std::vector<std::uint64_t>;

TEST(CategoryHillsTest, UpDownAndFlat) {
  std::vector<std::uint32_t> ends;
  // Three up, two down, then a small one when all is given back.
  const std::vector<Slope> slopes =
      FindSlopes(Bytes{0, 100, 200, 250, 150, 0}, Bytes{100, 100, 100, 10, 10, 5}, 0, &ends);
  EXPECT_THAT(slopes, ::testing::ElementsAre(Slope::kUp, Slope::kUp, Slope::kUp, Slope::kDown,
                                             Slope::kDown, Slope::kFlat));
  EXPECT_THAT(ends, ::testing::ElementsAre(5, 5, 5, 5, 5, 6));
}

TEST(CategoryHillsTest, WhatStaysIsNoHill) {
  std::vector<std::uint32_t> ends;
  for (const Slope slope : FindSlopes(Bytes{0, 10, 20, 30}, Bytes{10, 10, 10, 10}, 40, &ends))
    EXPECT_EQ(slope, Slope::kFlat);
  EXPECT_TRUE(FindSlopes(Bytes(), Bytes(), 0, &ends).empty());
  EXPECT_TRUE(ends.empty());
}

TEST(CategoryHillsTest, EveryMicroBatchIsAHill) {
  std::vector<std::uint64_t> levels, bytes;
  for (int i = 0; i < 3; ++i) {
    for (const std::uint64_t level : {0u, 100u, 200u, 150u, 50u}) {
      levels.push_back(10u * static_cast<unsigned>(i) + level);  // something stays of each
      bytes.push_back(level < 150 ? 100 : 1);
    }
  }
  std::vector<std::uint32_t> ends;
  const std::vector<Slope> slopes = FindSlopes(levels, bytes, 30, &ends);
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    EXPECT_EQ(ends[i], (i / 5 + 1) * 5);
    EXPECT_EQ(slopes[i], i % 5 <= 2 ? Slope::kUp : Slope::kDown) << i;
  }
}

// A training with a framework's allocator, two layers of known sizes, and the truth by block.
class Training {
 public:
  struct Options {
    bool named = false, symbols = true, ranges = false, keep_gradients = false, again = false;
    int steps = 6, micro_batches = 1;
  };
  explicit Training(const Options& options) : options_(options) {
    log_.Device(0, std::uint64_t{8} << 30);
    log_.Alloc(Layer::kLinear, kBase, kSegment);
    log_.Alloc(Layer::kSegment, kBase, kSegment);
    for (const std::uint64_t bytes : kWeights)
      New(Category::kParameters, "Model", "Weight", bytes, "w.weight");
    for (int step = 0; step < options.steps; ++step) Step(step);
  }

  LogBuilder& log() { return log_; }
  Category TruthOf(std::size_t block) const { return truth_[block]; }

 private:
  static constexpr std::uint64_t kBase = 0x7f0000000000, kSegment = std::uint64_t{1} << 30;
  static constexpr std::uint64_t kWeights[] = {40'960, 81'920, 163'840, 20'480};

  std::uint64_t New(Category truth, const std::string& phase, const std::string& what,
                    std::uint64_t bytes, const std::string& name) {
    const std::string caller = options_.symbols ? phase : "f" + std::to_string(phase.size());
    const std::string function = options_.symbols ? what : "g" + std::to_string(what.size());
    const std::string key = phase + "/" + what;
    auto [it, fresh] = stacks_.try_emplace(key, 0);
    if (fresh) {
      const int line = static_cast<int>(stacks_.size());
      it->second = log_.Stack({"main (main.cc:1)", caller + " (a.cc:" + std::to_string(line) + ")",
                               function + " (b.cc:" + std::to_string(line) + ")",
                               "Allocate (allocator.cc:1)"});
    }
    const std::uint64_t address = next_;
    next_ += (bytes + 511) / 512 * 512;
    log_.Alloc(Layer::kBlock, address, (bytes + 511) / 512 * 512,
               {.stack = it->second, .aux0 = bytes});
    truth_.push_back(truth);
    if (options_.named) {
      log_.TensorCreate(address, bytes, log_.Tensor(name, "float32", {bytes / 4}),
                        {.stack = it->second});
      named_.insert({address, true});
    }
    return address;
  }
  void Delete(std::uint64_t address) {
    if (named_.contains(address)) log_.Free(Layer::kTensor, address);
    log_.Free(Layer::kBlock, address);
  }
  void Push(const std::string& name) {
    if (options_.ranges) log_.RangePush(name);
  }
  void Pop() {
    if (options_.ranges) log_.RangePop();
  }

  void MicroBatch(bool first) {
    const std::uint64_t batch = New(Category::kInputs, "DataLoader", "Upload", 3000, "batch");
    std::vector<std::uint64_t> saved;
    Push("forward");
    for (std::uint64_t i = 0; i < 8; ++i)
      saved.push_back(New(Category::kActivations, "Forward", "Layer" + std::to_string(i),
                          300'000 + 7000 * i, "act"));
    const std::uint64_t loss = New(Category::kActivations, "Forward", "Loss", 4, "loss");
    Pop();
    Push("backward");
    for (std::uint64_t i = 8; i-- > 0;) {
      if (first && i < std::size(kWeights) && gradients_.size() < std::size(kWeights))
        gradients_.push_back(
            New(Category::kGradients, "Backward", "AccumulateGrad", kWeights[i], "w.weight.grad"));
      const std::uint64_t gradient = New(Category::kTemporaries, "Backward",
                                         "Layer" + std::to_string(i), 200'000 + 3000 * i, "x.grad");
      // Something else is made while it lives, so that it is no scratch.
      const std::uint64_t scratch =
          New(Category::kWorkspaces, "Backward", "MatMul", 9000, "workspace");
      Delete(scratch);
      Delete(saved.back());
      saved.pop_back();
      Delete(gradient);
    }
    Pop();
    Delete(loss);
    Delete(batch);
  }
  void Step(int step) {
    log_.Step(static_cast<std::uint64_t>(step));
    for (int i = 0; i < options_.micro_batches; ++i) MicroBatch(i == 0);
    Push("optimizer");
    if (step == 0)
      for (const std::uint64_t bytes : kWeights)
        New(Category::kOptimizerState, "Optimizer::Step", "State", bytes, "w.weight.exp_avg");
    Pop();
    if (options_.keep_gradients) return;
    for (const std::uint64_t gradient : gradients_) Delete(gradient);
    gradients_.clear();
  }

  Options options_;
  LogBuilder log_;
  std::map<std::string, int> stacks_;
  std::map<std::uint64_t, bool> named_;
  std::vector<Category> truth_;
  std::vector<std::uint64_t> gradients_;
  std::uint64_t next_ = kBase;
};

// The share of blocks' bytes whose category is the truth.
double RightShare(Training& training, const CategoryOptions& options) {
  const auto session = LoadLog(training.log());
  Symbols symbols(session);
  const Categories categories(*session, &symbols, options);
  double right = 0, total = 0;
  std::size_t block = 0;
  for (std::uint32_t i = 0; i < session->records().size(); ++i) {
    const AllocationRecord& a = session->records()[i];
    if (a.layer != Layer::kBlock) continue;
    const bool is_right = categories.Of(AllocationId(i)).category == training.TruthOf(block++);
    right += is_right ? static_cast<double>(a.bytes) : 0;
    total += static_cast<double>(a.bytes);
  }
  return right / total;
}

TEST(CategoriesTest, NamesSayAll) {
  Training training({.named = true});
  EXPECT_EQ(RightShare(training, {}), 1);
  const auto session = LoadLog(training.log());
  const Categories categories(*session);
  for (std::uint32_t i = 0; i < session->records().size(); ++i)
    if (session->records()[i].layer == Layer::kTensor) {
      EXPECT_EQ(categories.Of(AllocationId(i)).reason, CategoryReason::kName);
    }
}

TEST(CategoriesTest, StacksSayNearlyAll) {
  for (const int micro_batches : {1, 3}) {
    for (const bool keep : {false, true}) {
      Training training({.keep_gradients = keep, .micro_batches = micro_batches});
      EXPECT_GE(RightShare(training, {}), 0.999) << micro_batches << keep;
    }
  }
}

TEST(CategoriesTest, RangesSayTheMost) {
  for (const bool keep : {false, true}) {
    Training training(
        {.symbols = false, .ranges = true, .keep_gradients = keep, .micro_batches = 2});
    EXPECT_GE(RightShare(training, {.symbols = false}), 0.99) << keep;
  }
}

TEST(CategoriesTest, LifetimesAndSizesSayTheMost) {
  for (const int micro_batches : {1, 2}) {
    Training training({.symbols = false, .micro_batches = micro_batches});
    EXPECT_GE(RightShare(training, {.symbols = false}), 0.99) << micro_batches;
    EXPECT_GE(RightShare(training, {.symbols = false, .stacks = false}), 0.97) << micro_batches;
  }
}

TEST(CategoriesTest, WhatIsMadeAgainIsStillAnActivation) {
  // Without symbols: the same two innermost frames, called from the backward pass.
  LogBuilder log;
  log.Device(0, std::uint64_t{8} << 30);
  std::map<std::string, int> stacks;
  std::uint64_t next = 0x7f0000000000;
  std::vector<std::pair<std::uint64_t, bool>> again;  // birth row, is one
  const auto make = [&](const std::string& pass, const std::string& layer, std::uint64_t bytes) {
    auto [it, fresh] = stacks.try_emplace(pass + layer, 0);
    if (fresh)
      it->second = log.Stack({"main (m.cc:1)", pass, layer + "Caller (c.cc:1)", layer + " (c.cc:2)",
                              "Allocate (a.cc:1)"});
    const std::uint64_t address = next;
    next += bytes;
    log.Alloc(Layer::kBlock, address, bytes, {.stack = it->second});
    return address;
  };
  make("Init (i.cc:1)", "W", 512);
  std::vector<std::size_t> rows;
  std::size_t row = 1;
  for (int step = 0; step < 5; ++step) {
    log.Step(static_cast<std::uint64_t>(step));
    std::vector<std::uint64_t> kept;
    const char* const kLayers[] = {"A", "B", "C", "D"};
    for (const char* layer : kLayers) {
      kept.push_back(make("P (p.cc:1)", layer, 51'200));
      const std::uint64_t dropped = make("P (p.cc:1)", std::string(layer) + "in", 25'600);
      log.Free(Layer::kBlock, dropped);
      row += 2;
    }
    for (int i = 4; i-- > 0;) {
      rows.push_back(row);
      const std::uint64_t remade = make("Q (q.cc:1)", std::string(kLayers[i]) + "in", 25'600);
      const std::uint64_t gradient = make("Q (q.cc:1)", std::string(kLayers[i]) + "back", 26'112);
      row += 2;
      log.Free(Layer::kBlock, remade);
      log.Free(Layer::kBlock, gradient);
      log.Free(Layer::kBlock, kept[static_cast<std::size_t>(i)]);
    }
    log.Free(Layer::kBlock, make("O (o.cc:1)", "Norm", 512));
    ++row;
  }
  const auto session = LoadLog(log);
  const Categories categories(*session);
  std::size_t right = 0;
  for (const std::size_t r : rows)
    right += categories.Of(AllocationId(static_cast<std::uint32_t>(r))).category ==
             Category::kActivations;
  EXPECT_EQ(right, rows.size());
}

TEST(CategoriesTest, SumsCloseToTheBytesOfTheDevice) {
  for (std::uint32_t seed = 1; seed <= 8; ++seed) {
    testing::RandomLog log({.seed = seed});
    const auto session = LoadLog(log.builder());
    const Categories categories(*session);
    const auto events = static_cast<std::uint32_t>(session->events().size());
    for (std::uint32_t e = 0; e < events; e += 37) {
      for (int device = 0; device < 2; ++device) {
        std::uint64_t on_device = 0;
        for (const AllocationId id : session->LiveAfter(EventId(e))) {
          const AllocationRecord& a = session->record(id);
          if (a.device == device && OccupiesDevice(a.layer)) on_device += a.bytes;
        }
        const CategoryTotals totals = categories.At(device, EventId(e));
        EXPECT_EQ(totals.total(), on_device) << "seed " << seed << " event " << e;
        std::uint64_t of_sites = 0;
        for (const CategorySite& site : totals.sites) of_sites += site.bytes;
        EXPECT_EQ(of_sites + totals.bytes[static_cast<std::size_t>(Category::kSlack)], on_device);
        for (const double confidence : totals.confidence) {
          EXPECT_GE(confidence, 0);
          EXPECT_LE(confidence, 1);
        }
      }
    }
  }
}

TEST(CategoriesTest, SlackIsWhatNoBlockHas) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.Alloc(Layer::kLinear, 0x100000, 1 << 20);
  log.Alloc(Layer::kSegment, 0x100000, 1 << 20);
  log.Alloc(Layer::kBlock, 0x100000, 4096);
  log.Alloc(Layer::kPinned, 0x9000000, 777, {.device = kNoDevice});
  const auto session = LoadLog(log);
  const Categories categories(*session);
  const CategoryTotals totals = categories.At(0, EventId(3));
  EXPECT_EQ(totals.bytes[static_cast<std::size_t>(Category::kSlack)], (1u << 20) - 4096u);
  EXPECT_EQ(totals.total(), 1u << 20);
  EXPECT_EQ(categories.Of(AllocationId(0)).category, Category::kSlack);
  EXPECT_EQ(categories.Of(AllocationId(3)).category, Category::kUnknown);
  EXPECT_EQ(categories.At(1, EventId(3)).total(), 0u);
  EXPECT_EQ(categories.At(0, EventId()).total(), 0u);
}

TEST(CategoriesTest, TensorsOfOneDriverAllocationAreJudgedOneByOne) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.Alloc(Layer::kLinear, 0x100000, 1 << 20);
  log.TensorCreate(0x100000, 1000, log.Tensor("a.weight", "float32", {250}));
  log.TensorCreate(0x101000, 2000, log.Tensor("a.weight.grad", "float32", {500}));
  const auto session = LoadLog(log);
  const CategoryTotals totals = Categories(*session).At(0, EventId(2));
  EXPECT_EQ(totals.bytes[static_cast<std::size_t>(Category::kParameters)], 1000u);
  EXPECT_EQ(totals.bytes[static_cast<std::size_t>(Category::kGradients)], 2000u);
  EXPECT_EQ(totals.total(), 1u << 20);
}

TEST(CategoriesTest, EmptyLog) {
  const auto session = LoadLog(LogBuilder());
  EXPECT_EQ(Categories(*session).At(0, EventId(0)).total(), 0u);
}

TEST(CategoryUnitsTest, ScratchIsAloneInItsTime) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.Device(1, 1 << 30);
  log.Alloc(Layer::kLinear, 0x1000, 512);
  log.Alloc(Layer::kLinear, 0x2000, 512);
  log.Alloc(Layer::kLinear, 0x9000, 512, {.device = 1});  // elsewhere
  log.Free(0x2000);
  log.Free(0x1000);
  log.Alloc(Layer::kLinear, 0x3000, 512);
  const auto session = LoadLog(log);
  const std::vector<CategoryUnit> units = FindCategoryUnits(*session, {});
  ASSERT_EQ(units.size(), 4u);
  EXPECT_FALSE(units[0].scratch);
  EXPECT_TRUE(units[1].scratch);
  EXPECT_FALSE(units[2].scratch);
  EXPECT_FALSE(units[3].scratch);  // never freed
}

}  // namespace
}  // namespace memprof::analysis
