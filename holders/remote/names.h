// A path of objects in a user's words: "list `metrics.predictions` (global `metrics`, train.py)".
// The words are those of python/memprof/_holders/paths.py, without the lines of assignments.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "holders/remote/memory.h"
#include "holders/remote/python.h"
#include "holders/remote/roots.h"
#include "holders/remote/types.h"
#include "holders/remote/walk.h"

namespace memprof::holders {

struct NamedPath {
  std::string line, root;
  std::vector<std::string> chain;  // between the root and the end: "list `metrics.predictions`"
  int rank = 0;                    // the lower, the more does a user think of the end by this path
};

class Namer {
 public:
  Namer(Memory& memory, const Python& python, Types& types, const Roots& roots, const Walk& walk)
      : memory_(memory), python_(python), types_(types), roots_(roots), walk_(walk) {
    for (const Module& module : roots.modules)
      if (module.of_user) files_.insert(module.file);
  }

  NamedPath Describe(const Walk::Path& path);

 private:
  struct Text;
  void Begin(const Walk::Path& path, Text* text);
  void Attribute(const Walk::Path& path, std::size_t step, Text* text);
  void Entry(const Walk::Way& way, const std::string& module_part, Text* text);
  void Step(const Walk::Path& path, std::size_t step, Text* text);
  std::string Key(std::uint64_t key);
  std::string Number(std::uint64_t object);
  std::string FunctionOf(std::uint64_t object);
  std::string LocalOf(std::uint64_t object);
  std::string NameOf(const Walk::Way& way);
  bool IsAssigned(std::uint64_t type, const Walk::Way& attribute);
  const Type* TypeAt(const Walk::Path& path, std::size_t object);

  Memory& memory_;
  const Python& python_;
  Types& types_;
  const Roots& roots_;
  const Walk& walk_;
  absl::flat_hash_set<std::string> files_;  // of the user
  absl::flat_hash_map<std::pair<std::uint64_t, std::uint64_t>, bool> assigned_;
};

}  // namespace memprof::holders
