// Reads chunks, checks their sums, and spreads columns into events.
#include "tests/libmemprof/log/log_reader.h"

#include <elf.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include "proto/crc32c.h"
#include "proto/framing.h"
#include "tests/support/read_file.h"

namespace memprof::testing {
namespace {

std::string ReadUpTo(const std::string& path, std::uint64_t limit) {
  std::string bytes = ReadFile(path);
  if (bytes.size() > limit) bytes.resize(limit);
  return bytes;
}

bool Apply(log::ChunkKind kind, const std::string& payload, std::uint32_t events, Log* out) {
  switch (kind) {
    case log::ChunkKind::kHeader:
      return out->header.ParseFromString(payload);
    case log::ChunkKind::kDefinitions: {
      log::Definitions definitions;
      if (!definitions.ParseFromString(payload)) return false;
      AddDefinitions(definitions, out);
      return true;
    }
    case log::ChunkKind::kEvents: {
      log::Events columns;
      if (!columns.ParseFromString(payload) || columns.count() != events) return false;
      const std::vector<Event> expanded = ExpandEvents(columns);
      out->events.insert(out->events.end(), expanded.begin(), expanded.end());
      ++out->event_chunks;
      return expanded.size() == events;
    }
    case log::ChunkKind::kCounters: {
      log::Counters counters;
      if (!counters.ParseFromString(payload)) return false;
      out->counters.clear();
      for (const log::Counter& counter : counters.counter())
        out->counters[counter.name()] = counter.value();
      out->self = counters.self();
      return true;
    }
    case log::ChunkKind::kIndex:
      return out->index.ParseFromString(payload);
    case log::ChunkKind::kTrailer:
      out->has_trailer = true;
      return out->trailer.ParseFromString(payload);
    case log::ChunkKind::kSources:  // of `memprof run`, not of the recorder
      return true;
  }
  return false;
}

}  // namespace

std::vector<Event> ExpandEvents(const log::Events& columns) {
  const int count = static_cast<int>(columns.count());
  const auto fits = [count](const auto& column) {
    return column.empty() || column.size() == count;
  };
  if (!fits(columns.op()) || !fits(columns.layer()) || !fits(columns.time_delta()) ||
      !fits(columns.thread()) || !fits(columns.device_plus_1()) || !fits(columns.address_delta()) ||
      !fits(columns.bytes()) || !fits(columns.stack()) || !fits(columns.context()) ||
      !fits(columns.stream()) || !fits(columns.label()) || !fits(columns.api()) ||
      !fits(columns.result()) || !fits(columns.aux0_delta()) || !fits(columns.aux1_delta()) ||
      !fits(columns.weight()))
    return {};
  const auto at = [](const auto& column, int i) { return column.empty() ? 0 : column.Get(i); };
  std::vector<Event> events(columns.count());
  std::uint64_t time = columns.base_time_ns(), address = 0, aux0 = 0, aux1 = 0;
  for (int i = 0; i < count; ++i) {
    Event& event = events[static_cast<std::size_t>(i)];
    event.time_ns = time += static_cast<std::uint64_t>(at(columns.time_delta(), i));
    event.op = static_cast<log::Op>(at(columns.op(), i));
    event.layer = static_cast<log::Layer>(at(columns.layer(), i));
    event.thread = at(columns.thread(), i);
    event.device = static_cast<int>(at(columns.device_plus_1(), i)) - 1;
    event.address = address += static_cast<std::uint64_t>(at(columns.address_delta(), i));
    event.bytes = at(columns.bytes(), i);
    event.stack = at(columns.stack(), i);
    event.context = at(columns.context(), i);
    event.stream = at(columns.stream(), i);
    event.label = at(columns.label(), i);
    event.api = at(columns.api(), i);
    event.result = at(columns.result(), i);
    event.aux0 = aux0 += static_cast<std::uint64_t>(at(columns.aux0_delta(), i));
    event.aux1 = aux1 += static_cast<std::uint64_t>(at(columns.aux1_delta(), i));
    event.weight = at(columns.weight(), i);
  }
  return events;
}

void AddDefinitions(const log::Definitions& definitions, Log* out) {
  for (const auto& string : definitions.string()) out->strings[string.id()] = string.value();
  for (const auto& module : definitions.module()) out->modules[module.id()] = module;
  for (const auto& thread : definitions.thread()) out->threads[thread.id()] = thread;
  for (const auto& device : definitions.device()) out->devices[device.ordinal()] = device;
  for (const auto& context : definitions.context()) out->contexts[context.id()] = context;
  for (const auto& tensor : definitions.tensor()) out->tensors[tensor.id()] = tensor;
  for (const auto& frame : definitions.python_frame()) out->python_frames[frame.id()] = frame;
  for (const auto& pool : definitions.pool()) out->pools[pool.handle()] = pool;
  for (const auto& source : definitions.source()) out->sources.push_back(source);
  for (const auto& framework : definitions.framework()) out->frameworks.push_back(framework);
  const log::StackTrie& trie = definitions.trie();
  std::uint64_t address = 0;
  for (int i = 0; i < trie.parent_size(); ++i) {
    const bool python = i < trie.kind_size() && trie.kind(i) == log::FRAME_PYTHON;
    const auto delta = static_cast<std::uint64_t>(trie.address_delta(i));
    if (!python) address += delta;
    out->nodes[trie.first_id() + static_cast<std::uint32_t>(i)] = {
        trie.parent(i), python ? delta : address, i < trie.module_size() ? trie.module(i) : 0,
        python};
  }
}

Log ReadLog(const std::string& path, std::uint64_t limit) {
  Log out;
  const std::string bytes = ReadUpTo(path, limit);
  log::FileHeader header;
  if (bytes.size() < sizeof header || std::memcmp(bytes.data(), log::kMagic, 8) != 0) {
    out.error = "no memprof log";
    return out;
  }
  std::size_t at = sizeof header;
  while (at < bytes.size()) {
    out.good_bytes = at;
    log::ChunkFrame frame;
    if (bytes.size() - at < sizeof frame) {
      out.error = "cut in a frame";
      return out;
    }
    std::memcpy(&frame, bytes.data() + at, sizeof frame);
    if (frame.sync != log::kChunkSync || bytes.size() - at - sizeof frame < frame.stored_bytes) {
      out.error = "cut in a payload";
      return out;
    }
    const char* stored = bytes.data() + at + sizeof frame;
    std::uint32_t crc = log::Crc32c(&frame, offsetof(log::ChunkFrame, crc32c));
    crc = log::Crc32c(stored, frame.stored_bytes, crc);
    std::string payload(frame.raw_bytes, '\0');
    const bool zstd = (frame.flags & log::kChunkZstd) != 0;
    if (crc != frame.crc32c || (zstd && ZSTD_decompress(payload.data(), payload.size(), stored,
                                                        frame.stored_bytes) != payload.size())) {
      out.error = "bad chunk";
      return out;
    }
    if (!zstd) payload.assign(stored, frame.stored_bytes);
    if (!Apply(static_cast<log::ChunkKind>(frame.kind), payload, frame.events, &out)) {
      out.error = "bad message of kind " + std::to_string(frame.kind);
      return out;
    }
    out.chunks.push_back({at, frame.kind, frame.events});
    at += sizeof frame + frame.stored_bytes;
  }
  out.good_bytes = at;
  return out;
}

std::vector<Event> Log::ByTime() const {
  std::vector<Event> sorted = events;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Event& a, const Event& b) { return a.time_ns < b.time_ns; });
  return sorted;
}

std::vector<Log::Chunk> Log::Indexed() const {
  std::vector<Chunk> indexed;
  for (const log::IndexEntry& entry : index.chunk())
    indexed.push_back({entry.offset(), entry.kind(), entry.events()});
  return indexed;
}

std::string Log::Text(std::uint32_t string_id) const {
  const auto found = strings.find(string_id);
  return found == strings.end() ? "" : found->second;
}

std::vector<StackNode> Log::Stack(std::uint32_t node) const {
  std::vector<StackNode> stack;
  for (auto found = nodes.find(node); found != nodes.end();
       found = nodes.find(found->second.parent))
    stack.push_back(found->second);
  return stack;
}

std::vector<Event> Log::WithOp(log::Op op) const {
  std::vector<Event> chosen;
  for (const Event& event : events)
    if (event.op == op) chosen.push_back(event);
  return chosen;
}

std::string FunctionAt(const Log& log, const StackNode& node) {
  const auto module = log.modules.find(node.module);
  if (module == log.modules.end()) return "";
  const std::string elf = ReadFile(module->second.path());
  Elf64_Ehdr header;
  if (elf.size() < sizeof header) return "";
  std::memcpy(&header, elf.data(), sizeof header);
  const std::uint64_t address = node.address - module->second.load_bias();
  for (int s = 0; s < header.e_shnum; ++s) {
    Elf64_Shdr section, names;
    std::memcpy(&section, elf.data() + header.e_shoff + std::size_t(s) * sizeof section,
                sizeof section);
    if (section.sh_type != SHT_SYMTAB) continue;
    std::memcpy(&names, elf.data() + header.e_shoff + section.sh_link * sizeof names, sizeof names);
    for (std::size_t at = 0; at < section.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, elf.data() + section.sh_offset + at, sizeof symbol);
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && address >= symbol.st_value &&
          address < symbol.st_value + symbol.st_size)
        return elf.c_str() + names.sh_offset + symbol.st_name;
    }
  }
  return "";
}

bool StackHas(const Log& log, std::uint32_t stack, const std::string& name) {
  for (const StackNode& node : log.Stack(stack))
    if (FunctionAt(log, node).find(name) != std::string::npos) return true;
  return false;
}

}  // namespace memprof::testing
