// Texts, which NVTX passes in one of several forms.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libmemprof/src/base/locks.h"

namespace memprof::recorder {

// A text in UTF-8 on the stack, cut where it is long.
class NvtxText {
 public:
  void Append(const char* text, std::size_t length);
  void Append(const char* text);
  void Append(const wchar_t* text);
  // `type` is one of nvtx::MessageType, `value` the value of NVTX's union.
  void AppendMessage(std::int32_t type, const void* value);
  const char* data() const { return data_; }
  std::size_t size() const { return size_; }
  const char* Terminated() {
    data_[size_] = 0;
    return data_;
  }

 private:
  static constexpr std::size_t kMax = 1024;
  char data_[kMax + 1];
  std::size_t size_ = 0;
};

// Names of domains or registered strings. They are never removed, because NVTX keeps the handles,
// which are numbers from 1. Names beyond the limit are lost. No destructor: NVTX may call after it.
class NvtxNames {
 public:
  using Lock = Mutex<LockRank::kNvtxNames>;
  explicit constexpr NvtxNames(Lock* mutex) : mutex_(*mutex) {}
  // The new handle; null when there is no room.
  void* Add(const char* name);
  void* Add(const wchar_t* name);
  void Append(const void* handle, NvtxText* out);

 private:
  static constexpr std::uint32_t kMax = 1u << 14;
  static constexpr std::size_t kMaxBytes = std::size_t{4} << 20;
  template <typename Char>
  void* AddText(const Char* name);
  Lock& mutex_;
  char* memory_ = nullptr;
  std::size_t used_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t offsets_[kMax] = {};
};

extern NvtxNames g_nvtx_strings;  // those that kMessageRegistered refers to

}  // namespace memprof::recorder
