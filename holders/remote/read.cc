// Puts the parts together.
#include "holders/remote/read.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "holders/remote/memory.h"
#include "holders/remote/names.h"
#include "holders/remote/process.h"
#include "holders/remote/python.h"
#include "holders/remote/roots.h"
#include "holders/remote/tensors.h"
#include "holders/remote/types.h"
#include "holders/remote/walk.h"

namespace memprof::holders {
namespace {

constexpr std::size_t kMostHolders = 4;  // of one storage

// A walk that was done, with all that it refers to.
struct Look {
  std::vector<Mapping> mappings;
  std::unique_ptr<Memory> memory;
  Python python;
  std::unique_ptr<Types> types;
  Roots roots;
  std::unique_ptr<Walk> walk;
  std::unique_ptr<Namer> namer;
  bool running = false;
};

absl::Status ErrorOf(pid_t pid, int error) {
  if (error == EPERM)
    return absl::PermissionDeniedError(
        absl::StrCat("process ", pid, " does not let itself be read"));
  if (error == ESRCH)
    return absl::NotFoundError(absl::StrCat("process ", pid, " has ended while it was read"));
  return error == 0 ? absl::OkStatus()
                    : absl::InternalError(absl::StrCat("process ", pid, " cannot be read"));
}

bool IsEnd(char state) { return state == 'Z' || state == 'X'; }

absl::Status Run(pid_t pid, const ReadOptions& options, Look* look) {
  const absl::StatusOr<char> state = ProcessState(pid);
  if (!state.ok()) return state.status();
  if (IsEnd(*state)) return absl::NotFoundError(absl::StrCat("process ", pid, " has ended"));
  look->running = *state != 'T' && *state != 't';
  absl::StatusOr<std::vector<Mapping>> mappings = ReadMappings(pid);
  if (!mappings.ok()) return mappings.status();
  look->mappings = *std::move(mappings);
  look->memory = std::make_unique<Memory>(pid, look->mappings);
  absl::StatusOr<Python> python = FindPython(pid, look->mappings, *look->memory);
  if (const absl::Status error = ErrorOf(pid, look->memory->error()); !error.ok()) return error;
  if (!python.ok()) {
    // What the memory of a process that ends reads as is no Python that is known.
    const absl::StatusOr<char> now = ProcessState(pid);
    return !now.ok() || IsEnd(*now) ? ErrorOf(pid, ESRCH) : python.status();
  }
  look->python = *python;
  look->types = std::make_unique<Types>(*look->memory, look->python, options.targets);
  absl::StatusOr<Roots> roots = FindRoots(*look->memory, look->python, *look->types);
  if (const absl::Status error = ErrorOf(pid, look->memory->error()); !error.ok()) return error;
  if (!roots.ok()) return roots.status();
  look->roots = *std::move(roots);
  look->walk = std::make_unique<Walk>(*look->memory, look->python, *look->types, look->roots);
  look->walk->Run(options.most_objects);
  look->namer =
      std::make_unique<Namer>(*look->memory, look->python, *look->types, look->roots, *look->walk);
  return ErrorOf(pid, look->memory->error());
}

// All ways to a target in words, the best known first.
std::vector<NamedPath> Describe(Look& look, Walk::Id target) {
  std::vector<NamedPath> named;
  for (const Walk::Path& path : look.walk->Paths(target))
    named.push_back(look.namer->Describe(path));
  std::stable_sort(named.begin(), named.end(),
                   [](const NamedPath& a, const NamedPath& b) { return a.rank < b.rank; });
  return named;
}

// "`model.weight` (…)" -> "`model.weight.grad` (…)"
std::string GradientOf(const std::string& line) {
  const std::size_t end = line.empty() || line[0] != '`' ? std::string::npos : line.find('`', 1);
  if (end == std::string::npos) return "gradient of " + line;
  return absl::StrCat(line.substr(0, end), ".grad", line.substr(end));
}

class Collector {
 public:
  explicit Collector(Look& look) : look_(look), tensors_(*look.memory, look.mappings) {}

  void Collect(Reading* reading) {
    std::vector<std::uint64_t> addresses;
    for (const Walk::Id target : look_.walk->targets())
      addresses.push_back(look_.walk->address(target));
    reading->tensors = addresses.size();
    reading->unknown_tensors = !tensors_.Learn(addresses) && !addresses.empty();
    for (const Walk::Id target : look_.walk->targets()) Add(target);
    for (auto& [place, holders] : held_)
      for (Holder& holder : holders) reading->holders.push_back(std::move(holder));
  }

 private:
  void Add(Walk::Id target) {
    const std::uint64_t address = look_.walk->address(target);
    const std::optional<Storage> own = tensors_.Of(address),
                                 gradient = tensors_.OfGradient(address);
    if (!own && !gradient) return;
    const std::vector<NamedPath> named = Describe(look_, target);
    if (own)
      for (const NamedPath& each : named) Add(*own, each.line, each);
    if (gradient && !named.empty()) Add(*gradient, GradientOf(named[0].line), named[0]);
  }

  void Add(const Storage& storage, const std::string& line, const NamedPath& named) {
    std::vector<Holder>& holders = held_[{storage.device, storage.address}];
    const bool known = std::any_of(holders.begin(), holders.end(), [&](const Holder& holder) {
      return holder.path == line && holder.root == named.root;
    });
    if (!known && holders.size() < kMostHolders)
      holders.push_back(
          {storage.device, storage.address, storage.bytes, line, named.root, named.chain});
  }

  Look& look_;
  Tensors tensors_;
  std::map<std::pair<int, std::uint64_t>, std::vector<Holder>> held_;
};

}  // namespace

absl::StatusOr<Reading> ReadHolders(pid_t pid, const ReadOptions& options) {
  Look look;
  if (const absl::Status status = Run(pid, options, &look); !status.ok()) return status;
  Reading reading;
  reading.objects = look.walk->objects();
  reading.cut = look.walk->cut();
  reading.running = look.running;
  Collector(look).Collect(&reading);
  reading.bytes_read = look.memory->bytes_read();
  if (const absl::Status error = ErrorOf(pid, look.memory->error()); !error.ok()) return error;
  return reading;
}

absl::StatusOr<Reached> ReachedObjects(pid_t pid, const ReadOptions& options) {
  Look look;
  if (const absl::Status status = Run(pid, options, &look); !status.ok()) return status;
  Reached reached;
  reached.objects = look.walk->Addresses();
  for (const Walk::Id target : look.walk->targets()) {
    std::vector<NamedPath> named = Describe(look, target);
    if (!named.empty())
      reached.targets.push_back({look.walk->address(target), std::move(named[0].line),
                                 std::move(named[0].root), std::move(named[0].chain)});
  }
  return reached;
}

}  // namespace memprof::holders
