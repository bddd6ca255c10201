// Modules and what is in them.
#include "simcuda/driver/module.h"

#include <elf.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdio>
#include <cstring>

#include "simcuda/common/config.h"
#include "simcuda/driver/allocation.h"
#include "simcuda/driver/api_call.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/device.h"
#include "simcuda/driver/library.h"
#include "simcuda/driver/ptx.h"
#include "simcuda/driver/resource_ids.h"

namespace memprof::simcuda {
namespace {

std::atomic<uint32_t> g_next_module{1};

void ReportModule(uint32_t cbid, const Module& module) {
  simcuda_resource_event event = {};
  event.cbid = cbid;
  event.context = module.context().get();
  event.context_uid = module.context()->uid();
  event.module_id = module.id();
  event.image = module.image();
  event.image_bytes = module.image_bytes();
  ReportResource(event);
}

void Drop(const Module& module) {
  ReportModule(kResourceModuleUnloadStarting, module);
  AllHandles<Function>().RemoveIf([&](const Function& one) { return one.module() == &module; });
}

}  // namespace

size_t ImageBytes(const void* image) {
  const auto* bytes = static_cast<const unsigned char*>(image);
  if (bytes[0] == 0x7f) {
    if (std::memcmp(bytes, ELFMAG, SELFMAG) != 0) return 0;
    Elf64_Ehdr header;
    std::memcpy(&header, bytes, sizeof(header));
    return std::max(header.e_shoff + uint64_t{header.e_shentsize} * header.e_shnum,
                    header.e_phoff + uint64_t{header.e_phentsize} * header.e_phnum);
  }
  const bool text = std::isprint(bytes[0]) != 0 || std::isspace(bytes[0]) != 0;
  return text && std::isprint(bytes[1]) != 0 ? std::strlen(static_cast<const char*>(image)) : 0;
}

ImageContents ReadImage(const void* image, size_t bytes) {
  ImageContents contents;
  const std::string_view text(static_cast<const char*>(image), bytes);
  if (text.empty() || text[0] == '\x7f' || !LooksLikePtx(text)) return contents;
  contents.ptx = ReadPtx(text);
  contents.readable = true;
  return contents;
}

CUresult LoadImageFile(const char* path, const std::string** image) {
  static auto* mutex = new std::mutex;
  static auto* images = new std::vector<std::unique_ptr<std::string>>;
  std::FILE* file = std::fopen(path, "rb");
  if (file == nullptr) return CUDA_ERROR_FILE_NOT_FOUND;
  auto read = std::make_unique<std::string>();
  char buffer[65536];
  for (size_t got = 0; (got = std::fread(buffer, 1, sizeof(buffer), file)) > 0;) {
    read->append(buffer, got);
  }
  std::fclose(file);
  if (read->empty()) return CUDA_ERROR_INVALID_IMAGE;
  const std::lock_guard lock(*mutex);
  *image = read.get();
  images->push_back(std::move(read));
  return CUDA_SUCCESS;
}

ParamLayout LayOut(const std::vector<size_t>& sizes) {
  ParamLayout layout;
  layout.known = true;
  layout.sizes = sizes;
  size_t offset = 0;
  for (const size_t size : sizes) {
    const size_t alignment = size == 0 ? 1 : std::min<size_t>(size & (~size + 1), 8);
    offset = RoundUp(offset, alignment);
    layout.offsets.push_back(offset);
    offset += size;
  }
  layout.bytes = offset;
  return layout;
}

void Function::SetHost(simcuda_host_kernel kernel, ParamLayout layout) {
  const std::lock_guard lock(mutex_);
  host_ = kernel;
  layout_ = std::move(layout);
}

void Function::SetLayout(ParamLayout layout) {
  const std::lock_guard lock(mutex_);
  layout_ = std::move(layout);
}

simcuda_host_kernel Function::host() const {
  const std::lock_guard lock(mutex_);
  return host_;
}

ParamLayout Function::layout() const {
  const std::lock_guard lock(mutex_);
  return layout_;
}

int Function::GetAttribute(CUfunction_attribute attribute) const {
  const std::lock_guard lock(mutex_);
  const auto set = attributes_.find(attribute);
  if (set != attributes_.end()) return set->second;
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return 1024;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      return 32;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      return module_->versions().ptx;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      return module_->versions().binary;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return 49152;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return -1;
    default:
      return 0;
  }
}

void Function::SetAttribute(CUfunction_attribute attribute, int value) {
  const std::lock_guard lock(mutex_);
  attributes_[attribute] = value;
}

Module::Module(std::shared_ptr<Context> context, const void* image, size_t image_bytes)
    : context_(std::move(context)),
      id_(g_next_module++),
      image_(image),
      image_bytes_(image_bytes),
      contents_(ReadImage(image, image_bytes)),
      versions_(VersionsOf(image, image_bytes, GlobalConfig(false).gpu->capability)) {}

std::shared_ptr<Function> Module::FindFunction(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto found = functions_.find(name);
  if (found != functions_.end()) return found->second;
  const auto& kernels = contents_.ptx.kernels;
  const auto kernel = kernels.find(name);
  if (name.empty() || (contents_.readable && kernel == kernels.end())) return nullptr;
  auto function = std::make_shared<Function>(name, this);
  if (kernel != kernels.end()) function->SetLayout(LayOut(kernel->second));
  functions_.emplace(name, function);
  AllHandles<Function>().Add(function);
  return function;
}

std::vector<std::shared_ptr<Function>> Module::functions() {
  for (const auto& [name, sizes] : contents_.ptx.kernels) FindFunction(name);
  std::vector<std::shared_ptr<Function>> all;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, function] : functions_) all.push_back(function);
  return all;
}

CUresult Module::DefineGlobal(const std::string& name, size_t bytes, CUdeviceptr* address) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(mutex_);
  Global& global = globals_[name];
  if (global.address == 0) {
    auto allocation = std::make_shared<Allocation>();
    allocation->kind = AllocationKind::kGlobal;
    allocation->device = context_->device().id();
    allocation->context = context_;
    allocation->requested = bytes;
    if (!context_->device().memory().Allocate(Use::kLinear, bytes, &allocation->address,
                                              &allocation->granted)) {
      globals_.erase(name);
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    global = {allocation->address, bytes};
    Allocations().Add(std::move(allocation));
  }
  *address = global.address;
  return CUDA_SUCCESS;
}

CUdeviceptr Module::FindGlobal(const std::string& name, size_t* bytes) {
  CUdeviceptr address = 0;
  const auto declared = contents_.ptx.globals.find(name);
  if (declared != contents_.ptx.globals.end()) DefineGlobal(name, declared->second, &address);
  const std::lock_guard lock(mutex_);
  const auto found = globals_.find(name);
  if (found == globals_.end()) return 0;
  *bytes = found->second.bytes;
  return found->second.address;
}

std::shared_ptr<Module> LoadModule(const std::shared_ptr<Context>& context, const void* image,
                                   size_t bytes) {
  if (!context->limits().TakeHeap()) return nullptr;
  auto module = std::make_shared<Module>(context, image, bytes != 0 ? bytes : ImageBytes(image));
  module->LoadCode();
  AllHandles<Module>().Add(module);
  ReportModule(kResourceModuleLoaded, *module);
  return module;
}

bool UnloadModule(const void* handle) {
  const auto module = AllHandles<Module>().Remove(handle);
  if (module == nullptr) return false;
  module->context()->Synchronize();
  module->FreeGlobals();
  module->UnloadCode();
  Drop(*module);
  return true;
}

void UnloadModulesOf(Context* context) {
  for (const auto& module : AllHandles<Module>().RemoveIf(
           [&](const Module& one) { return one.context().get() == context; })) {
    module->FreeGlobals();
    Drop(*module);
  }
}

void Module::LoadCode() { code_bytes_ = context_->code().Load(LibraryOfImage(image_)); }
void Module::UnloadCode() { context_->code().Unload(code_bytes_); }

void Module::FreeGlobals() {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, global] : globals_) {
    const auto allocation =
        Allocations().Remove(global.address, [](const Allocation&) { return true; });
    if (allocation != nullptr) ReleaseAllocation(*allocation);
  }
  globals_.clear();
}

std::shared_ptr<Function> FindFunction(CUfunction handle) {
  auto function = AllHandles<Function>().Find(handle);
  if (function != nullptr) return function;
  const auto kernel = AllHandles<LibraryKernel>().Find(handle);
  const auto library = kernel == nullptr ? nullptr : kernel->library.lock();
  const auto context = CurrentContext();
  if (library == nullptr || context == nullptr || !context->alive()) return nullptr;
  const auto module = library->ModuleIn(context);
  return module == nullptr ? nullptr : module->FindFunction(kernel->name);
}

std::string FunctionName(const void* handle) {
  if (const auto function = AllHandles<Function>().Find(handle)) return function->name();
  const auto kernel = AllHandles<LibraryKernel>().Find(handle);
  return kernel == nullptr ? std::string() : kernel->name;
}

}  // namespace memprof::simcuda

using memprof::simcuda::AllHandles;

extern "C" int simcuda_set_host_kernel(CUfunction function, simcuda_host_kernel host, int args,
                                       const size_t* sizes) {
  const auto found = AllHandles<memprof::simcuda::Function>().Find(function);
  if (found == nullptr || args < 0 || (args > 0 && sizes == nullptr)) return 1;
  found->SetHost(host, memprof::simcuda::LayOut({sizes, sizes + args}));
  return 0;
}

extern "C" int simcuda_define_global(CUmodule module, const char* name, size_t bytes,
                                     CUdeviceptr* address) {
  const auto found = AllHandles<memprof::simcuda::Module>().Find(module);
  if (found == nullptr || name == nullptr || address == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return found->DefineGlobal(name, bytes, address);
}
