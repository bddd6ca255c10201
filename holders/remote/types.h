// The types of objects in another process: what an object of a type can refer to.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "holders/remote/memory.h"
#include "holders/remote/python.h"

namespace memprof::holders {

// How the references of an object are found, besides attributes and slots.
enum class Shape : std::uint8_t {
  kPlain,
  kDict,
  kList,
  kTuple,
  kSet,
  kDeque,
  kPartial,
  kCache,        // what functools.lru_cache() makes
  kThreadLocal,  // of the module threading
  kCell,
  kMethod,
  kFunction,
  kGenerator,
  kFrame,
  kTraceback,
  kException,
  kClass,
  kModule,  // is not gone through
};

struct Type {
  struct Slot {
    std::uint64_t name;  // a C string in the process
    std::uint64_t offset;
  };
  std::uint64_t address = 0;
  std::string name;  // without its module
  Shape shape = Shape::kPlain;
  bool exact = false;   // of a built-in type, not of a class derived from one
  bool heap = false;    // made by a class statement, or by C code in the same way
  bool target = false;  // looked for
  bool leaf = false;    // refers to nothing
  bool managed_dict = false, inline_values = false;
  std::int64_t dict_offset = 0;
  std::uint64_t basic_size = 0, item_size = 0;
  std::uint64_t cached_keys = 0;
  std::vector<Slot> slots;
  std::vector<std::uint64_t> fields;  // of a named tuple: the addresses of their names
};

class Types {
 public:
  // `targets`: the names of types that are looked for, with their derived types.
  Types(Memory& memory, const Python& python, std::vector<std::string> targets)
      : memory_(memory), python_(python), targets_(std::move(targets)) {}

  // The type of the object at `address`, or null if there is no sound object.
  const Type* Of(std::uint64_t address);
  bool IsText(std::uint64_t address);
  // Of a str, cut at 4096 characters; "" for other objects. UTF-8.
  std::string Text(std::uint64_t address);
  // Of a tuple: the number of its entries, 0 for other objects; an entry, or 0.
  std::uint64_t Count(std::uint64_t tuple);
  std::uint64_t Item(std::uint64_t tuple, std::uint64_t index);
  // The type itself, and what it is derived from by the first base of each.
  std::vector<std::uint64_t> Bases(std::uint64_t type);

 private:
  std::unique_ptr<Type> Read(std::uint64_t address);
  void ReadSlots(const std::vector<std::uint64_t>& bases, Type* type);
  void ReadFields(std::uint64_t dict, Type* type);
  Shape ShapeOf(std::uint64_t flags, const std::vector<std::uint64_t>& bases);

  Memory& memory_;
  const Python& python_;
  std::vector<std::string> targets_;
  absl::flat_hash_map<std::uint64_t, std::unique_ptr<Type>> types_;
};

}  // namespace memprof::holders
