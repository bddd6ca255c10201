// The size of device code as it is handed to cuModuleLoadData: of an ELF file (cubin) or a fat
// binary, from their own headers. Laid out as in elf.h and the toolkit's fatbinary_section.h.
#pragma once

#include <cstdint>

namespace memprof::recorder {

// 0 where the image is of another kind. Reads only headers that the driver has accepted.
std::uint64_t ImageBytes(const void* image);

}  // namespace memprof::recorder
