// Calls between libraries go through slots that the loader has filled in: changes the slots of one
// function, for a recorder that was loaded too late to be found first.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof::recorder {

// A slot that was changed, and what was in it.
struct CallSlot {
  void** place = nullptr;
  void* before = nullptr;
};

// Makes every call of `name` from another library reach `to`, unless it does already; slots of
// libraries that define `name` themselves are left alone. Adds the changed ones to `slots`, of
// which
// `*count` are in use; without room the rest is left. A slot is changed by one store, with the
// rights of its page as they were before and after. Takes the lock of the loader's list.
void RedirectCalls(const char* name, void* to, CallSlot* slots, std::size_t room,
                   std::size_t* count);

// Whether the loader protects the page of `place`, in pages of `page` bytes: it rounds both ends of
// RELRO down, so what shares the last page with data stays writable.
bool IsProtected(std::uintptr_t relro, std::size_t bytes, std::uintptr_t place, std::size_t page);

// Puts back what was there, where nobody else has changed the slot since, and empties the list.
void RestoreCalls(void* to, CallSlot* slots, std::size_t* count);

}  // namespace memprof::recorder
