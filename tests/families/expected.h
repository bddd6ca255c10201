// Guests print each call that the log must contain, one line each:
//
//   call OP LAYER DEVICE ADDRESS BYTES API LINE
//
// with the names of `memprof dump`. LINE is that of the call, 0 for events without a stack; DEVICE
// is -1 for host memory and for memory that is on no device.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string_view>

// The line of the latest call.
inline int g_line = 0;
// In programs that print something else.
inline bool g_silent = false;

// Frees, maps and ends carry no stack.
inline bool HasStack(std::string_view op) {
  return op == "alloc" || op == "alloc_failed" || op == "context_create" || op == "module_load" ||
         op == "pool_create" || op == "prefetch" || op == "advise" || op == "discard" ||
         op == "checkpoint" || op == "exported";
}

template <typename Address>
unsigned long long NumberOf(Address address) {
  return (unsigned long long)(address);  // a pointer, a handle or a number
}

template <typename Address>
void Expect(const char* op, const char* layer, int device, Address address, std::uint64_t bytes,
            const char* api) {
  if (g_silent) return;
  std::printf("call %s %s %d %llx %llu %s %d\n", op, layer, device, NumberOf(address),
              static_cast<unsigned long long>(bytes), api, HasStack(op) ? g_line : 0);
  std::fflush(stdout);
}

// Memory that ended with its context, for the reason `context` or `reset`: no call freed it.
template <typename Address>
void ExpectEnd(const char* reason, const char* layer, int device, Address address,
               std::uint64_t bytes) {
  if (g_silent) return;
  std::printf("end %s %s %d %llx %llu\n", reason, layer, device, NumberOf(address),
              static_cast<unsigned long long>(bytes));
}
