// Entry for libFuzzer: ninja fuzz_log && bin/fuzz_log CORPUS
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/one_log.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  memprof::fuzz::ReadOneLog({reinterpret_cast<const char*>(data), size});
  return 0;
}
