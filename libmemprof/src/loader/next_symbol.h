// Finds the definition of a symbol that comes after this library in the loader's search order,
// without dlsym: it is used to find the real dlsym.
#pragma once

#include <cstdint>

namespace memprof::recorder {

// The address of the first global definition of `name`, in any version, in a library that was
// loaded after this one; null if there is none. dlvsym(RTLD_NEXT) would skip other interposers,
// whose definitions have no version. `after`: an address within the library after which the search
// starts; null = this one.
void* NextDefinition(const char* name, const void* after = nullptr);

// The first definition in any library but this one. For a library that was loaded late, as the
// driver's injection library is: libc then comes before it in the order.
void* FirstDefinition(const char* name);

// The definition in one library, given its load bias and its dynamic section; null if there is
// none.
void* DefinitionIn(std::uintptr_t bias, const void* dynamic, const char* name);

// Whether the library of the code at `first` precedes that of `second` in that order.
bool Precedes(const void* first, const void* second);

}  // namespace memprof::recorder
