// Device memory without contents (SIMCUDA=contents=none): unknown bytes read as zeros. Only small
// writes are stored, until a kernel is launched that might overwrite them.
#ifndef SIMCUDA_DRIVER_CONTENTS_H
#define SIMCUDA_DRIVER_CONTENTS_H

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace memprof::simcuda {

// Known bytes by address. Thread-safe.
class KnownBytes {
 public:
  static constexpr size_t kMaxWrite = size_t{1} << 20;  // larger writes make their range unknown
  static constexpr size_t kMaxPages = 4096;             // beyond 16 MiB everything is dropped

  void Write(uint64_t address, const void* from, size_t bytes);
  void Fill(uint64_t address, uint8_t value, size_t bytes);
  void Forget(uint64_t address, size_t bytes);
  // Unknown bytes are zeros.
  void Read(uint64_t address, void* to, size_t bytes) const;
  // Whether any of these bytes is known.
  bool Knows(uint64_t address, size_t bytes) const;
  void Clear();
  size_t pages() const;

 private:
  static constexpr size_t kPage = 4096;
  struct Page {
    std::array<uint8_t, kPage> bytes{};
    std::bitset<kPage> known;
  };
  Page& PageOf(uint64_t index);  // with the lock held
  void ForgetLocked(uint64_t address, size_t bytes);

  mutable std::mutex mutex_;
  std::map<uint64_t, Page> pages_;
};

// Whether device memory stores what is written to it, by the configuration at the first call.
bool DeviceKeepsContents();
// The known bytes of this process, if it does not.
KnownBytes& DeviceContents();
// A kernel was launched that may write anywhere, or a graph.
inline void KernelRan() {
  if (!DeviceKeepsContents()) DeviceContents().Clear();
}

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_CONTENTS_H
