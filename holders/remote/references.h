// What an object in another process refers to, and as what.
#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "holders/remote/memory.h"
#include "holders/remote/python.h"
#include "holders/remote/types.h"

namespace memprof::holders {

// How one object refers to another. `detail` of an Edge is what is said in parentheses.
enum class EdgeKind : std::uint8_t {
  kAttribute,  // (its name, a str)
  kSlot,       // (its name, a C string)
  kName,       // of a class, a function or a thread; in a module (its name, a str)
  kKey,        // value of a small dictionary (the key)
  kEntry,      // of a collection whose entries are not told apart (its key, if it has one)
  kDictKey,    // is a key
  kIndex,      // of a short list or a tuple (the index)
  kField,      // of a named tuple (its name, a str)
  kSetEntry,
  kContent,   // of a cell; the function of a method; a frame of a traceback: no word of a user's
  kClosure,   // a cell (the variable's name, a str)
  kDefault,   // argument (its name, a str)
  kArgument,  // in a partial (its name, a str)
  kUnnamedArgument,  // (the index)
  kFunction,         // of a partial
  kCached,           // by a cache of functools
  kSelf,             // of a bound method
  kLocal,            // of a frame or generator (its name, a str)
  kTraceback,
  kContext,    // of an exception
  kCause,      // likewise
  kArguments,  // of an exception
  kBase,       // of a class
  kClass,      // of an instance
  kHooks,      // of a tensor
};

struct Edge {
  EdgeKind kind = EdgeKind::kEntry;
  std::uint64_t detail = 0;
  std::uint64_t to = 0;
};

using VisitEdge = absl::FunctionRef<void(const Edge&)>;

// A dictionary with more entries is a collection; the same for a list.
inline constexpr std::uint64_t kMostKeys = 16, kMostItems = 4;

class References {
 public:
  References(Memory& memory, const Python& python, Types& types)
      : memory_(memory), python_(python), types_(types) {}

  // Visits what `object`, which is of `type`, refers to. Addresses of edges are not checked.
  void Of(std::uint64_t object, const Type& type, VisitEdge visit);
  // Entries of a namespace.
  void OfNamespace(std::uint64_t dict, VisitEdge visit);
  // Local variables of an interpreter frame (to 3.10: frame object) that runs `code`.
  void OfFrame(std::uint64_t frame, std::uint64_t code, VisitEdge visit);

 private:
  void OfShape(std::uint64_t object, const Type& type, VisitEdge visit);
  void OfDict(std::uint64_t object, VisitEdge visit);
  void OfItems(std::uint64_t items, std::uint64_t count, const Type& type, bool indices,
               VisitEdge visit);
  void OfSet(std::uint64_t object, VisitEdge visit);
  void OfDeque(std::uint64_t object, VisitEdge visit);
  void OfFunction(std::uint64_t object, VisitEdge visit);
  void OfPartial(std::uint64_t object, VisitEdge visit);
  void OfCache(std::uint64_t object, VisitEdge visit);
  void OfThreadLocal(std::uint64_t object, VisitEdge visit);
  void OfGenerator(std::uint64_t object, VisitEdge visit);
  void OfException(std::uint64_t object, VisitEdge visit);
  void OfTensor(std::uint64_t object, const Type& type, VisitEdge visit);
  void OfClass(std::uint64_t object, VisitEdge visit);
  void Attributes(std::uint64_t object, const Type& type, VisitEdge visit);

  Memory& memory_;
  const Python& python_;
  Types& types_;
};

}  // namespace memprof::holders
