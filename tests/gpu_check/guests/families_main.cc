// Guest of scripts/gpu-check: allocates memory of one family, and prints the requested size beside
// the results of cuMemGetInfo before, while all is held, and after all is freed.
//
//   families FAMILY BLOCKS BYTES [unseen]
//
// With "unseen", one more block of linear memory is allocated while memprof is paused: then the
// figures must not agree.
#include <cstring>

#include "driver.h"
#include "families.h"

namespace memprof::gpu_check {

int ExportMemory();

std::unique_ptr<Family> MakeFamily(const std::string& name) {
  for (const auto make :
       {MakePlainFamily, MakePoolFamily, MakeMappedFamily, MakeSharedFamily, MakeMixedFamily})
    if (std::unique_ptr<Family> family = make(name)) return family;
  return nullptr;
}

namespace {

void CallIfThere(const char* name) {
  if (void* function = dlsym(RTLD_DEFAULT, name)) reinterpret_cast<int (*)()>(function)();
}

[[gnu::noinline]] std::uint64_t TakeBlocks(Family* family, int blocks, std::uint64_t bytes) {
  std::uint64_t sum = 0;
  for (int i = 0; i < blocks; ++i) sum += family->Take(bytes);
  return sum;
}

void TakeUnseen(std::uint64_t bytes) {
  CUdeviceptr block = 0;
  CallIfThere("memprof_stop");
  CALL(cuMemAlloc_v2, &block, bytes);
  CallIfThere("memprof_start");
}

std::string Measure(const std::string& name, int blocks, std::uint64_t bytes, bool unseen) {
  const std::unique_ptr<Family> family = MakeFamily(name);
  if (family == nullptr) throw Skipped("not built with this toolkit");
  UsePrimaryContext();
  family->Prepare();
  // Memory that the driver allocates once for this family does not count.
  TakeBlocks(family.get(), 1, bytes);
  family->GiveBack();
  const std::uint64_t before = FreeBytes();
  Mark("before");
  std::uint64_t asked = TakeBlocks(family.get(), blocks, bytes);
  if (unseen) {
    TakeUnseen(bytes);
    asked += bytes;
  }
  const std::uint64_t held = FreeBytes();
  Mark("held");
  const std::string figures = family->Figures();
  family->GiveBack();
  const std::uint64_t after = FreeBytes();
  Mark("after");
  return "\"asked\":" + std::to_string(asked) + ",\"free_before\":" + std::to_string(before) +
         ",\"free_held\":" + std::to_string(held) + ",\"free_after\":" + std::to_string(after) +
         (figures.empty() ? "" : "," + figures);
}

}  // namespace
}  // namespace memprof::gpu_check

int main(int argc, char** argv) {
  using namespace memprof::gpu_check;  // NOLINT: main is this guest
  if (argc == 2 && std::strcmp(argv[1], "ipc-exporter") == 0) return ExportMemory();
  if (argc < 4) {
    std::fprintf(stderr, "usage: families FAMILY BLOCKS BYTES [unseen]\n");
    return 2;
  }
  return Answer([argc, argv] {
    return Measure(argv[1], std::atoi(argv[2]), std::strtoull(argv[3], nullptr, 10), argc > 4);
  });
}
