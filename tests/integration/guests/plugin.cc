// A library that a guest loads, calls to allocate through a function of the guest, and unloads.
extern "C" __attribute__((visibility("default"))) void* plugin_allocate(
    void* (*allocate)(unsigned long), unsigned long bytes) {
  void* memory = allocate(bytes);
  asm volatile("" : : "r"(memory) : "memory");  // no tail call: this frame must be in the stack
  return memory;
}
