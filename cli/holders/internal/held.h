// Who holds which memory of a process, however that was found out.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace memprof::cli {

// Holders with the same words, root and kind are one.
struct HeldRow {
  std::string path, root, kind;
  std::vector<std::string> chain;
  std::uint64_t bytes = 0, blocks = 0;
};

// Memory whose holder was not found.
struct HeldRest {
  std::uint64_t bytes = 0, blocks = 0;
};

struct Held {
  bool by_program = false;  // it answered; else its memory was read
  std::string how;          // a line
  std::uint64_t objects = 0;
  std::uint64_t pause_ns = 0, garbage_bytes = 0;  // by the program only
  std::map<int, std::uint64_t> devices;           // bytes that have a holder
  std::vector<HeldRow> rows;                      // largest first
  std::optional<HeldRest> rest;                   // of its allocator; nothing if not known
  std::vector<std::string> limits;                // what is not seen: sentences
};

// Joins holders of storages.
class HeldJoiner {
 public:
  // One holder of the storage at `address`, whose size is `bytes`.
  void Add(int device, std::uint64_t address, std::uint64_t bytes, HeldRow holder);
  // Sets the rows and devices.
  void Finish(Held* held);

 private:
  std::map<std::tuple<std::string, std::string, std::string>, HeldRow> rows_;
  std::map<std::pair<int, std::uint64_t>, std::uint64_t> storages_;
};

}  // namespace memprof::cli
