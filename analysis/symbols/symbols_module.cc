// Reads symbols, lines and inlined functions of one binary with elfutils.
#include "analysis/symbols/symbols_module.h"

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "analysis/base/text.h"
#include "analysis/log/wire.h"
#include "analysis/symbols/cxx_names.h"
#include "analysis/symbols/names_elsewhere.h"

namespace memprof::analysis {
namespace {

// A library of the system, of the toolkit or of a Python package, as against the program's own.
bool IsInstalledModule(std::string_view path) {
  if (path.find("-packages/") != std::string_view::npos) return true;
  for (const std::string_view folder :
       {"/usr/lib", "/lib/", "/lib64/", "/usr/local/lib", "/usr/local/cuda", "/nix/store/"})
    if (path.starts_with(folder)) return true;
  const std::size_t lib = path.rfind("/lib/");
  return lib != std::string_view::npos &&
         path.substr(0, lib).find("conda") != std::string_view::npos;
}

struct FreeDeleter {
  void operator()(void* memory) const { std::free(memory); }
};

}  // namespace

namespace {

// "" for what is no mangled name.
std::string Demangled(std::string_view symbol) {
  const std::string mangled(symbol);
  int status = 0;
  const std::unique_ptr<char, FreeDeleter> demangled(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status));
  if (status != 0 || demangled == nullptr || !symbol.starts_with("_Z")) return "";
  return demangled.get();
}

}  // namespace

std::string ReadableName(std::string_view symbol) {
  const std::string demangled = Demangled(symbol);
  return ValidUtf8(demangled.empty() ? symbol : BareName(demangled));
}

std::string ModuleFileKey(const ModuleInfo& module) {
  if (module.elsewhere != nullptr)
    return absl::StrCat("elsewhere:", module.build_id, ":", module.path);
  struct stat info {};
  if (stat(module.path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return "";
  return absl::StrCat(info.st_dev, ":", info.st_ino, ":", IsInstalledModule(module.path) ? 1 : 0,
                      ":", module.build_id, ":", std::string(BaseName(module.path)));
}

class ModuleSymbols::Impl {
 public:
  explicit Impl(const ModuleInfo& module)
      : bias_(module.load_bias),
        name_(BaseName(module.path)),
        installed_(IsInstalledModule(module.path)) {
    struct stat info {};
    if (stat(module.path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return;
    dwfl_.reset(dwfl_begin(&kCallbacks));
    if (dwfl_ == nullptr) return;
    // At its own addresses: its tables contain recorded address - load bias.
    module_ = dwfl_report_elf(dwfl_.get(), name_.c_str(), module.path.c_str(), -1, 0, true);
    dwfl_report_end(dwfl_.get(), nullptr, nullptr);
    GElf_Addr elf_bias = 0;
    if (module_ == nullptr || dwfl_module_getelf(module_, &elf_bias) == nullptr) return;
    state = SameBuild(module.build_id) ? State::kUsable : State::kChanged;
    if (state == State::kChanged) dwfl_.reset();  // the file is not the recorded one
  }

  std::vector<SourceFrame> At(std::uint64_t address);
  Variable VariableAt(std::uint64_t address, bool thread_local_data);
  std::vector<ModuleSymbols::Range> Variables();

  State state = State::kMissing;

 private:
  struct DwflDeleter {
    void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
  };
  struct Function {
    Dwarf_Addr begin = 0, end = 0;
    Dwarf_Die die{};
  };
  struct Unit {
    Dwarf_Addr begin = 0, end = 0;
    Dwarf_Die die{};
  };
  struct Place {
    std::string file;
    int line = 0;
  };

  bool SameBuild(const std::string& recorded) const {
    const unsigned char* bits = nullptr;
    GElf_Addr at = 0;
    const int size = dwfl_module_build_id(module_, &bits, &at);
    if (recorded.empty()) return true;
    return size > 0 && recorded == std::string_view(reinterpret_cast<const char*>(bits),
                                                    static_cast<std::size_t>(size));
  }

  // A symbol with a size, and the highest end of the symbols before it.
  struct Range {
    GElf_Addr begin = 0, end = 0, reach_before = 0;
    int symbol = 0;
  };
  std::string VariableName(const Range& range);

  // The compilation unit at `pc`, and by how much its addresses are smaller than those of the
  // module. Clang writes no .debug_aranges, without which libdw 0.188 finds no unit: the units' own
  // ranges are searched then.
  std::optional<Dwarf_Die> UnitAt(Dwarf_Addr pc, Dwarf_Addr* bias);
  void IndexUnits();
  static Place PlaceOf(Dwarf_Die* unit, Dwarf_Addr pc);
  std::string SymbolAt(Dwarf_Addr pc);
  void IndexSymbols();
  void IndexVariables();
  const std::vector<Function>& FunctionsOf(Dwarf_Die* unit);
  static void CollectFunctions(Dwarf_Die* parent, int depth, std::vector<Function>* functions);
  std::vector<Dwarf_Die> InlinedAt(Dwarf_Die* unit, Dwarf_Addr pc);
  SourceFrame NewFrame(std::string function, const Place& place) const {
    return {.function = std::move(function),
            .file = place.file,
            .line = place.line,
            .module = name_,
            .symbolised = true,
            .installed = installed_};
  }

  static char* debug_path_;
  static const Dwfl_Callbacks kCallbacks;

  const std::uint64_t bias_;
  const std::string name_;
  const bool installed_;
  std::unique_ptr<Dwfl, DwflDeleter> dwfl_;
  Dwfl_Module* module_ = nullptr;
  absl::flat_hash_map<Dwarf_Off, std::vector<Function>> functions_;  // by compilation unit
  std::vector<Unit> units_;                                          // by begin
  bool units_indexed_ = false;
  std::vector<Range> ranges_;  // by begin; empty until many symbols were looked up
  int lookups_ = 0;
  std::vector<Range> variables_[2];  // by begin: of all threads, of each
  bool variables_indexed_ = false;
};

char* ModuleSymbols::Impl::debug_path_ = nullptr;  // libdwfl's own default
const Dwfl_Callbacks ModuleSymbols::Impl::kCallbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .section_address = dwfl_offline_section_address,
    .debuginfo_path = &debug_path_,
};

namespace {

// Name of a function or of the function inlined here; the linkage name includes its scopes.
std::string DieName(Dwarf_Die* die) {
  Dwarf_Attribute attribute;
  for (const unsigned int kind : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name}) {
    if (dwarf_attr_integrate(die, kind, &attribute) == nullptr) continue;
    if (const char* const name = dwarf_formstring(&attribute)) return ReadableName(name);
  }
  return "";
}

// Out-of-line functions stand directly in the unit or in scopes of these kinds.
bool HoldsFunctions(int tag) {
  return tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
         tag == DW_TAG_union_type || tag == DW_TAG_module;
}

}  // namespace

void ModuleSymbols::Impl::CollectFunctions(Dwarf_Die* parent, int depth,
                                           std::vector<Function>* functions) {
  Dwarf_Die child;
  if (depth > 32 || dwarf_child(parent, &child) != 0) return;
  do {
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_subprogram) {
      Dwarf_Addr base = 0, begin = 0, end = 0;
      for (std::ptrdiff_t at = 0; (at = dwarf_ranges(&child, at, &base, &begin, &end)) > 0;)
        functions->push_back({begin, end, child});
    } else if (HoldsFunctions(tag)) {
      CollectFunctions(&child, depth + 1, functions);
    }
  } while (dwarf_siblingof(&child, &child) == 0);
}

const std::vector<ModuleSymbols::Impl::Function>& ModuleSymbols::Impl::FunctionsOf(
    Dwarf_Die* unit) {
  const auto [at, fresh] = functions_.try_emplace(dwarf_dieoffset(unit));
  if (fresh) {
    CollectFunctions(unit, 0, &at->second);
    std::sort(at->second.begin(), at->second.end(),
              [](const Function& a, const Function& b) { return a.begin < b.begin; });
  }
  return at->second;
}

// The function of `unit` at `pc`, then the functions inlined there, outermost first.
std::vector<Dwarf_Die> ModuleSymbols::Impl::InlinedAt(Dwarf_Die* unit, Dwarf_Addr pc) {
  const std::vector<Function>& functions = FunctionsOf(unit);
  auto after = std::upper_bound(functions.begin(), functions.end(), pc,
                                [](Dwarf_Addr a, const Function& f) { return a < f.begin; });
  if (after == functions.begin() || pc >= (--after)->end) return {};
  std::vector<Dwarf_Die> found = {after->die};
  Dwarf_Die scope = after->die, child;
  // Descends through blocks and inlined functions that contain the address.
  for (int depth = 0; depth < 256 && dwarf_child(&scope, &child) == 0; ++depth) {
    bool inside = false;
    do {
      const int tag = dwarf_tag(&child);
      inside = (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) &&
               dwarf_haspc(&child, pc) == 1;
      if (inside && tag == DW_TAG_inlined_subroutine) found.push_back(child);
    } while (!inside && dwarf_siblingof(&child, &child) == 0);
    if (!inside) break;
    scope = child;
  }
  return found;
}

void ModuleSymbols::Impl::IndexUnits() {
  units_indexed_ = true;
  Dwarf_Addr bias = 0;
  for (Dwarf_Die* unit = nullptr; (unit = dwfl_module_nextcu(module_, unit, &bias)) != nullptr;) {
    Dwarf_Addr base = 0, begin = 0, end = 0;
    for (std::ptrdiff_t at = 0; (at = dwarf_ranges(unit, at, &base, &begin, &end)) > 0;)
      units_.push_back({begin + bias, end + bias, *unit});
  }
  std::sort(units_.begin(), units_.end(),
            [](const Unit& a, const Unit& b) { return a.begin < b.begin; });
}

std::optional<Dwarf_Die> ModuleSymbols::Impl::UnitAt(Dwarf_Addr pc, Dwarf_Addr* bias) {
  if (dwfl_module_getdwarf(module_, bias) == nullptr) return std::nullopt;
  if (Dwarf_Die* const unit = dwfl_module_addrdie(module_, pc, bias)) return *unit;
  if (!units_indexed_) IndexUnits();
  const auto after =
      std::upper_bound(units_.begin(), units_.end(), pc,
                       [](Dwarf_Addr a, const Unit& unit) { return a < unit.begin; });
  if (after == units_.begin() || pc >= (after - 1)->end) return std::nullopt;
  return (after - 1)->die;
}

ModuleSymbols::Impl::Place ModuleSymbols::Impl::PlaceOf(Dwarf_Die* unit, Dwarf_Addr pc) {
  Place place;
  Dwarf_Line* const line = dwarf_getsrc_die(unit, pc);
  if (line == nullptr) return place;
  dwarf_lineno(line, &place.line);
  if (const char* const file = dwarf_linesrc(line, nullptr, nullptr)) place.file = ValidUtf8(file);
  return place;
}

void ModuleSymbols::Impl::IndexSymbols() {
  const int count = dwfl_module_getsymtab(module_);
  for (int i = 0; i < count; ++i) {
    GElf_Sym symbol;
    GElf_Addr begin = 0;
    GElf_Word section = SHN_UNDEF;
    if (dwfl_module_getsym_info(module_, i, &symbol, &begin, &section, nullptr, nullptr) == nullptr)
      continue;
    const int type = GELF_ST_TYPE(symbol.st_info);
    const bool code = type != STT_SECTION && type != STT_FILE && type != STT_TLS;
    if (code && section != SHN_UNDEF && symbol.st_size > 0)
      ranges_.push_back({begin, begin + symbol.st_size, 0, i});
  }
  std::sort(ranges_.begin(), ranges_.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  GElf_Addr reach = 0;
  for (Range& range : ranges_) {
    range.reach_before = reach;
    reach = std::max(reach, range.end);
  }
}

std::string ModuleSymbols::Impl::SymbolAt(Dwarf_Addr pc) {
  // libdwfl searches the whole table every time: half a million symbols of a large library.
  constexpr int kMany = 16;
  if (++lookups_ == kMany) IndexSymbols();
  const auto after =
      std::upper_bound(ranges_.begin(), ranges_.end(), pc,
                       [](GElf_Addr address, const Range& range) { return address < range.begin; });
  if (after != ranges_.begin() && pc < (after - 1)->end && (after - 1)->reach_before <= pc) {
    GElf_Sym only;
    GElf_Addr begin = 0;
    const char* const name = dwfl_module_getsym_info(module_, (after - 1)->symbol, &only, &begin,
                                                     nullptr, nullptr, nullptr);
    if (name != nullptr) return ReadableName(name);
  }
  // None of those, or several: libdwfl has rules of preference.
  GElf_Off offset = 0;
  GElf_Sym symbol;
  const char* const name =
      dwfl_module_addrinfo(module_, pc, &offset, &symbol, nullptr, nullptr, nullptr);
  // Beyond the end of a symbol of known size lies code that the table does not name.
  if (name == nullptr || (symbol.st_size != 0 && offset >= symbol.st_size)) return "";
  return ReadableName(name);
}

void ModuleSymbols::Impl::IndexVariables() {
  variables_indexed_ = true;
  const int count = dwfl_module_getsymtab(module_);
  for (int i = 0; i < count; ++i) {
    GElf_Sym symbol;
    GElf_Addr begin = 0;
    GElf_Word section = SHN_UNDEF;
    if (dwfl_module_getsym_info(module_, i, &symbol, &begin, &section, nullptr, nullptr) ==
            nullptr ||
        section == SHN_UNDEF || symbol.st_size == 0)
      continue;
    const int type = GELF_ST_TYPE(symbol.st_info);
    if (type != STT_OBJECT && type != STT_TLS) continue;
    if (type == STT_TLS) begin = symbol.st_value;
    variables_[type == STT_TLS].push_back({begin, begin + symbol.st_size, 0, i});
  }
  for (std::vector<Range>& ranges : variables_)
    std::stable_sort(ranges.begin(), ranges.end(),
                     [](const Range& a, const Range& b) { return a.begin < b.begin; });
}

ModuleSymbols::Variable ModuleSymbols::Impl::VariableAt(std::uint64_t address,
                                                        bool thread_local_data) {
  if (!variables_indexed_) IndexVariables();
  const std::vector<Range>& ranges = variables_[thread_local_data];
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), address,
                       [](GElf_Addr at, const Range& range) { return at < range.begin; });
  if (after == ranges.begin() || address >= (after - 1)->end) return {};
  return {VariableName(*(after - 1)), address - (after - 1)->begin};
}

std::string ModuleSymbols::Impl::VariableName(const Range& range) {
  GElf_Sym symbol;
  GElf_Addr begin = 0;
  const char* const name =
      dwfl_module_getsym_info(module_, range.symbol, &symbol, &begin, nullptr, nullptr, nullptr);
  if (name == nullptr) return "";
  const std::string demangled = Demangled(name);
  return ValidUtf8(demangled.empty() ? std::string_view(name) : demangled);
}

std::vector<ModuleSymbols::Range> ModuleSymbols::Impl::Variables() {
  if (!variables_indexed_) IndexVariables();
  std::vector<ModuleSymbols::Range> all;
  for (const bool of_thread : {false, true})
    for (const Range& range : variables_[of_thread])
      all.push_back({range.begin, range.end, of_thread, VariableName(range)});
  return all;
}

std::vector<SourceFrame> ModuleSymbols::Impl::At(std::uint64_t address) {
  const Dwarf_Addr pc = address - bias_;
  const std::string symbol = SymbolAt(pc);
  Dwarf_Addr bias = 0;
  std::optional<Dwarf_Die> unit = UnitAt(pc, &bias);
  Place place;
  std::vector<Dwarf_Die> dies;
  if (unit) {
    place = PlaceOf(&*unit, pc - bias);
    dies = InlinedAt(&*unit, pc - bias);
  }
  std::vector<SourceFrame> frames;
  Dwarf_Files* files = nullptr;
  std::size_t file_count = 0;
  if (dies.size() > 1) dwarf_getsrcfiles(&*unit, &files, &file_count);
  for (std::size_t i = dies.size(); i-- > 1;) {  // innermost first; [0] is the function itself
    frames.push_back(NewFrame(DieName(&dies[i]), place));
    frames.back().inlined = true;
    Dwarf_Attribute attribute;
    Dwarf_Word file = 0, line = 0;
    place = {};
    if (dwarf_formudata(dwarf_attr(&dies[i], DW_AT_call_line, &attribute), &line) == 0)
      place.line = static_cast<int>(line);
    if (dwarf_formudata(dwarf_attr(&dies[i], DW_AT_call_file, &attribute), &file) == 0 &&
        file < file_count)
      if (const char* const path = dwarf_filesrc(files, file, nullptr, nullptr))
        place.file = ValidUtf8(path);
  }
  std::string function = symbol;
  if (function.empty() && !dies.empty()) function = DieName(&dies[0]);
  if (!function.empty()) frames.push_back(NewFrame(std::move(function), place));
  return frames;
}

ModuleSymbols::ModuleSymbols(const ModuleInfo& module) {
  if (module.elsewhere != nullptr)
    elsewhere_ = module;
  else
    impl_ = std::make_unique<Impl>(module);
}
ModuleSymbols::~ModuleSymbols() = default;
ModuleSymbols::State ModuleSymbols::state() const {
  return impl_ != nullptr ? impl_->state : State::kUsable;
}

ModuleSymbols::Variable ModuleSymbols::VariableAt(std::uint64_t address, bool thread_local_data) {
  if (impl_ == nullptr)
    return elsewhere_.elsewhere->VariableAt(elsewhere_, address, thread_local_data);
  return impl_->state == State::kUsable ? impl_->VariableAt(address, thread_local_data)
                                        : Variable();
}

std::vector<ModuleSymbols::Range> ModuleSymbols::Variables() {
  return impl_ != nullptr && impl_->state == State::kUsable ? impl_->Variables()
                                                            : std::vector<Range>();
}

std::vector<SourceFrame> ModuleSymbols::At(std::uint64_t address) {
  if (impl_ == nullptr) return elsewhere_.elsewhere->At(elsewhere_, address - elsewhere_.load_bias);
  return impl_->state == State::kUsable ? impl_->At(address) : std::vector<SourceFrame>();
}

}  // namespace memprof::analysis
