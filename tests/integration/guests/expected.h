// What a guest says of each call that the log must show, one line each:
//
//   call OP LAYER DEVICE ADDRESS BYTES API LINE
//
// in the words of `memprof dump`. LINE is that of the call, 0 where the event needs no stack;
// DEVICE is -1 for the host's memory and for what is on no device.
#pragma once

#include <cstdint>
#include <cstdio>

template <typename Address>
unsigned long long NumberOf(Address address) {
  return (unsigned long long)(address);  // a pointer, a handle or a number
}

template <typename Address>
void Expect(const char* op, const char* layer, int device, Address address, std::uint64_t bytes,
            const char* api, int line = 0) {
  std::printf("call %s %s %d %llx %llu %s %d\n", op, layer, device, NumberOf(address),
              static_cast<unsigned long long>(bytes), api, line);
  std::fflush(stdout);
}
