// Finds the definition of a symbol that comes after this library in the loader's search order,
// without calling dlsym: that is what it is used to find.
#pragma once

#include <cstdint>

namespace memprof::recorder {

// The address of the first global definition of `name`, in any version, in a library loaded after
// this one; null if there is none. dlvsym(RTLD_NEXT) would skip other interposers, whose
// definitions have no version. `after` is an address within the library to start behind; null =
// this one.
void* NextDefinition(const char* name, const void* after = nullptr);

// The first in any library but this one: for a library that was loaded late, as the driver's
// injection is, with libc far in front of it.
void* FirstDefinition(const char* name);

// The definition in one library, given its load bias and its dynamic section; null if there is
// none.
void* DefinitionIn(std::uintptr_t bias, const void* dynamic, const char* name);

// Whether the code at `first` belongs to a library that precedes that of `second` in that order.
bool Precedes(const void* first, const void* second);

}  // namespace memprof::recorder
