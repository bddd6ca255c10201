// Writes logs to a folder:
//   fuzz_seeds FOLDER                 a corpus to start libFuzzer from
//   fuzz_seeds FOLDER crafted SCALE   extreme logs
//   fuzz_seeds FOLDER fit BYTES       extreme logs, each as extreme as fits
//   fuzz_seeds FOLDER mutated COUNT   damaged logs
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <utility>

#include "tests/fuzz/crafted_logs.h"
#include "tests/fuzz/mutations.h"
#include "tests/fuzz/rich_log.h"

namespace {

void Write(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  if (file << bytes) return;
  std::fprintf(stderr, "fuzz_seeds: cannot write %s\n", path.c_str());
  std::exit(1);
}

void WriteCorpus(const std::string& folder) {
  std::mt19937 random(1);
  for (int i = 0; i < 64; ++i) {
    // Mostly uncompressed: a mutation of compressed bytes rarely decompresses.
    const std::string bytes = memprof::fuzz::RichLog(random, 5 << (i % 5),
                                                     {.events_per_chunk = 16,
                                                      .compress = i % 8 == 7,
                                                      .trailer = i % 3 != 0,
                                                      .index = i % 2 == 0});
    Write(folder + "/seed-" + std::to_string(i), bytes);
  }
}

// Doubles the scale while the log has at most `most` bytes, up to a scale of a million.
std::string CraftedWithin(const std::string& name, std::size_t most) {
  std::string bytes;
  for (int scale = 2000; scale <= 1'024'000; scale *= 2) {
    std::string larger = memprof::fuzz::CraftedBytes(name, scale);
    if (larger.size() > most) break;
    bytes = std::move(larger);
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "", what = argc > 2 ? argv[2] : "corpus";
  const int count = argc > 3 ? std::atoi(argv[3]) : 0;
  if (argc == 2) {
    WriteCorpus(folder);
  } else if (argc == 4 && what == "crafted" && count >= 100) {
    for (const std::string& name : memprof::fuzz::CraftedNames())
      Write(folder + "/" + name + ".mprof", memprof::fuzz::CraftedBytes(name, count));
  } else if (argc == 4 && what == "fit") {
    for (const std::string& name : memprof::fuzz::CraftedNames())
      Write(folder + "/" + name + ".mprof", CraftedWithin(name, static_cast<std::size_t>(count)));
  } else if (argc == 4 && what == "mutated") {
    std::mt19937 random(1);
    for (int i = 0; i < count; ++i)
      Write(folder + "/" + std::to_string(i) + ".mprof", memprof::fuzz::MutatedLog(random));
  } else {
    std::fputs("usage: fuzz_seeds FOLDER [crafted SCALE | fit BYTES | mutated COUNT]\n", stderr);
    return 2;
  }
  return 0;
}
