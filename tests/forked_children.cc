// Linked into every test program and guest that AddressSanitizer watches.
//
// A child made by fork() has one thread, but also every lock that the others held at that moment,
// the sanitizer's allocator's among them. LeakSanitizer takes that lock when the process exits, and
// in such a child would wait for ever. The parent is checked all the same.
#include <unistd.h>

namespace {
const pid_t g_loaded_by = getpid();
}  // namespace

// Asked by LeakSanitizer before each check (sanitizer/lsan_interface.h); not 0 means none.
extern "C" int __lsan_is_turned_off() { return getpid() != g_loaded_by; }
