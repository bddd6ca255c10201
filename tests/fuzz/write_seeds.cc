// Writes a corpus to start libFuzzer from: fuzz_seeds FOLDER
#include <cstdio>
#include <fstream>
#include <random>
#include <string>

#include "tests/fuzz/rich_log.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: fuzz_seeds FOLDER\n", stderr);
    return 2;
  }
  std::mt19937 random(1);
  for (int i = 0; i < 64; ++i) {
    // Mostly uncompressed: a mutation of compressed bytes rarely decompresses.
    const std::string bytes = memprof::fuzz::RichLog(random, 5 << (i % 5),
                                                     {.events_per_chunk = 16,
                                                      .compress = i % 8 == 7,
                                                      .trailer = i % 3 != 0,
                                                      .index = i % 2 == 0});
    std::ofstream file(std::string(argv[1]) + "/seed-" + std::to_string(i), std::ios::binary);
    if (!(file << bytes)) {
      std::fprintf(stderr, "fuzz_seeds: cannot write to %s\n", argv[1]);
      return 1;
    }
  }
  return 0;
}
