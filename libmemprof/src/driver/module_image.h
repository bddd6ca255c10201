// The size of device code that is passed to cuModuleLoadData: of an ELF file (cubin) or a fat
// binary from their headers, as in elf.h and the toolkit's fatbinary_section.h; of PTX, a
// zero-terminated text, from its length.
#pragma once

#include <cstdint>

namespace memprof::recorder {

// 0 for images of another kind. Only for images that the driver has accepted, or rejected for lack
// of memory; may read the whole of a text.
std::uint64_t ImageBytes(const void* image);

}  // namespace memprof::recorder
