// Runs the command on logs that tests write, and compares what it prints with golden files.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/testing/log_builder.h"
#include "tests/support/temp_file.h"

namespace memprof::cli::testing {

using Json = nlohmann::json;

inline constexpr std::uint64_t kMiB = 1 << 20;

struct Result {
  int status = -1;  // exit status, or 128 + signal
  std::string out, err;
};

// Runs build/bin/memprof with `arguments` in `directory`, without a terminal. `environment` holds
// "NAME=value".
Result Memprof(const std::vector<std::string>& arguments, const std::string& directory = ".",
               const std::vector<std::string>& environment = {});

// The kinds of the command's output streams.
struct Streams {
  enum class Out { kFile, kTerminal, kClosedPipe, kClosed, kFullDisk };
  Out out = Out::kFile;       // of standard output
  bool err_terminal = false;  // standard error is a terminal, in place of a file
  // Limits, 0 = none: bytes in a file, seconds of processor time, bytes of address space.
  std::uint64_t file_limit = 0, cpu_limit = 0, address_limit = 0;
};
// The same with other kinds of streams. Output on a terminal is also in `out` and `err`, with
// "\r\n" as on terminals.
Result MemprofOn(const Streams& streams, const std::vector<std::string>& arguments,
                 const std::string& directory = ".",
                 const std::vector<std::string>& environment = {});

// Compares `text` with tests/cli/golden/`name`; with MEMPROF_UPDATE_GOLDEN=1 writes the file.
void ExpectGolden(const std::string& name, const std::string& text);

// A directory with "train.mprof" (see WriteTraining), "raw.mprof" (no steps, no allocator, not
// closed), "shared.mprof" (see WriteShared), "alike.mprof" (see WriteAlike), "serve.mprof" (see
// WriteServing), "pools.mprof" (see WritePools), and "ours.supp", which suppresses the leak in the
// first log.
class Logs {
 public:
  Logs();
  const std::string& path() const { return path_; }
  const analysis::testing::TempDirectory& directory() const { return directory_; }

 private:
  analysis::testing::TempDirectory directory_;
  std::string path_;
};

// A training run of 40 steps on two devices: an allocator with tensors and fragmentation, a leak of
// 1 MiB per step in "HistoryLeak (history.cc:42)", pinned memory, a failed allocation.
void WriteTraining(analysis::testing::LogBuilder& log);
// Four devices of the stand-in, of which one has more.
void WriteAlike(analysis::testing::LogBuilder& log);
// Driver memory only.
void WriteRaw(analysis::testing::LogBuilder& log);
// An allocator with a chosen private pool, whose memory is idle, and one of a capture.
void WritePools(analysis::testing::LogBuilder& log);
void WriteStreams(analysis::testing::LogBuilder& log);

// A process that shares its device with others: it imports memory and closes some of it, loads a
// module, launches a graph, gives advice on managed memory, and queries the used memory.
void WriteShared(analysis::testing::LogBuilder& log);
// A server with 1,200 blocks of its KV cache, of which 144 were in use at most.
void WriteServing(analysis::testing::LogBuilder& log);

}  // namespace memprof::cli::testing
