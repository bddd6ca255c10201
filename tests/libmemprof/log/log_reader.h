// A simple log reader for tests of the recorder: no index, no streaming, no tolerance. It uses only
// proto/ and libprotobuf, so that it shares no code with what it checks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "proto/memprof.pb.h"

namespace memprof::testing {

struct Event {
  std::uint64_t time_ns = 0;
  log::Op op = log::OP_UNSPECIFIED;
  log::Layer layer = log::LAYER_UNSPECIFIED;
  std::uint32_t thread = 0;
  int device = -1;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint32_t stack = 0;
  std::uint32_t context = 0;
  std::uint64_t stream = 0;
  std::uint32_t label = 0;
  std::uint32_t api = 0;
  std::uint32_t result = 0;
  std::uint64_t aux0 = 0;
  std::uint64_t aux1 = 0;
  std::uint32_t weight = 0;
};

struct StackNode {
  std::uint32_t parent = 0;
  std::uint64_t address = 0;
  std::uint32_t module = 0;
  bool python = false;  // `address` is then the id of a frame
};

struct Log {
  std::string error;  // why reading stopped; empty = the file ends with a complete chunk
  std::uint64_t good_bytes = 0;
  log::Header header;
  std::map<std::uint32_t, std::string> strings;
  std::map<std::uint32_t, log::Module> modules;
  std::map<std::uint32_t, log::Thread> threads;
  std::map<std::uint32_t, log::Device> devices;
  std::map<std::uint32_t, log::Context> contexts;
  std::map<std::uint32_t, log::Tensor> tensors;
  std::map<std::uint32_t, log::PythonFrame> python_frames;
  std::map<std::uint64_t, log::Pool> pools;
  std::vector<log::Source> sources;
  std::vector<log::Framework> frameworks;
  std::map<std::uint32_t, StackNode> nodes;
  std::vector<Event> events;  // in the order of the file
  std::map<std::string, std::uint64_t> counters;
  log::SelfAccounting self;
  log::Index index;
  log::Trailer trailer;
  bool has_trailer = false;
  int event_chunks = 0;
  struct Chunk {
    std::uint64_t offset = 0;
    std::uint32_t kind = 0, events = 0;
    bool operator==(const Chunk&) const = default;
  };
  std::vector<Chunk> chunks;

  // Sorted by time; events at the same instant stay in the order of the file.
  std::vector<Event> ByTime() const;
  std::string Text(std::uint32_t string_id) const;
  // Innermost first.
  std::vector<StackNode> Stack(std::uint32_t node) const;
  // What the index says, in the form of `chunks`.
  std::vector<Chunk> Indexed() const;
  std::vector<Event> WithOp(log::Op op) const;
};

// Reads at most `limit` bytes of the file.
Log ReadLog(const std::string& path, std::uint64_t limit = ~std::uint64_t{0});
void AddDefinitions(const log::Definitions& definitions, Log* out);
// Expands the columns; empty when they do not have the same length.
std::vector<Event> ExpandEvents(const log::Events& columns);

// "function at file" for a code address of a module, from the module's symbol table; empty when
// there is none.
std::string FunctionAt(const Log& log, const StackNode& node);
// Whether some frame of the stack lies in a function whose name contains `name`.
bool StackHas(const Log& log, std::uint32_t stack, const std::string& name);

}  // namespace memprof::testing
