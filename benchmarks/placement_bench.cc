// Compares offline placement with its bound: one line for each file of buffers.
//
//     placement_bench [--seconds=S] [--threads=N] FILE...
//
// A file has a header line and lines "id,lower,upper,size" in an order that the header says: alive
// from lower to before upper, size in bytes.
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/placement/placement.h"

namespace {

using memprof::analysis::PlacementBuffer;

std::vector<std::string_view> Cells(std::string_view line) {
  std::vector<std::string_view> cells;
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
  for (;;) {
    const std::size_t comma = line.find(',');
    cells.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

// False, after a line on standard error, if the file is invalid.
bool Read(const char* path, std::vector<PlacementBuffer>* buffers) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) {
    std::fprintf(stderr, "placement_bench: %s: cannot be read or is empty\n", path);
    return false;
  }
  const std::string header = line;
  const auto names = Cells(header);
  for (std::size_t row = 2; std::getline(file, line); ++row) {
    const auto cells = Cells(line);
    PlacementBuffer buffer;
    for (std::size_t i = 0; i < cells.size() && i < names.size(); ++i) {
      std::uint64_t* field = names[i] == "lower"   ? &buffer.begin
                             : names[i] == "upper" ? &buffer.end
                             : names[i] == "size"  ? &buffer.bytes
                                                   : nullptr;
      if (field == nullptr) continue;
      const auto [end, error] =
          std::from_chars(cells[i].data(), cells[i].data() + cells[i].size(), *field);
      if (error != std::errc() || end != cells[i].data() + cells[i].size()) {
        std::fprintf(stderr, "placement_bench: %s:%zu: '%s' is no number\n", path, row,
                     std::string(cells[i]).c_str());
        return false;
      }
    }
    buffers->push_back(buffer);
  }
  return true;
}

bool Run(const char* path, const memprof::analysis::PlacementOptions& options) {
  std::vector<PlacementBuffer> buffers;
  if (!Read(path, &buffers)) return false;
  const auto start = std::chrono::steady_clock::now();
  const auto placed = memprof::analysis::PlaceBuffers(buffers, options);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  const std::string conflict =
      memprof::analysis::PlacementConflict(buffers, placed.addresses, placed.height);
  std::string_view name(path);
  name = name.substr(name.rfind('/') + 1);
  std::printf("%-22s %7zu buffers  bound %14llu  height %14llu  ratio %.4f  %6.2f s  %s (%llu)%s\n",
              std::string(name).c_str(), buffers.size(),
              static_cast<unsigned long long>(placed.bound),
              static_cast<unsigned long long>(placed.height), 1 + placed.gap(), took.count(),
              placed.found_by.c_str(), static_cast<unsigned long long>(placed.arrangements),
              conflict.empty() ? "" : ("  WRONG: " + conflict).c_str());
  std::fflush(stdout);
  return conflict.empty();
}

}  // namespace

int main(int argc, char** argv) {
  memprof::analysis::PlacementOptions options;
  options.seconds = 5;
  bool fine = argc > 1;
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--seconds=", 10) == 0) {
      options.seconds = std::atof(argv[i] + 10);
    } else if (std::strncmp(argv[i], "--threads=", 10) == 0) {
      options.threads = std::atoi(argv[i] + 10);
    } else {
      fine = Run(argv[i], options) && fine;
    }
  }
  if (argc == 1)
    std::fprintf(stderr, "usage: placement_bench [--seconds=S] [--threads=N] FILE...\n");
  return fine ? 0 : 1;
}
