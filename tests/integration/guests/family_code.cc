// A guest of device code: modules and libraries, from memory and from a file, and their variables.
#include <unistd.h>

#include <string>

#include "by_name.h"

namespace {

constexpr char kPtx[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .global .align 4 .b8 table[4096];\n.visible .global .align 8 .u64 total;\n"
    ".visible .entry idle() { ret; }\n";
constexpr std::uint64_t kImage = sizeof kPtx - 1;

std::string WriteImage() {
  const std::string path = "image.ptx";  // in the directory of the test
  FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr || std::fputs(kPtx, file) < 0 || std::fclose(file) != 0) std::_Exit(6);
  return path;
}

void Modules() {
  UsePrimary();
  const auto unload = PROC(cuModuleUnload, "cuModuleUnload", 2000);
  const auto global = PROC(cuModuleGetGlobal_v2, "cuModuleGetGlobal", 3020);
  CUmodule data = nullptr, options = nullptr, file = nullptr;
  MUST(PROC(cuModuleLoadData, "cuModuleLoadData", 2000)(&data, kPtx));
  Expect("module_load", "module", 0, data, kImage, "cuModuleLoadData");
  MUST(PROC(cuModuleLoadDataEx, "cuModuleLoadDataEx", 2010)(&options, kPtx, 0, nullptr, nullptr));
  Expect("module_load", "module", 0, options, kImage, "cuModuleLoadDataEx");
  MUST(SYMBOL(cuModuleLoad)(&file, WriteImage().c_str()));
  Expect("module_load", "module", 0, file, 0, "cuModuleLoad");
  CUdeviceptr table = 0, total = 0;
  std::size_t bytes = 0;
  MUST(global(&table, &bytes, data, "table"));
  Expect("module_global", "module", 0, table, 4096, "cuModuleGetGlobal_v2");
  MUST(global(&table, nullptr, data, "table"));  // known already
  MUST(global(&total, nullptr, file, "total"));
  Expect("module_global", "module", 0, total, 8, "cuModuleGetGlobal_v2");
  MUST(unload(data));
  Expect("module_unload", "module", 0, data, kImage, "cuModuleUnload");
  MUST(unload(file));
  Expect("module_unload", "module", 0, file, 0, "cuModuleUnload");
  AskForTooMuch();
}

#if CUDA_VERSION >= 12000
void Libraries() {
  UsePrimary();
  CUlibrary data = nullptr, file = nullptr;
  const auto load_data = PROC(cuLibraryLoadData, "cuLibraryLoadData", 12000);
  MUST(load_data(&data, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  Expect("module_load", "module", 0, data, kImage, "cuLibraryLoadData");
  const auto load = PROC(cuLibraryLoadFromFile, "cuLibraryLoadFromFile", 12000);
  MUST(load(&file, WriteImage().c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  Expect("module_load", "module", 0, file, 0, "cuLibraryLoadFromFile");
  CUdeviceptr total = 0;
  std::size_t bytes = 0;
  MUST(PROC(cuLibraryGetGlobal, "cuLibraryGetGlobal", 12000)(&total, &bytes, data, "total"));
  Expect("module_global", "module", 0, total, 8, "cuLibraryGetGlobal");
  MUST(PROC(cuLibraryUnload, "cuLibraryUnload", 12000)(data));
  Expect("module_unload", "module", 0, data, kImage, "cuLibraryUnload");
  AskForTooMuch();
}
#else
void Libraries() {}
#endif

constexpr Scenario kScenarios[] = {{"modules", Modules}, {"libraries", Libraries}};

}  // namespace

int main(int argc, char** argv) { return RunScenario(kScenarios, argc, argv); }
