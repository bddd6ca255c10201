// Counts how many stacks pass through each function, and picks sites by it.
#include "analysis/site_choice.h"

#include <algorithm>
#include <string>

#include "absl/container/flat_hash_set.h"

namespace memprof::analysis {
namespace {

// Below this many distinct stacks there is no majority to speak of, and names decide alone.
constexpr std::uint32_t kFewStacks = 4;
// A frame that more than one in four stacks pass through is not particular to any.
constexpr std::uint32_t kShare = 4;

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

// What runs Python, and what it calls C with: between two lines of Python nobody looks at it.
bool IsInterpreterModule(std::string_view module) {
  return module == "python" ||
         StartsWithAny(module, {"python3", "libpython", "_ctypes.", "libffi"});
}

// Libraries in whose inside nobody looks for the place of an allocation.
bool IsPlumbingModule(std::string_view module) {
  return StartsWithAny(
             module, {"libcuda", "libcu", "libnv", "libnccl", "libmemprof", "libstdc++", "libc.so",
                      "libc++", "libtorch", "libc10", "libsimcuda", "ld-linux", "libtensorflow",
                      "libjax", "libxla", "xla_", "_pywrap_tensorflow", "lib_pywrap_tensorflow"}) ||
         IsInterpreterModule(module);
}

// Where nothing but plumbing is on the stack: what of it tells most. The innermost line of Python;
// else the operator that was asked for; else what is neither CUDA's nor an allocator's.
std::size_t MostTelling(const std::vector<SourceFrame>& frames) {
  const auto python = std::find_if(frames.begin(), frames.end(), [](const SourceFrame& frame) {
    return frame.python && frame.symbolised;
  });
  if (python != frames.end()) return static_cast<std::size_t>(python - frames.begin());
  for (std::size_t i = frames.size(); i-- > 0;)
    if (frames[i].function.starts_with("at::_ops::")) return i;
  const auto inner = [](const SourceFrame& frame) {
    return !frame.symbolised || frame.function.starts_with("c10::") ||
           StartsWithAny(frame.module, {"libcuda", "libsimcuda", "libmemprof", "libc10",
                                        "libstdc++", "libc++", "libc.so", "ld-linux"});
  };
  const auto other = std::find_if_not(frames.begin(), frames.end(), inner);
  return other == frames.end() ? 0 : static_cast<std::size_t>(other - frames.begin());
}

bool IsPlumbingFile(std::string_view file) {
  return Contains(file, "/include/c++/") || IsAgentFile(file) ||
         Contains(file, "/site-packages/torch/") || Contains(file, "/dist-packages/torch/") ||
         Contains(file, "/site-packages/tensorflow/") || Contains(file, "/site-packages/jax/") ||
         Contains(file, "/site-packages/cupy/") || Contains(file, "/site-packages/jaxlib/") ||
         Contains(file, "/site-packages/keras/") ||
         // What Cython made of CuPy, as its debug information calls it.
         StartsWithAny(file, {"cupy/", "cupy_backends/"});
}

// Python's own library: modules that are called through, as functools and threading.
bool IsPythonLibrary(std::string_view file) {
  return file.starts_with("<frozen ") ||
         (Contains(file, "/lib/python3.") && !Contains(file, "-packages/"));
}

// Functions that only hand the request on.
bool IsAllocationWrapper(std::string_view function) {
  static constexpr std::string_view kNames[] = {
      "malloc",     "calloc",      "alloc",        "allocate",     "do_allocate",
      "Malloc",     "Alloc",       "Allocate",     "AllocateRaw",  "AllocRaw",
      "DoAllocate", "TryAllocate", "DeviceMalloc", "DeviceAlloc",  "DeviceAllocate",
      "CudaMalloc", "CudaAlloc",   "raw_alloc",    "raw_allocate", "checked_malloc"};
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

// The name without parameters, and where its last "::" outside of template arguments is.
struct QualifiedName {
  std::string_view name;
  std::size_t last_scope = std::string_view::npos;
};

QualifiedName Qualify(std::string_view function) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  QualifiedName qualified{function};
  int depth = 0;
  for (std::size_t i = 0; i < function.size(); ++i) {
    if (function[i] == '<') ++depth;
    if (function[i] == '>') --depth;
    if (depth != 0) continue;
    if (function.substr(i).starts_with(kAnonymous)) {
      i += kAnonymous.size() - 1;
    } else if (function[i] == '(') {
      qualified.name = function.substr(0, i);
      break;
    } else if (function.substr(i).starts_with("::")) {
      qualified.last_scope = i++;
    }
  }
  return qualified;
}

std::string_view WithoutTemplateArguments(std::string_view name) {
  return name.substr(0, name.find('<'));
}

}  // namespace

std::string_view ScopeOf(std::string_view function) {
  const QualifiedName qualified = Qualify(function);
  return qualified.last_scope == std::string_view::npos ? std::string_view()
                                                        : function.substr(0, qualified.last_scope);
}

bool IsConstructor(std::string_view function) {
  const QualifiedName qualified = Qualify(function);
  if (qualified.last_scope == std::string_view::npos) return false;
  const std::string_view scope = function.substr(0, qualified.last_scope);
  const QualifiedName outer = Qualify(scope);
  const std::string_view made =
      outer.last_scope == std::string_view::npos ? scope : scope.substr(outer.last_scope + 2);
  const std::string_view name = qualified.name.substr(qualified.last_scope + 2);
  const std::string_view bare = WithoutTemplateArguments(made);
  return !bare.empty() && WithoutTemplateArguments(name) == bare;
}

bool IsAgentFile(std::string_view file) { return Contains(file, "/memprof/_agent/"); }

bool IsPlumbing(const SourceFrame& frame) {
  return !frame.symbolised || (!frame.python && IsPlumbingModule(frame.module)) ||
         IsPlumbingFile(frame.file) || (frame.python && IsPythonLibrary(frame.file)) ||
         frame.file == "??" || IsAllocationWrapper(frame.function);
}

SiteChooser::Place SiteChooser::PlaceOf(const SourceFrame& frame) {
  if (!frame.python) return {frame.function, {}, 0};
  return {frame.function, frame.file, frame.line};
}

int SiteChooser::GroupOf(Layer layer) {
  if (layer == Layer::kBlock) return 1;
  if (layer == Layer::kTensor) return 2;
  return 0;
}

SiteChooser::SiteChooser(const Session& session, Symbols& symbols)
    : group_of_stack_(session.stack_count(), -1) {
  absl::flat_hash_set<Place> places;
  for (const AllocationRecord& allocation : session.records()) {
    if (!allocation.stack.valid() || allocation.stack.value >= group_of_stack_.size()) continue;
    std::int8_t& group = group_of_stack_[allocation.stack.value];
    if (group >= 0) continue;
    group = static_cast<std::int8_t>(GroupOf(allocation.layer));
    ++stacks_[static_cast<std::size_t>(group)];
    places.clear();
    for (const FrameId frame : session.StackFrames(allocation.stack))
      for (const SourceFrame& resolved : symbols.Resolve(frame))  // stays where it is: a cache
        places.insert(PlaceOf(resolved));
    for (const Place& place : places) ++through_[place][static_cast<std::size_t>(group)];
  }
}

std::size_t SiteChooser::Choose(StackId stack, const std::vector<SourceFrame>& frames) const {
  const int group = stack.value < group_of_stack_.size() ? group_of_stack_[stack.value] : -1;
  const std::uint32_t stacks = group < 0 ? 0 : stacks_[static_cast<std::size_t>(group)];
  std::size_t best = frames.size();
  std::uint32_t fewest = 0;
  std::string_view made;  // the class whose shared constructor was passed last
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (IsPlumbing(frames[i])) continue;
    if (stacks < kFewStacks) return i;
    const auto found = through_.find(PlaceOf(frames[i]));
    const std::uint32_t count =
        found == through_.end() ? 0 : found->second[static_cast<std::size_t>(group)];
    const bool shared = count * kShare > stacks;
    const bool door = !made.empty() && ScopeOf(frames[i].function) == made;
    if (!shared && !door) return i;
    if (shared && !door)
      made = IsConstructor(frames[i].function) ? ScopeOf(frames[i].function) : std::string_view();
    if (best == frames.size() || count < fewest) {
      best = i;
      fewest = count;
    }
  }
  return best == frames.size() ? MostTelling(frames) : best;
}

}  // namespace memprof::analysis
