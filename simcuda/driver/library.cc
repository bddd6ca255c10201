// Libraries and the modules that they become.
#include "simcuda/driver/library.h"

#include "simcuda/driver/context.h"

namespace memprof::simcuda {

Library::Library(const void* image, size_t image_bytes)
    : image_(image),
      image_bytes_(image_bytes != 0 ? image_bytes : ImageBytes(image)),
      contents_(ReadImage(image_, image_bytes_)) {
  for (const auto& [name, sizes] : contents_.ptx.kernels) layouts_.emplace(name, LayOut(sizes));
}

std::shared_ptr<Module> Library::ModuleIn(const std::shared_ptr<Context>& context) {
  const std::lock_guard lock(mutex_);
  auto& known = modules_[context.get()];
  auto module = known.lock();
  if (module == nullptr || AllHandles<Module>().Find(module.get()) == nullptr) {
    module = LoadModule(context, image_, image_bytes_);
    known = module;
  }
  return module;
}

std::shared_ptr<LibraryKernel> Library::FindKernel(const std::string& name) {
  if (name.empty() || (contents_.readable && !contents_.ptx.kernels.contains(name))) {
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  auto& kernel = kernels_[name];
  if (kernel == nullptr) {
    kernel = std::make_shared<LibraryKernel>();
    kernel->name = name;
    kernel->library = weak_from_this();
    AllHandles<LibraryKernel>().Add(kernel);
  }
  return kernel;
}

std::vector<std::shared_ptr<LibraryKernel>> Library::kernels() {
  for (const auto& [name, sizes] : contents_.ptx.kernels) FindKernel(name);
  std::vector<std::shared_ptr<LibraryKernel>> all;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, kernel] : kernels_) all.push_back(kernel);
  return all;
}

const ParamLayout* Library::FindLayout(const std::string& name) const {
  const auto found = layouts_.find(name);
  return found == layouts_.end() ? nullptr : &found->second;
}

void Library::Unload() {
  const std::lock_guard lock(mutex_);
  for (const auto& [context, weak] : modules_) {
    const auto module = weak.lock();
    if (module != nullptr) UnloadModule(module.get());
  }
  modules_.clear();
  for (const auto& [name, kernel] : kernels_) AllHandles<LibraryKernel>().Remove(kernel.get());
  kernels_.clear();
}

}  // namespace memprof::simcuda
