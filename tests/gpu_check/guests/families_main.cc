// Guest of scripts/gpu-check: allocates memory of one family, and prints the requested size beside
// the results of cuMemGetInfo before, while all is held, and after all is freed.
//
//   families FAMILY BLOCKS BYTES [unseen]
//
// The family "mixed" is several at the same time: the ledger of the device must add up over all of
// them. With "unseen", one more block of linear memory is allocated while memprof is paused: then
// the figures must not agree.
#include "driver.h"
#include "tests/families/families.h"
#include "tests/families/peer.h"

namespace memprof::gpu_check {
namespace {

// Named like their layers in memprof's log.
constexpr const char* kMixed[] = {"linear",         "pitched", "array", "managed",
                                  "stream-ordered", "vmm",     "graph"};

struct Part {
  const char* name;
  Blocks blocks;
  std::uint64_t asked = 0;

  // Memory that the driver allocates once for this family does not count.
  Part(const Family& family, std::uint64_t bytes) : name(family.name), blocks(family) {
    blocks.Take(bytes);
    blocks.GiveBack();
  }
};

// Families that this device does not support are no part of "mixed".
std::vector<Part> Mixed(std::uint64_t bytes) {
  std::vector<Part> parts;
  for (const char* name : kMixed) {
    try {
      parts.emplace_back(*FindFamily(name), bytes);
    } catch (const Skipped&) {
    }
  }
  return parts;
}

std::string Layers(const std::vector<Part>& parts) {
  std::string text;
  for (const Part& part : parts)
    text +=
        (text.empty() ? "\"" : ",\"") + std::string(part.name) + "\":" + std::to_string(part.asked);
  return "\"layers\":{" + text + "}";
}

void CallIfThere(const char* name) {
  if (void* function = dlsym(RTLD_DEFAULT, name)) reinterpret_cast<int (*)()>(function)();
}

void TakeUnseen(std::uint64_t bytes) {
  CUdeviceptr block = 0;
  CallIfThere("memprof_stop");
  CALL(cuMemAlloc_v2, &block, bytes);
  CallIfThere("memprof_start");
}

std::string Measure(const std::string& name, int blocks, std::uint64_t bytes, bool unseen) {
  const Family* const family = FindFamily(name);
  if (family == nullptr && name != "mixed") throw Skipped("not built with this toolkit");
  if (family != nullptr && family->peer != nullptr) StartPeer(family->name, false);
  UsePrimaryContext();
  std::vector<Part> parts;
  if (family == nullptr)
    parts = Mixed(bytes);
  else
    parts.emplace_back(*family, bytes);
  const std::uint64_t before = FreeBytes();
  Mark("before");
  for (int i = 0; i < blocks; ++i)
    for (Part& part : parts) part.asked += part.blocks.Take(bytes);
  std::uint64_t asked = 0;
  for (const Part& part : parts) asked += part.asked;
  if (unseen) {
    TakeUnseen(bytes);
    asked += bytes;
  }
  const std::uint64_t held = FreeBytes();
  Mark("held");
  std::string figures;
  if (family == nullptr)
    figures = "," + Layers(parts);
  else if (family->figures != nullptr)
    figures = "," + family->figures();
  for (Part& part : parts) part.blocks.GiveBack();
  const std::uint64_t after = FreeBytes();
  Mark("after");
  return "\"asked\":" + std::to_string(asked) + ",\"free_before\":" + std::to_string(before) +
         ",\"free_held\":" + std::to_string(held) + ",\"free_after\":" + std::to_string(after) +
         figures;
}

}  // namespace
}  // namespace memprof::gpu_check

int main(int argc, char** argv) {
  using namespace memprof::gpu_check;  // NOLINT: main is this guest
  if (RunAsPeer(argc, argv)) return 0;
  if (argc < 4) {
    std::fprintf(stderr, "usage: families FAMILY BLOCKS BYTES [unseen]\n");
    return 2;
  }
  return Answer([argc, argv] {
    return Measure(argv[1], std::atoi(argv[2]), std::strtoull(argv[3], nullptr, 10), argc > 4);
  });
}
