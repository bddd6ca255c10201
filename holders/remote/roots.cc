// Reads the interpreter's list of modules and chains of frames.
#include "holders/remote/roots.h"

#include <algorithm>
#include <unordered_set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "holders/remote/dict.h"
#include "libmemprof/src/python_layout/lines.h"

namespace memprof::holders {
namespace {

constexpr int kMostThreads = 4096, kMostFrames = 10000, kMostInterpreters = 64;
constexpr std::uint64_t kMostModules = 100000, kMostTable = std::uint64_t{16} << 20;

class Finder {
 public:
  Finder(Memory& memory, const Python& python, Types& types)
      : memory_(memory), python_(python), types_(types) {}
  absl::StatusOr<Roots> Find();

 private:
  void ReadModules(std::uint64_t interpreter, Roots* roots);
  void ReadModule(std::uint64_t key, std::uint64_t object, Roots* roots);
  void ReadThread(std::uint64_t thread, Roots* roots);
  bool OfUser(const std::string& file) const;
  std::string FolderOf(const std::vector<Module>& modules, const char* name) const;

  Memory& memory_;
  const Python& python_;
  Types& types_;
  std::unordered_set<std::uint64_t> seen_;  // namespaces, then frames
  std::string libraries_, own_, agent_;     // folders
};

// Only a module's name and file are read, not its other names.
void Finder::ReadModule(std::uint64_t key, std::uint64_t object, Roots* roots) {
  const Type* type = types_.Of(object);
  if (type == nullptr || type->shape != Shape::kModule) return;
  Module module;
  module.name = types_.Text(key);
  module.names = memory_.Word(object + at::kModuleDict);
  if (!seen_.insert(module.names).second) return;
  DictReader names(memory_, python_.layout, module.names);
  for (DictEntry entry; names.Next(&entry);) {
    const std::string name = types_.Text(entry.key);
    if (name != "__file__" && name != "__name__") continue;
    const std::string value = types_.Text(entry.value);
    if (!value.empty()) (name == "__file__" ? module.file : module.name) = value;
    if (!module.file.empty() && name == "__file__") break;
  }
  if (!module.name.empty()) roots->modules.push_back(std::move(module));
}

void Finder::ReadModules(std::uint64_t interpreter, Roots* roots) {
  const std::uint64_t modules = memory_.Word(interpreter + python_.layout.interpreter_modules);
  const Type* type = types_.Of(modules);
  if (type == nullptr || type->shape != Shape::kDict) return;
  DictReader entries(memory_, python_.layout, modules);
  for (DictEntry entry; roots->modules.size() < kMostModules && entries.Next(&entry);)
    ReadModule(entry.key, entry.value, roots);
}

void Finder::ReadThread(std::uint64_t thread, Roots* roots) {
  const recorder::PythonLayout& layout = python_.frames;
  std::uint64_t frame = 0;
  if (layout.thread_loop != 0 && layout.by_loop) {
    frame = memory_.Word(memory_.Word(thread + layout.thread_loop) + layout.loop_frame);
  } else {
    frame = memory_.Word(thread + layout.thread_frame);
  }
  for (int i = 0; i < kMostFrames && frame != 0 && seen_.insert(frame).second; ++i) {
    Frame found = DescribeFrame(memory_, python_, types_, frame);
    if (found.code != 0) roots->frames.push_back(std::move(found));
    frame = memory_.Word(frame + layout.frame_previous);
  }
}

std::string Finder::FolderOf(const std::vector<Module>& modules, const char* name) const {
  for (const Module& module : modules)
    if (module.name == name) return module.file.substr(0, module.file.rfind('/') + 1);
  return "";
}

bool Finder::OfUser(const std::string& file) const {
  return !file.empty() && !absl::StartsWith(file, "<frozen") &&
         (libraries_.empty() || !absl::StartsWith(file, libraries_)) &&
         (own_.empty() || !absl::StartsWith(file, own_)) &&
         (agent_.empty() || !absl::StartsWith(file, agent_)) &&
         !absl::StrContains(file, "/site-packages/") && !absl::StrContains(file, "/dist-packages/");
}

absl::StatusOr<Roots> Finder::Find() {
  Roots roots;
  std::uint64_t interpreter = memory_.Word(python_.runtime + python_.layout.runtime_interpreters);
  for (int i = 0; i < kMostInterpreters && interpreter != 0; ++i) {
    ReadModules(interpreter, &roots);
    std::uint64_t thread = memory_.Word(interpreter + python_.layout.interpreter_threads);
    for (; thread != 0 && roots.threads < kMostThreads; ++roots.threads) {
      if (memory_.Word(thread + python_.layout.thread_interpreter) != interpreter) break;
      ReadThread(thread, &roots);
      thread = memory_.Word(thread + python_.layout.thread_next);
    }
    interpreter = memory_.Word(interpreter + python_.layout.interpreter_next);
  }
  if (roots.modules.empty() || roots.threads == 0)
    return absl::FailedPreconditionError(
        absl::StrCat("its Python 3.", python_.layout.minor,
                     " is not running, or is laid out in an unknown way"));
  libraries_ = FolderOf(roots.modules, "os");
  own_ = FolderOf(roots.modules, "memprof");
  // `memprof run` loads it by a name of its own.
  agent_ = FolderOf(roots.modules, "_memprof._agent");
  if (absl::EndsWith(agent_, "_agent/")) agent_.resize(agent_.rfind("_agent/"));
  for (Module& module : roots.modules)
    module.of_user = module.name == "__main__" || OfUser(module.file);
  for (Frame& frame : roots.frames) frame.of_user = OfUser(frame.file);
  const auto rank = [](const Module& module) {
    return module.name == "__main__" ? 0 : module.of_user ? 1 : 2;
  };
  std::stable_sort(roots.modules.begin(), roots.modules.end(),
                   [&](const Module& a, const Module& b) { return rank(a) < rank(b); });
  std::stable_partition(roots.frames.begin(), roots.frames.end(),
                        [](const Frame& frame) { return frame.of_user; });
  return roots;
}

// As the recorder does for its stacks.
int LineOf(Memory& memory, const Python& python, std::uint64_t frame, std::uint64_t code) {
  const recorder::PythonLayout& layout = python.frames;
  const auto first = memory.Load<std::uint32_t>(code + layout.code_first_line);
  const std::uint64_t table = memory.Word(code + layout.code_line_table);
  const std::uint64_t bytes = memory.Word(table + layout.bytes_size);
  std::vector<unsigned char> content(bytes < kMostTable ? bytes : 0);
  if (first > 1u << 30 || !memory.Read(table + layout.bytes_data, content.data(), content.size()))
    return 0;
  std::int64_t offset = 0;
  if (layout.chain == recorder::FrameChain::kObjects) {
    offset = std::int64_t{memory.Load<std::int32_t>(frame + layout.frame_instruction)} *
             layout.instruction_scale;
  } else {
    const std::uint64_t instruction = memory.Word(frame + layout.frame_instruction);
    offset = static_cast<std::int64_t>(instruction - code - layout.code_instructions);
  }
  const int line = recorder::LineAt(layout.lines, content.data(), content.size(),
                                    static_cast<int>(first), offset);
  return line > 0 ? line : static_cast<int>(first);
}

}  // namespace

Frame DescribeFrame(Memory& memory, const Python& python, Types& types, std::uint64_t address) {
  const recorder::PythonLayout& layout = python.frames;
  Frame frame;
  const std::uint64_t code = memory.Word(address + layout.frame_code) & ~at::kTags;
  const bool shim =
      layout.chain == recorder::FrameChain::kShims &&
      memory.Load<std::uint8_t>(address + layout.frame_mark) >= recorder::kOwnerOfShim;
  if (shim || code == 0 || memory.Word(code + at::kType) != python.code) return frame;
  frame.address = address;
  frame.code = code;
  frame.file = types.Text(memory.Word(code + layout.code_file));
  frame.function = types.Text(memory.Word(code + layout.code_name));
  frame.line = LineOf(memory, python, address, code);
  return frame;
}

absl::StatusOr<Roots> FindRoots(Memory& memory, const Python& python, Types& types) {
  return Finder(memory, python, types).Find();
}

}  // namespace memprof::holders
