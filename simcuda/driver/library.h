// Libraries: images that are loaded once for all contexts, and their kernels.
#ifndef SIMCUDA_DRIVER_LIBRARY_H
#define SIMCUDA_DRIVER_LIBRARY_H

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "simcuda/driver/module.h"

namespace memprof::simcuda {

class Library;

// A kernel of a library: a function in every context.
struct LibraryKernel {
  std::string name;
  std::weak_ptr<Library> library;
};

// Thread-safe.
class Library : public std::enable_shared_from_this<Library> {
 public:
  Library(const void* image, size_t image_bytes);

  // The library as a module of the context, loaded there at the first use.
  std::shared_ptr<Module> ModuleIn(const std::shared_ptr<Context>& context);
  // Null when the image can be read and has no such kernel.
  std::shared_ptr<LibraryKernel> FindKernel(const std::string& name);
  std::vector<std::shared_ptr<LibraryKernel>> kernels();
  const ParamLayout* FindLayout(const std::string& name) const;
  void Unload();

 private:
  const void* image_;
  const size_t image_bytes_;
  const ImageContents contents_;
  std::map<std::string, ParamLayout> layouts_;
  std::mutex mutex_;
  std::map<const Context*, std::weak_ptr<Module>> modules_;
  std::map<std::string, std::shared_ptr<LibraryKernel>> kernels_;
};

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_LIBRARY_H
