// The size of device code as it is handed to cuModuleLoadData: of an ELF file (cubin) or a fat
// binary, from their own headers, laid out as in elf.h and the toolkit's fatbinary_section.h; and
// of PTX, which is a text with an end.
#pragma once

#include <cstdint>

namespace memprof::recorder {

// 0 where the image is of another kind. Reads only what the driver has accepted or had no memory
// for, and may take as long as reading the whole of a text.
std::uint64_t ImageBytes(const void* image);

}  // namespace memprof::recorder
