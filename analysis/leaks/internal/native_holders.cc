// Names variables by the symbols of their modules.
#include "analysis/leaks/internal/native_holders.h"

#include "absl/strings/str_cat.h"
#include "analysis/base/text.h"
#include "analysis/symbols/plumbing.h"

namespace memprof::analysis {
namespace {

// The words of the recorder (libmemprof/src/recording/internal/holder_search.cc).
constexpr std::string_view kGlobalOf = "global of ", kThreadLocalOf = "thread-local variable of ";

// The second line: the root.
std::string_view RootOf(std::string_view label) {
  const std::size_t first = label.find('\n');
  if (first == std::string_view::npos) return "";
  label.remove_prefix(first + 1);
  return label.substr(0, label.find('\n'));
}

}  // namespace

ModuleSymbols* NativeHolders::SymbolsOf(std::string_view path) {
  const auto known = files_.find(path);
  if (known != files_.end()) return known->second.get();
  std::unique_ptr<ModuleSymbols>& symbols = files_[std::string(path)];
  for (const ModuleInfo& module : session_.modules()) {
    if (module.path != path) continue;
    symbols = std::make_unique<ModuleSymbols>(module);
    if (symbols->state() == ModuleSymbols::State::kUsable) break;
  }
  return symbols.get();
}

const NativeHolders::Found& NativeHolders::Find(std::string_view root, std::uint64_t place_1) {
  const auto [at, fresh] = found_.try_emplace({std::string(root), place_1});
  Found& found = at->second;
  if (!fresh) return found;
  const bool of_thread = root.starts_with(kThreadLocalOf);
  const std::string_view path = root.substr((of_thread ? kThreadLocalOf : kGlobalOf).size());
  ModuleSymbols::Variable variable;
  if (ModuleSymbols* const symbols = SymbolsOf(path))
    variable = symbols->VariableAt(place_1 - 1, of_thread);
  const std::string module(BaseName(path));
  if (variable.name.empty())
    found = {absl::StrCat(of_thread ? "thread-local variable of " : "global of ", module),
             place_1 - 1};
  else
    found = {
        absl::StrCat(of_thread ? "thread-local `" : "global `", variable.name, "` of ", module),
        variable.offset};
  return found;
}

void NativeHolders::Add(std::string_view label, std::uint64_t place_1) {
  const std::string_view root = RootOf(label);
  if (place_1 == 0 || (!root.starts_with(kGlobalOf) && !root.starts_with(kThreadLocalOf))) return;
  const Found& found = Find(root, place_1);
  offsets_[{std::string(label), found.words}].insert(found.offset);
}

std::string NativeHolders::Named(std::string_view label, std::uint64_t place_1) {
  const std::string_view root = RootOf(label);
  const auto known = found_.find({std::string(root), place_1});
  if (known == found_.end()) return std::string(label);
  const Found& found = known->second;
  const std::string_view path = label.substr(0, label.find('\n'));
  const std::string_view chain = label.substr(path.size() + 1 + root.size());
  const std::size_t places = offsets_[{std::string(label), found.words}].size();
  std::string words = found.words;
  if (found.offset != 0 && places <= (chain.empty() ? kFewPlaces : 1))
    absl::StrAppend(&words, " + 0x", absl::Hex(found.offset));
  std::string line(path);
  if (path.ends_with(root)) line.replace(path.size() - root.size(), root.size(), words);
  return absl::StrCat(line, "\n", words, std::string(chain));
}

std::string AskingLibrary(const Session& session, StackId stack) {
  for (const FrameId id : session.StackFrames(stack)) {
    const Frame& frame = session.frame(id);
    if (frame.python || frame.module >= session.modules().size()) continue;
    const std::string& path = session.modules()[frame.module].path;
    const std::string name(BaseName(path));
    if (!IsPlumbingModule(name) && path.find("-packages/torch/") == std::string::npos) return name;
  }
  return "";
}

}  // namespace memprof::analysis
