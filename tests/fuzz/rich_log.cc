// Logs of random events of all kinds.
#include "tests/fuzz/rich_log.h"

namespace memprof::fuzz {

using analysis::Layer;
using analysis::Op;
using analysis::testing::LogBuilder;

std::string RichLog(std::mt19937& random, int events, const LogBuilder::WriteOptions& options) {
  LogBuilder log;
  log.Device(0, 1ull << 34);
  log.Device(1, 1ull << 34);
  log.Context(1, 0);
  log.Context(2, 1);
  log.Thread(2, 77, "worker");
  const int stacks[] = {0, log.Stack({"main (a.cc:1)", "f (b.cc:2)"}),
                        log.Stack({"main (a.cc:1)"})};
  const int tensor = log.Tensor("w", "float32", {2, 3});
  const std::uint32_t label = log.String("label");
  for (int i = 0; i < events; ++i) {
    const auto op = static_cast<Op>(random() % 35);
    const auto layer = static_cast<Layer>(random() % 20);
    const bool memory = random() % 2 == 0;
    log.Event(memory ? (random() % 2 ? Op::kAlloc : Op::kFree) : op, layer,
              0x1000u * (random() % 16), 0x800u * (random() % 8),
              layer == Layer::kTensor ? static_cast<std::uint32_t>(tensor) : label,
              {.device = static_cast<int>(random() % 3) - 1,
               .stack = stacks[random() % 3],
               .thread = static_cast<std::uint32_t>(random() % 4),
               .aux0 = random() % 5,
               .context = static_cast<std::uint32_t>(random() % 4)});
  }
  return log.Bytes(options);
}

}  // namespace memprof::fuzz
