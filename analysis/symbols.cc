// Resolves frames of a session, caches the answers, and picks the frame that people would name.
#include "analysis/symbols.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analysis/symbols_module.h"

namespace memprof::analysis {
namespace {

std::string BaseName(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool StartsWithAny(std::string_view text, std::initializer_list<std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [text](std::string_view prefix) { return text.starts_with(prefix); });
}

// "a::B<int>::Allocate" → {"a", "B", "Allocate"}: scopes without their template arguments.
std::vector<std::string_view> Scopes(std::string_view function) {
  std::vector<std::string_view> scopes;
  int depth = 0;
  std::size_t begin = 0, end = std::string_view::npos;
  const auto add = [&](std::size_t i) {
    scopes.push_back(function.substr(begin, std::min(i, end) - begin));
  };
  for (std::size_t i = 0; i < function.size(); ++i) {
    if (function[i] == '<' && depth++ == 0) end = i;
    if (function[i] == '>') --depth;
    if (depth != 0 || !function.substr(i).starts_with("::")) continue;
    add(i);
    begin = i + 2;
    end = std::string_view::npos;
    ++i;
  }
  add(function.size());
  return scopes;
}

// Libraries in whose inside nobody looks for the place of an allocation.
bool IsPlumbingModule(std::string_view module) {
  return StartsWithAny(module, {"libcuda", "libcu", "libnv", "libnccl", "libmemprof", "libstdc++",
                                "libc.so", "libc++", "libtorch", "libc10", "libsimcuda", "ld-linux",
                                "libtensorflow", "libjax", "libxla", "_pywrap_tensorflow"});
}

bool IsPlumbingFile(std::string_view file) {
  return Contains(file, "/include/c++/") ||
         Contains(file, "/site-packages/torch/") ||
         Contains(file, "/dist-packages/torch/") ||
         Contains(file, "/site-packages/tensorflow/") ||
         Contains(file, "/site-packages/jax/");
}

// Functions that only hand the request on.
bool IsAllocationWrapper(std::string_view function) {
  static constexpr std::string_view kNames[] = {
      "malloc", "calloc", "alloc", "allocate", "do_allocate", "Malloc", "Alloc", "Allocate",
      "AllocateRaw", "AllocRaw", "DoAllocate", "TryAllocate", "DeviceMalloc", "DeviceAlloc",
      "DeviceAllocate", "CudaMalloc", "CudaAlloc", "raw_alloc", "raw_allocate", "checked_malloc"};
  if (StartsWithAny(function, {"std::", "__gnu_cxx::", "operator new", "thrust::", "cub::", "rmm::",
                               "c10::", "at::", "torch::", "cudaMalloc", "cudaHostAlloc", "cuMem",
                               "cudaMemPool", "cudaHostRegister", "memprof_"}))
    return true;
  const std::vector<std::string_view> scopes = Scopes(function);
  if (std::find(std::begin(kNames), std::end(kNames), scopes.back()) != std::end(kNames))
    return true;
  return std::any_of(scopes.begin(), scopes.end() - 1, [](std::string_view scope) {
    return scope.ends_with("llocator") || scope.ends_with("MemoryPool") ||
           scope.ends_with("memory_resource");
  });
}

bool IsSite(const SourceFrame& frame) {
  return frame.symbolised && (frame.python || !IsPlumbingModule(frame.module)) &&
         !IsPlumbingFile(frame.file) && !IsAllocationWrapper(frame.function);
}

}  // namespace

class Symbols::Impl {
 public:
  explicit Impl(std::shared_ptr<const Session> session)
      : session_(std::move(session)), cache_(session_->frame_count()) {}

  const std::vector<SourceFrame>& Resolve(FrameId id) {
    static const std::vector<SourceFrame> kUnknown = {{.function = "?"}};
    if (id.value >= cache_.size()) return kUnknown;
    const std::lock_guard lock(mutex_);
    std::vector<SourceFrame>& cached = cache_[id.value];
    if (!cached.empty()) return cached;
    const Frame& frame = session_->frame(id);
    cached = frame.python ? Python(frame) : Native(frame);
    if (!cached.front().symbolised) ++unsymbolised_;
    return cached;
  }

  std::uint64_t unsymbolised() const {
    const std::lock_guard lock(mutex_);
    return unsymbolised_;
  }
  const Session& session() const { return *session_; }

 private:
  std::vector<SourceFrame> Python(const Frame& frame) const {
    SourceFrame resolved{.function = std::string(session_->string(frame.function)),
                         .file = std::string(session_->string(frame.file)),
                         .line = static_cast<int>(std::min(frame.line, 0x7fffffffu)),
                         .module = "python",
                         .python = true};
    resolved.symbolised = !resolved.function.empty();
    if (!resolved.symbolised) resolved.function.assign(1, '?');
    return {std::move(resolved)};
  }

  std::vector<SourceFrame> Native(const Frame& frame) {
    if (frame.module >= session_->modules().size())
      return {{.function = absl::StrCat("0x", absl::Hex(frame.address))}};
    const ModuleInfo& module = session_->modules()[frame.module];
    std::unique_ptr<ModuleSymbols>& symbols = modules_[frame.module];
    if (symbols == nullptr) symbols = std::make_unique<ModuleSymbols>(module);
    std::vector<SourceFrame> found = symbols->At(frame.address);
    if (!found.empty()) return found;
    const std::string name = BaseName(module.path);
    return {{.function = absl::StrCat(name, "+0x", absl::Hex(frame.address - module.load_bias)),
             .module = name}};
  }

  const std::shared_ptr<const Session> session_;
  mutable std::mutex mutex_;
  std::vector<std::vector<SourceFrame>> cache_;  // never resized: answers stay where they are
  std::map<std::uint32_t, std::unique_ptr<ModuleSymbols>> modules_;
  std::uint64_t unsymbolised_ = 0;
};

Symbols::Symbols(std::shared_ptr<const Session> session)
    : impl_(std::make_unique<Impl>(std::move(session))) {}
Symbols::~Symbols() = default;

const std::vector<SourceFrame>& Symbols::Resolve(FrameId frame) { return impl_->Resolve(frame); }
std::uint64_t Symbols::unsymbolised() const { return impl_->unsymbolised(); }

std::vector<SourceFrame> Symbols::ResolveStack(StackId stack) {
  std::vector<SourceFrame> resolved;
  for (const FrameId frame : impl_->session().StackFrames(stack)) {
    const std::vector<SourceFrame>& frames = Resolve(frame);
    resolved.insert(resolved.end(), frames.begin(), frames.end());
  }
  return resolved;
}

SourceFrame Symbols::Site(StackId stack) {
  std::vector<SourceFrame> frames = ResolveStack(stack);
  if (frames.empty()) return {};
  const auto site = std::find_if(frames.begin(), frames.end(), IsSite);
  return site == frames.end() ? frames.front() : *site;
}

std::string Symbols::Describe(const SourceFrame& frame) {
  if (frame.file.empty()) {
    if (!frame.symbolised || frame.python || frame.module.empty()) return frame.function;
    return absl::StrCat(frame.function, " (", frame.module, ")");
  }
  if (frame.line == 0) return absl::StrCat(frame.function, " (", BaseName(frame.file), ")");
  return absl::StrCat(frame.function, " (", BaseName(frame.file), ":", frame.line, ")");
}

}  // namespace memprof::analysis
