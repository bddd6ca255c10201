// Memory that processes exported by IPC, and which processes of the session opened it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "analysis/leaks/holders.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

// What one process opened of some exported memory.
struct Opened {
  std::uint32_t process = 0;  // a row of processes()
  bool closed = false;        // all of it
  TimeNs closed_time = 0;     // of the last that it closed
};

// Of some allocations, those that lie in exported memory.
struct Exported {
  std::uint64_t blocks = 0;
  std::vector<Opened> opened;   // by process
  std::vector<Holder> holders;  // in those processes, as Holders::Of
};

class Exports {
 public:
  explicit Exports(const Session& session);

  Exported Of(std::span<const AllocationId> ids) const;

 private:
  std::vector<Opened> OpenedBy(const std::vector<AllocationId>& imports) const;

  const Session& session_;
  const bool any_;
  std::map<std::uint64_t, std::vector<AllocationId>> imports_;  // by number of the handle
};

// Computed once a session.
std::shared_ptr<const Exports> ExportsOf(const Session& session);

// As a sentence; "" if nothing was exported. `of`: how many allocations were asked for.
std::string ExportedWords(const Session& session, const Exported& exported, std::uint64_t of);

}  // namespace memprof::analysis
