// Structures of CPython 3.`minor`, made by hand in this process, for the reader to read. Layouts of
// dictionaries are written out here; other offsets are those of ObjectLayout, which tests with real
// interpreters check. Of 3.14 there is often no real one.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "holders/remote/memory.h"
#include "holders/remote/process.h"
#include "holders/remote/python.h"
#include "holders/remote/references.h"
#include "holders/remote/types.h"

namespace memprof::holders::test {

inline constexpr int kMinors[] = {9, 10, 11, 12, 13, 14};

inline std::uint64_t Address(const void* object) { return reinterpret_cast<std::uint64_t>(object); }
inline std::vector<Mapping> Mine() { return ReadMappings(getpid()).value(); }
ObjectLayout LayoutOf(int minor);

using Entries = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
using Words = std::vector<std::uint64_t>;
enum class Keys : std::uint8_t { kGeneral, kText, kSplit };

struct FakeCode {
  std::vector<std::string> variables, used, cells, free;  // the last two: to 3.10
  std::uint32_t arguments = 0;
  std::string name = "f", file = "/home/user/train.py";
  std::uint32_t line = 7;
};

struct FakeFunction {
  FakeCode code;
  std::string name = "f";
  Words closure, defaults;
  Entries keyword_defaults, attributes;
};

class FakePython {
 public:
  // `places`: of types that are to be there.
  explicit FakePython(int minor, std::map<std::string, std::uint64_t> places = {});

  Python python;
  std::map<std::string, std::uint64_t> types;  // by name; "list" and so on are there

  std::uint64_t Make(std::size_t bytes);  // zeros
  template <typename Value = std::uint64_t>
  static void Set(std::uint64_t address, Value value) {
    std::memcpy(reinterpret_cast<void*>(address), &value, sizeof value);
  }
  // A static one is of C. `base`: "" = object.
  std::uint64_t NewType(const std::string& name, std::uint64_t flags = kHeapType,
                        const std::string& base = "", std::uint64_t basic_size = 64);
  std::uint64_t Object(const std::string& type, const Words& words = {});  // those after its head
  std::uint64_t Text(const std::string& ascii);
  std::uint64_t Number(std::int64_t value);  // below 2^60
  std::uint64_t Tuple(const Words& items, const std::string& type = "tuple");
  std::uint64_t List(const Words& items);
  std::uint64_t KeysOf(const Entries& entries, Keys kind = Keys::kGeneral, int log_size = 6);
  std::uint64_t Dict(const Entries& entries, Keys kind = Keys::kGeneral, int log_size = 6);
  Entries Named(const std::vector<std::pair<std::string, std::uint64_t>>& names);
  std::uint64_t Code(const FakeCode& code);
  std::uint64_t Function(const FakeFunction& function);
  // A type whose instances have a dictionary at offset 16.
  std::uint64_t NewClass(const std::string& name, const Entries& names = {},
                         const std::string& base = "");
  std::uint64_t Instance(const std::string& type, const Entries& attributes);
  std::uint64_t Frame(std::uint64_t code, const Words& values, std::uint64_t previous = 0);
  std::uint64_t Module(const std::string& name, const std::string& file, const Entries& names = {});
  // Threads whose innermost frames these are, and what sys.modules has.
  void Run(const Words& frames, const std::vector<std::pair<std::string, std::uint64_t>>& modules);

 private:
  std::uint64_t Names(const std::vector<std::string>& names);
  std::deque<std::vector<std::uint64_t>> blocks_;
  std::deque<std::string> names_;
};

// What reads it. Later changes of what has been read are not seen.
struct FakeReader {
  explicit FakeReader(const FakePython& fake, std::vector<std::string> targets = {"Target"})
      : memory(getpid(), Mine()),
        types(memory, fake.python, std::move(targets)),
        references(memory, fake.python, types) {}
  std::vector<Edge> Of(std::uint64_t object) {
    std::vector<Edge> edges;
    references.Of(object, *types.Of(object), [&](const Edge& edge) { edges.push_back(edge); });
    return edges;
  }

  Memory memory;
  Types types;
  References references;
};

}  // namespace memprof::holders::test
