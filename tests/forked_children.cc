// Linked into every test program and guest that AddressSanitizer watches.
//
// A child made by fork() has one thread, but inherits every lock that other threads held at that
// moment, the sanitizer's allocator lock among them. LeakSanitizer takes that lock when the process
// exits, so such a child would wait forever. The parent is still checked.
#include <unistd.h>

namespace {
const pid_t g_loaded_by = getpid();
}  // namespace

// LeakSanitizer calls this before each check (sanitizer/lsan_interface.h); nonzero disables the
// check.
extern "C" int __lsan_is_turned_off() { return getpid() != g_loaded_by; }
