// Entry for libFuzzer; how to build and run it is in docs/log-format.md.
#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/fuzz/one_log.h"
#include "tests/fuzz/signing.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  memprof::fuzz::ReadOneLog(bytes);
  for (const auto& place : memprof::fuzz::Chunks(bytes)) memprof::fuzz::Sign(&bytes, place);
  memprof::fuzz::ReadOneLog(bytes);
  return 0;
}
