// Device code: modules and libraries, from memory and from a file, and their variables.
#include "families.h"

namespace {

std::string Code(const std::string& variables) {
  return ".version 7.0\n.target sm_75\n.address_size 64\n" + variables +
         ".visible .entry idle() { ret; }\n";
}

const std::string kPtx =
    Code(".visible .global .align 4 .b8 table[4096];\n.visible .global .align 8 .u64 total;\n");
const std::uint64_t kImage = kPtx.size();

std::string WriteImage() {
  std::string path = "image.ptx";  // in the directory of the test
  FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr || std::fputs(kPtx.c_str(), file) < 0 || std::fclose(file) != 0)
    throw std::runtime_error("no image.ptx");
  return path;
}

CUmodule Load(const std::string& code) {
  const auto load = PROC(cuModuleLoadData, "cuModuleLoadData", 2000);
  return MAKE("module_load", load, "module", 0, code.size(), code.c_str());
}

// Returns the size that the driver says.
std::size_t FindGlobal(CUmodule module, const char* name, std::size_t bytes) {
  CUdeviceptr address = 0;
  std::size_t size = 0;
  MUST(PROC(cuModuleGetGlobal_v2, "cuModuleGetGlobal", 3020)(&address, &size, module, name));
  Expect("module_global", "module", 0, address, bytes, "cuModuleGetGlobal_v2");
  return size;
}

void Unload(CUmodule module, std::uint64_t bytes) {
  ON("module_unload", PROC(cuModuleUnload, "cuModuleUnload", 2000), "module", 0, bytes, module);
}

// With one large variable.
Block TakeModule(std::uint64_t bytes) {
  const std::string code =
      Code(".visible .global .align 16 .b8 big[" + std::to_string(bytes) + "];\n");
  CUmodule module = Load(code);
  const std::uint64_t image = code.size();
  return {FindGlobal(module, "big", bytes), [=] { Unload(module, image); }};
}

void Modules() {
  CUmodule data = Load(kPtx);
  const auto load = PROC(cuModuleLoadDataEx, "cuModuleLoadDataEx", 2010);
  MAKE("module_load", load, "module", 0, kImage, kPtx.c_str(), 0, nullptr, nullptr);
  const std::string path = WriteImage();
  CUmodule file = MAKE("module_load", SYMBOL(cuModuleLoad), "module", 0, 0, path.c_str());
  FindGlobal(data, "table", 4096);
  CUdeviceptr table = 0;
  const auto global = PROC(cuModuleGetGlobal_v2, "cuModuleGetGlobal", 3020);
  MUST(global(&table, nullptr, data, "table"));  // known already
  FindGlobal(file, "total", 8);
  Unload(data, kImage);
  Unload(file, 0);
}

#if CUDA_VERSION >= 12000
void Libraries() {
  const auto load_data = PROC(cuLibraryLoadData, "cuLibraryLoadData", 12000);
  const char* const ptx = kPtx.c_str();
  CUlibrary data = nullptr, file = nullptr;
  MUST(load_data(&data, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  Expect("module_load", "module", 0, data, kImage, load_data.name);
  const auto load = PROC(cuLibraryLoadFromFile, "cuLibraryLoadFromFile", 12000);
  MUST(load(&file, WriteImage().c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  Expect("module_load", "module", 0, file, 0, "cuLibraryLoadFromFile");
  CUdeviceptr total = 0;
  std::size_t bytes = 0;
  MUST(PROC(cuLibraryGetGlobal, "cuLibraryGetGlobal", 12000)(&total, &bytes, data, "total"));
  Expect("module_global", "module", 0, total, 8, "cuLibraryGetGlobal");
  const auto unload = PROC(cuLibraryUnload, "cuLibraryUnload", 12000);
  ON("module_unload", unload, "module", 0, kImage, data);
}
#endif

constexpr Family kFamilies[] = {{"module", TakeModule}};
constexpr Scenario kScenarios[] = {
#if CUDA_VERSION >= 12000
    {"libraries", Libraries},
#endif
    {"modules", Modules}};

}  // namespace

const Group kCode{kFamilies, kScenarios};
