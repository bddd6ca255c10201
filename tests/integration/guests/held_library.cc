// A library with a structure that holds device memory at offset 0x40, for guest_held.
struct LibraryCache {
  unsigned long long others[8];
  unsigned long long held;
};
extern "C" {
LibraryCache g_library_cache;
void held_library_keep(unsigned long long address) { g_library_cache.held = address; }
}
