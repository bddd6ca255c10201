// Writes pickles of plain data, protocol 4: what Python's pickle.load() and the viewer of PyTorch's
// memory snapshots read. Text that was written before is written as a reference to it.
//
//     PickleWriter out(sink);
//     out.BeginDict();
//     out.Key("answer");
//     out.Integer(42);
//     out.EndDict();
//     if (!out.Finish()) …the sink failed…
//
// Containers nest; every item of a list is announced by Item(), every pair by its Key(). Not
// thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace memprof::analysis {

class PickleWriter {
 public:
  // Takes the next bytes of the file; false = it failed.
  using Sink = std::function<bool(std::string_view)>;

  explicit PickleWriter(Sink sink);

  void None() { Byte('N'); }
  void Bool(bool value) { Byte(value ? '\x88' : '\x89'); }
  void Integer(std::uint64_t value);
  void Negative(std::int64_t value);
  void Float(double value);
  void Text(std::string_view text);
  void Pair(std::uint64_t first, std::uint64_t second);  // a tuple

  void BeginList();
  void Item();
  void EndList() { End('e'); }
  void BeginDict();
  void Key(std::string_view key);
  void EndDict() { End('u'); }

  // Keeps the value that was just begun or written, for Get().
  std::uint32_t Memoize();
  void Get(std::uint32_t slot);

  // Ends the pickle. False if the sink failed, now or before.
  bool Finish();

 private:
  void Byte(char byte) {
    out_ += byte;
    if (out_.size() >= kFlush) Flush();
  }
  void Little(std::uint64_t value, int bytes);
  void End(char opcode);
  void Next(char opcode);
  void Flush();

  static constexpr std::size_t kFlush = 1 << 18;

  Sink sink_;
  bool ok_ = true;
  std::string out_;
  std::vector<std::uint32_t> open_;  // items since the last mark of each open container
  std::uint32_t slots_ = 0;
  absl::flat_hash_map<std::string, std::uint32_t> texts_;
};

}  // namespace memprof::analysis
