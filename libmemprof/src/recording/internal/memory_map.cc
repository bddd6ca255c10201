// Reads mappings, modules, threads and heaps of this process.
#include "libmemprof/src/recording/internal/memory_map.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>

#include "libmemprof/src/arch/arch.h"
#include "libmemprof/src/base/folder.h"
#include "libmemprof/src/base/loader_gate.h"
#include "libmemprof/src/recording/thread.h"

namespace memprof::recorder {
namespace {

constexpr std::uint64_t kPiece = 65536;
constexpr std::uint64_t kSetAside = std::uint64_t{1} << 40;  // as in a pass
constexpr std::uint64_t kDescriptionBytes = 2304;            // glibc's struct pthread, on x86-64
constexpr std::uint64_t kDescriptionAlignment = 64;
constexpr std::uint64_t kMostStack = std::uint64_t{64} << 20;  // that is searched for its thread

// The stack pointer of a thread that waits; 0 if it runs.
std::uint64_t StackPointerOf(std::uint32_t tid) {
  char text[256];
  snprintf(text, sizeof text, "/proc/self/task/%u/syscall", tid);
  const int file = open(text, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t got = read(file, text, sizeof text - 1);
  close(file);
  if (got <= 0) return 0;
  text[got] = '\0';
  // "… 0x<stack pointer> 0x<instruction>"
  char* last = strrchr(text, ' ');
  if (last == nullptr) return 0;
  *last = '\0';
  const char* before = strrchr(text, ' ');
  return before == nullptr ? 0 : strtoull(before + 1, nullptr, 16);
}

}  // namespace

bool MemoryMap::ReadLines() {
  MapsReader maps;
  if (!maps.ok()) return false;
  MapsReader::Line line;
  while (maps.Next(&line)) {
    if (!line.wanted) continue;
    const auto path = static_cast<std::uint32_t>(paths_.size());
    paths_.Append(line.path, strlen(line.path) + 1);
    lines_.Append({line.begin, line.end, path});
  }
  return !lines_.failed() && !paths_.failed();
}

const MemoryMap::Line* MemoryMap::LineOf(std::uint64_t address) const {
  const Line* after =
      std::upper_bound(lines_.begin(), lines_.end(), address,
                       [](std::uint64_t value, const Line& line) { return value < line.begin; });
  return after != lines_.begin() && address < (after - 1)->end ? after - 1 : nullptr;
}

std::uint64_t MemoryMap::FindThreadPointer(std::uint64_t from, std::uint64_t end) {
  const OwnArray<std::uint64_t> piece(kPiece / sizeof(std::uint64_t));
  if (!arch::kThreadsPointToThemselves || piece.get() == nullptr) return 0;
  MemoryReader memory;
  from = from / kDescriptionAlignment * kDescriptionAlignment;
  while (from < end) {
    const ssize_t got = memory.Read(from, piece.get(), std::min(kPiece, end - from));
    if (got <= 0) return 0;
    const std::uint64_t words = static_cast<std::uint64_t>(got) / sizeof(std::uint64_t);
    for (std::uint64_t i = 0; i + 2 < words; i += kDescriptionAlignment / sizeof(std::uint64_t)) {
      const std::uint64_t at = from + i * sizeof(std::uint64_t);
      if (piece.get()[i] == at && piece.get()[i + 2] == at) return at;
    }
    from += static_cast<std::uint64_t>(got);
  }
  return 0;
}

// The loader maps the main thread's description, apart from its stack.
std::uint64_t MemoryMap::FindMainThreadPointer() {
  for (const Line& line : lines_) {
    if (paths_[line.path] != '\0' || line.end - line.begin > kPiece) continue;
    if (const std::uint64_t found = FindThreadPointer(line.begin, line.end); found != 0)
      return found;
  }
  return 0;
}

// Only where nothing but its stack lies below `thread.sp`, and above it as far as is known.
void MemoryMap::AddThread(const Thread& thread) {
  const Line* line = LineOf(thread.sp);
  const char* path = line == nullptr ? "" : paths_.data() + line->path;
  bool whole = strcmp(path, "[stack]") == 0;
  if (line != nullptr && path[0] == '\0')
    whole = arch::kThreadsPointToThemselves
                ? thread.pointer > thread.sp && thread.pointer < line->end
                : line->end - line->begin <= kMostStack;
  threads_.Append({whole ? thread.sp : 0, thread.pointer, thread.tid});
}

bool MemoryMap::ReadThreads(std::uint64_t frame) {
  const auto self = reinterpret_cast<std::uint64_t>(pthread_self());
  AddThread({frame, arch::kThreadsPointToThemselves ? self : 0, CurrentTid()});
  if (threads_.empty()) return false;
  static_bytes_ = modules_.StaticBytes(threads_[0].pointer);
  ForEachEntry("/proc/self/task", [&](int, const char* name) {
    const auto tid = static_cast<std::uint32_t>(strtoul(name, nullptr, 10));
    if (tid == 0 || tid == threads_[0].tid) return;
    const std::uint64_t sp = StackPointerOf(tid);
    const Line* line = LineOf(sp);
    if (line == nullptr) return;
    std::uint64_t pointer = FindThreadPointer(sp, std::min(line->end, sp + kMostStack));
    if (pointer == 0 && tid == static_cast<std::uint32_t>(getpid()))
      pointer = FindMainThreadPointer();
    AddThread({sp, pointer, tid});
  });
  return !threads_.failed();
}

bool MemoryMap::Read(std::uint64_t frame, const MappedChunk* chunks, std::size_t chunk_count) {
  if (!ReadLines()) return false;
  {
    const LoaderSection section(LoaderFlagHere());
    if (!modules_.Read()) return false;
  }
  if (!ReadThreads(frame)) return false;
  for (const Line& line : lines_) {
    const char* path = paths_.data() + line.path;
    if (strcmp(path, "[heap]") == 0)
      heap_.AddMainHeap(line.begin, line.end);
    else if (path[0] == '\0' && line.end - line.begin < kSetAside)
      heap_.AddArenas(line.begin, line.end);
  }
  heap_.SetMapped(chunks, chunk_count);
  return true;
}

Spot MemoryMap::OfModule(const ModuleData::Spot& found, Spot::Kind kind) const {
  Spot spot;
  switch (found.module->owner) {
    case ModuleData::Owner::kProgram:
      spot.kind = kind;
      spot.module = found.module;
      spot.offset = found.offset;
      break;
    case ModuleData::Owner::kDriver:
      spot.kind = Spot::Kind::kDriver;
      break;
    case ModuleData::Owner::kNobody:
      break;
  }
  return spot;
}

// Whether it lies in the memory of a thread.
bool MemoryMap::FindInThreads(std::uint64_t address, const Line& line, Spot* spot) const {
  for (const Thread& thread : threads_) {
    const std::uint64_t pointer = thread.pointer;
    if (pointer != 0 && address < pointer + kDescriptionBytes &&
        address + static_bytes_ >= pointer) {
      if (address >= pointer) {
        spot->kind = Spot::Kind::kThreadLocal;
        return true;
      }
      const ModuleData::Spot found =
          modules_.FindThreadLocal(address, pointer, threads_[0].pointer);
      if (found.module != nullptr) *spot = OfModule(found, Spot::Kind::kThreadLocal);
      return true;
    }
    const bool same = thread.sp >= line.begin && thread.sp < line.end;
    if (!same || (pointer > thread.sp && address >= pointer)) continue;
    if (address >= thread.sp) {
      if (pointer <= thread.sp && address - thread.sp > kMostStack) continue;
      spot->kind = Spot::Kind::kStack;
      spot->number = thread.tid;
    }
    return true;
  }
  return false;
}

Spot MemoryMap::Find(std::uint64_t address) {
  Spot spot;
  if (const ModuleData::Spot found = modules_.Find(address); found.module != nullptr)
    return OfModule(found, Spot::Kind::kGlobal);
  const Line* line = LineOf(address);
  if (line == nullptr) return spot;
  const ModuleData::Spot local = modules_.FindThreadLocal(address, 0, 0);
  if (local.module != nullptr) return OfModule(local, Spot::Kind::kThreadLocal);
  if (FindInThreads(address, *line, &spot)) return spot;
  spot.number = static_cast<std::uint32_t>(line - lines_.begin());
  switch (heap_.Find(address, &spot.block)) {
    case HeapBlocks::Place::kInUse:
      spot.kind = Spot::Kind::kBlock;
      return spot;
    case HeapBlocks::Place::kFree:
      return spot;
    case HeapBlocks::Place::kUnknown:
      spot.kind = Spot::Kind::kHeap;
      return spot;
    case HeapBlocks::Place::kElsewhere:
      break;
  }
  const char* path = paths_.data() + line->path;
  if (path[0] != '/')
    spot.kind = Spot::Kind::kAnonymous;
  else if (OwnerOfFile(path) == ModuleData::Owner::kProgram)
    spot.kind = Spot::Kind::kFile;
  else if (OwnerOfFile(path) == ModuleData::Owner::kDriver)
    spot.kind = Spot::Kind::kDriver;
  return spot;
}

}  // namespace memprof::recorder
