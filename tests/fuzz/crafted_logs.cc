// Writes logs that are extreme in one respect.
#include "tests/fuzz/crafted_logs.h"

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "analysis/testing/log_builder.h"

namespace memprof::fuzz {
namespace {

using analysis::Layer;
using analysis::Op;
using analysis::testing::LogBuilder;

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kTop = std::uint64_t{1} << 63;

using Write = std::function<void(LogBuilder& log, int scale)>;

// A chain of `depth` frames, then `leaves` child nodes of its last frame. Returns the first leaf.
std::uint32_t Chain(LogBuilder& log, int depth, int leaves, bool python, int distinct) {
  log::StackTrie* trie = log.definitions().mutable_trie();
  trie->set_first_id(1);
  for (int i = 0; python && i < distinct; ++i) {
    log::PythonFrame* frame = log.definitions().add_python_frame();
    frame->set_id(static_cast<std::uint32_t>(i + 1));
    frame->set_function(log.String("f" + std::to_string(i)));
    frame->set_file(log.String("deep.py"));
    frame->set_line(static_cast<std::uint32_t>(i + 1));
  }
  for (int i = 0; i < depth + leaves; ++i) {
    trie->add_parent(static_cast<std::uint32_t>(i < depth ? i : depth));
    trie->add_address_delta(python ? i % distinct + 1 : 16);
    trie->add_module(0);
    trie->add_kind(python ? log::FRAME_PYTHON : log::FRAME_NATIVE);
  }
  return static_cast<std::uint32_t>(depth + 1);
}

// Steps that each keep one block and free another, with stacks from `stack(i)`.
void Train(LogBuilder& log, int steps, const std::function<int(int)>& stack) {
  log.Device(0, 1024 * kMiB);
  for (int i = 0; i < steps; ++i) {
    const auto n = static_cast<std::uint64_t>(i);
    log.Step(n);
    log.Alloc(Layer::kLinear, 0x10000 + 0x1000 * n, 4096, {.stack = stack(i)});
    log.Alloc(Layer::kLinear, 0x1, 64, {.stack = stack(i + 1)});
    log.Free(0x1);
  }
  log.AllocFailed(Layer::kLinear, 512 * kMiB, {.stack = stack(0), .result = 2});
}

void Deep(LogBuilder& log, int scale, bool python, int distinct) {
  Chain(log, scale, 0, python, distinct);
  Train(log, 40, [scale](int i) { return scale - i; });
}

// Very many stacks of the maximum depth.
void Comb(LogBuilder& log, int scale) {
  const auto first = static_cast<int>(Chain(log, 1000, scale / 8, true, 500));
  Train(log, scale / 8, [first, scale](int i) { return first + i % (scale / 8); });
}

void Steps(LogBuilder& log, int scale) {
  log.Device(0, 1024 * kMiB);
  for (int i = 0; i < scale; ++i) log.Step(static_cast<std::uint64_t>(i));
}

void StepsWithBlocks(LogBuilder& log, int scale) {
  const int stack = log.Stack({"main (a.py:1)", "step (a.py:2)"});
  Train(log, scale / 8, [stack](int) { return stack; });
}

// Every allocation begins at the address of the previous one and is never freed.
void Overlapping(LogBuilder& log, int scale, Layer layer, std::uint64_t stride,
                 std::uint64_t bytes) {
  log.Device(0, 1024 * kMiB);
  const int stack = log.Stack({"main (a.py:1)"});
  if (layer == Layer::kBlock) log.Alloc(Layer::kSegment, 0x10000, 512 * kMiB, {.stack = stack});
  for (int i = 0; i < scale; ++i) {
    const auto n = static_cast<std::uint64_t>(i);
    log.Alloc(layer, 0x10000 + stride * n, bytes, {.stack = stack, .aux0 = bytes});
  }
}

void HugeSizes(LogBuilder& log, int scale) {
  log.Device(0, ~std::uint64_t{0});
  const int stack = log.Stack({"main (a.py:1)"});
  const std::uint64_t sizes[] = {kTop - 1, kTop, kTop + 1, ~std::uint64_t{0}, kTop / 2, 1};
  const Layer layers[] = {Layer::kLinear,  Layer::kStreamOrdered, Layer::kSegment, Layer::kBlock,
                          Layer::kManaged, Layer::kVmmPhysical,   Layer::kPinned,  Layer::kTensor};
  for (int i = 0; i < scale / 100; ++i) {
    const auto n = static_cast<std::uint64_t>(i);
    if (i % 100 == 0) log.Step(kTop * (n % 2) + n);
    log.Alloc(layers[i % 8], n % 3 == 0 ? ~std::uint64_t{0} - n : 0x1000 * n, sizes[i % 6],
              {.stack = stack, .aux0 = sizes[(i + 1) % 6], .aux1 = sizes[(i + 2) % 6]});
    if (i % 7 == 0) log.AllocFailed(Layer::kLinear, sizes[i % 6], {.stack = stack, .aux0 = kTop});
    if (i % 11 == 0)
      log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, sizes[i % 6], 0, {.aux0 = kTop + n});
    if (i % 13 == 0) log.Event(Op::kPoolSample, Layer::kUnspecified, 7, sizes[i % 6], 0);
    if (i % 5 == 0) log.Free(layers[i % 8], n % 3 == 0 ? ~std::uint64_t{0} - n : 0x1000 * n);
  }
}

// Framework blocks of sizes near the maximum: the simulated allocators get these requests.
void HugeRequests(LogBuilder& log, int scale) {
  log.Device(0, 80'000 * kMiB);
  log.Alloc(Layer::kSegment, 0x10000, kTop);
  for (int i = 0; i < scale / 100; ++i) {
    const auto n = static_cast<std::uint64_t>(i);
    log.Alloc(Layer::kBlock, 0x10000 + 0x1000 * n, kTop - 512 * n, {.aux0 = kTop - n});
  }
}

std::string Evil(int size) {
  std::string text = "a";
  text += '\0';
  text += "b\x01\x1b[31m\x7f\"\\',;\n\r\t</script><!-- \xff\xc0\x80\xed\xa0\x80 \xf4";
  text += "\xc2\x85\xe2\x80\xae\xe2\x80\xa8";  // next line, right-to-left, line separator
  while (static_cast<int>(text.size()) < size) text += text;
  return text;
}

void Names(LogBuilder& log, int size) {
  const std::string evil = Evil(size), other = evil + "x";
  log.header().set_executable(evil);
  log.header().set_hostname(evil);
  log.header().set_working_directory(evil);
  log.header().add_argument(evil);
  log.header().add_environment("RANK=" + evil);
  log.Device(0, 1024 * kMiB, evil);
  log.Thread(1, 7, evil);
  log.SourceState(evil, 1, evil);
  log.Count(evil, 3);
  const int stack = log.Stack({"main (a.py:1)", evil + " (" + evil + ":4)"});
  const std::uint32_t label = log.String(evil);
  log.Alloc(Layer::kSegment, 0x100000, 8 * kMiB, {.stack = stack, .api = evil});
  for (std::uint64_t i = 0; i < 12; ++i) {
    log.Step(i);
    log.RangePush(evil);
    log.Event(Op::kAlloc, Layer::kBlock, 0x100000 + 4096 * i, 4096, label, {.stack = stack});
    log.TensorCreate(0x100000 + 4096 * i, 4096, log.Tensor(evil, evil, {1u, 1024u}),
                     {.stack = stack});
    log.RangePop();
  }
  log.Snapshot(evil);
  log.Snapshot(other);
  log.Event(Op::kModuleLoad, Layer::kModule, 0xa0, 1000, label, {.stack = stack, .aux0 = 10});
  log.Event(Op::kModuleGlobal, Layer::kModule, 0x500, 64, label, {.aux0 = 0xa0});
  log.Event(Op::kLaunch, Layer::kUnspecified, 0x10, 0, label, {.stack = stack, .api = evil});
  log.AllocFailed(Layer::kLinear, 512 * kMiB, {.stack = stack, .result = 2, .api = evil});
}

void Arguments(LogBuilder& log, int scale) {
  for (int i = 0; i < scale / 4; ++i) log.header().add_argument("a");
  for (int i = 0; i < scale / 4; ++i) log.header().add_environment("CUDA_X=1");
  Train(log, 10, [](int) { return 0; });
}

void Threads(LogBuilder& log, int scale) {
  log.Device(0, 1024 * kMiB);
  for (int i = 0; i < scale / 4; ++i) {
    const auto n = static_cast<std::uint64_t>(i);
    log.Alloc(Layer::kLinear, 0x1000 + 0x100 * n, 64,
              {.thread = static_cast<std::uint32_t>(i % 70'000 + 1)});
    log.RangePush("r", static_cast<std::uint32_t>(i % 70'000 + 1));
  }
}

void Devices(LogBuilder& log, int scale) {
  const int stack = log.Stack({"main (a.py:1)"});
  for (int i = 0; i < scale / 4; ++i) {
    const auto n = static_cast<std::uint64_t>(i);
    if (i % 4096 == 0) log.Step(n / 4096);
    log.Alloc(i % 3 == 0   ? Layer::kLinear
              : i % 3 == 1 ? Layer::kSegment
                           : Layer::kBlock,
              0x1000 + 0x1000 * (n / 3), 4096, {.device = i / 3 % 1024, .stack = stack});
  }
}

void Streams(LogBuilder& log, int scale) {
  log.Device(0, 1024 * kMiB);
  for (int i = 0; i < scale / 4; ++i) {
    const auto n = static_cast<std::uint64_t>(i);
    log.Alloc(i % 2 == 0 ? Layer::kSegment : Layer::kBlock, 0x1000 + 0x1000 * (n / 2), 4096,
              {.stream = n / 2 + 1, .aux0 = n, .aux1 = i % 2 == 0 ? n + 1 : 0});
    log.Alloc(Layer::kStreamOrdered, kTop + 0x1000 * n, 4096, {.stream = n + 1, .aux0 = n});
  }
}

void Times(LogBuilder& log, int scale) {
  log.Device(0, 1024 * kMiB);
  const std::uint64_t times[] = {0, 1, kTop - 1, kTop, kTop + 1, ~std::uint64_t{0}};
  for (int i = 0; i < scale / 100; ++i) {
    const auto n = static_cast<std::uint64_t>(i);
    log.SetTime(times[i * 6 / (scale / 100)]);
    if (i % 10 == 0) log.Step(n);
    log.Alloc(Layer::kLinear, 0x1000 * n, 4096, {});
    if (i % 3 == 0)
      log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, 512 * kMiB, 0, {.aux0 = 1024 * kMiB});
    if (i % 2 == 0) log.Free(0x1000 * n);
  }
}

void Ranges(LogBuilder& log, int scale) {
  Train(log, 4, [](int) { return 0; });
  for (int i = 0; i < scale / 4; ++i) {
    log.RangePush("range");
    log.Alloc(Layer::kLinear, 0x100000 + 0x1000u * static_cast<unsigned>(i), 16);
  }
  for (int i = 0; i < scale / 4; ++i) log.Snapshot("s");
}

void Failures(LogBuilder& log, int scale) {
  const int stack = log.Stack({"main (a.py:1)"});
  Train(log, 40, [stack](int) { return stack; });
  for (int i = 0; i < scale / 2; ++i)
    log.AllocFailed(Layer::kLinear, 512 * kMiB, {.stack = stack, .aux0 = 1, .result = 2});
}

// Events that are not allocations: samples, marks, copies and others.
void Marks(LogBuilder& log, int scale) {
  Train(log, 40, [](int) { return 0; });
  log.Alloc(Layer::kManaged, 0x900000, 4 * kMiB);
  const Op ops[] = {Op::kMemoryInfo, Op::kPoolSample, Op::kPrefetch, Op::kAdvise,      Op::kLaunch,
                    Op::kMemcpy,     Op::kMemset,     Op::kSync,     Op::kFrameworkOom};
  for (int i = 0; i < scale; ++i) {
    const Op op = ops[static_cast<std::size_t>(i) * 9 / static_cast<std::size_t>(scale)];
    const bool managed = op == Op::kPrefetch || op == Op::kAdvise;
    log.Event(op, managed ? Layer::kManaged : Layer::kUnspecified, 0x900000, 4096, 0,
              {.aux0 = 1024 * kMiB, .aux1 = 2});
  }
}

// All kinds of memory that a log can contain are live at once.
void Live(LogBuilder& log, int scale) {
  log.Device(0, 1024 * kMiB);
  const int tensor = log.Tensor("w", "float32", {16});
  log.Alloc(Layer::kSegment, 0x1000, 512 * kMiB);
  for (int i = 0; i < scale / 2; ++i) {
    const auto n = static_cast<std::uint64_t>(i);
    log.Alloc(Layer::kBlock, 0x1000 + 1024 * n, 512, {.aux0 = 500});
    log.TensorCreate(0x1000 + 1024 * n, 500, tensor);
  }
}

// One context whose destruction ends all live allocations, again and again.
void Contexts(LogBuilder& log, int scale) {
  log.Device(0, 1024 * kMiB);
  for (int i = 0; i < scale / 4; ++i) {
    const auto n = static_cast<std::uint32_t>(i);
    log.Alloc(Layer::kLinear, 0x1000 + 0x1000ull * n, 4096, {.context = n + 1});
    log.Event(Op::kContextDestroy, Layer::kUnspecified, 0, 0, 0, {.context = n / 2 + 1});
    log.Event(Op::kMap, Layer::kVmmPhysical, 0x1000, 4096, 0, {.aux0 = n});
  }
}

// Files that a log names as modules. Readers open these.
void Modules(LogBuilder& log, int scale) {
  const char* const paths[] = {"/dev/zero", "/dev/stdin", "/proc/self/mem",
                               "/",         "/dev/tty",   "/proc/self/exe"};
  log::StackTrie* trie = log.definitions().mutable_trie();
  trie->set_first_id(1);
  for (int i = 0; i < scale / 40; ++i) {
    const auto n = static_cast<std::uint32_t>(i);
    log::Module* module = log.definitions().add_module();
    module->set_id(n + 1);
    module->set_path(paths[i % 6]);
    module->set_first_address(0x1000ull * n);
    module->set_end_address(i % 2 == 0 ? 0x1000ull * n + 4096 : ~0ull);
    trie->add_parent(n % 500);
    trie->add_address_delta(4096);
    trie->add_module(n + 1);
  }
  Train(log, scale / 40, [scale](int i) { return i % (scale / 40) + 1; });
}

const std::map<std::string, Write>& All() {
  static const std::map<std::string, Write> all = {
      {"deep_python", [](LogBuilder& log, int n) { Deep(log, n, true, 1000); }},
      {"deep_native", [](LogBuilder& log, int n) { Deep(log, n, false, 1); }},
      {"deep_recursion", [](LogBuilder& log, int n) { Deep(log, n, true, 1); }},
      {"comb", Comb},
      {"steps", Steps},
      {"steps_with_blocks", StepsWithBlocks},
      {"one_address", [](LogBuilder& log, int n) { Overlapping(log, n, Layer::kLinear, 0, 4096); }},
      {"one_block", [](LogBuilder& log, int n) { Overlapping(log, n, Layer::kBlock, 0, 4096); }},
      {"overlapping",
       [](LogBuilder& log, int n) { Overlapping(log, n, Layer::kLinear, 512, 64 * kMiB); }},
      {"overlapping_blocks",
       [](LogBuilder& log, int n) { Overlapping(log, n, Layer::kBlock, 512, 64 * kMiB); }},
      {"overlapping_segments",
       [](LogBuilder& log, int n) { Overlapping(log, n, Layer::kSegment, 512, 64 * kMiB); }},
      {"overlapping_pools",
       [](LogBuilder& log, int n) { Overlapping(log, n, Layer::kStreamOrdered, 1, kTop); }},
      {"huge_sizes", HugeSizes},
      {"huge_requests", HugeRequests},
      {"evil_names", [](LogBuilder& log, int) { Names(log, 40); }},
      {"long_names", [](LogBuilder& log, int n) { Names(log, n / 2); }},
      {"arguments", Arguments},
      {"threads", Threads},
      {"devices", Devices},
      {"streams", Streams},
      {"times", Times},
      {"ranges", Ranges},
      {"failures", Failures},
      {"marks", Marks},
      {"live", Live},
      {"contexts", Contexts},
      {"modules", Modules},
  };
  return all;
}

}  // namespace

std::vector<std::string> CraftedNames() {
  std::vector<std::string> names;
  for (const auto& [name, write] : All()) names.push_back(name);
  return names;
}

std::string CraftedBytes(const std::string& name, int scale) {
  LogBuilder log;
  All().at(name)(log, scale);
  return log.Bytes();
}

}  // namespace memprof::fuzz
