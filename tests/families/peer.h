// A second process of this program, for memory that two processes share.
#pragma once

#include <cstddef>
#include <stdexcept>

// What a second process has in place of the program's name; its only argument is its part.
inline constexpr char kPeerName[] = "peer";

// Starts it, before the driver is opened, as launchers of workers do. If it is recorded, its log is
// peer.mprof, and it prints to peer.out. It is told that this process has ended, and waited for.
void StartPeer(const char* part, bool recorded);
// Waits until it has ended by itself.
void WaitForPeer();

// To and from the other process: bytes and, unless it is negative, a descriptor.
void Put(const void* data, std::size_t size, int file);
bool Get(void* data, std::size_t size, int* file = nullptr);  // false if the other process ended

template <typename Value>
void Send(const Value& value, int file = -1) {
  Put(&value, sizeof value, file);
}

template <typename Value>
Value Receive(int* file = nullptr) {
  Value value;
  if (!Get(&value, sizeof value, file)) throw std::runtime_error("the other process is gone");
  return value;
}
