// Texts in UTF-8, and an array of names.
#include "libmemprof/src/api/internal/nvtx_text.h"

#include <string.h>

#include "libmemprof/src/api/internal/nvtx_abi.h"
#include "libmemprof/src/base/sys.h"
#include "libmemprof/src/base/text.h"

namespace memprof::recorder {

constinit NvtxNames g_nvtx_strings(&g_process_locks.nvtx_strings);

void NvtxText::Append(const char* text, std::size_t length) {
  if (length > kMax - size_) length = kMax - size_;
  memcpy(data_ + size_, text, length);
  size_ += length;
}

void NvtxText::Append(const char* text) { Append(text, strlen(text)); }

void NvtxText::Append(const wchar_t* text) {
  for (; *text != 0; ++text) {
    char bytes[4];
    Append(bytes, EncodeUtf8(static_cast<std::uint32_t>(*text), bytes));
  }
}

void NvtxText::AppendMessage(std::int32_t type, const void* value) {
  if (value == nullptr) return;
  if (type == nvtx::kMessageRegistered)
    g_nvtx_strings.Append(value, this);
  else if (type == nvtx::kMessageAscii)
    Append(static_cast<const char*>(value));
  else if (type == nvtx::kMessageUnicode)
    Append(static_cast<const wchar_t*>(value));
}

template <typename Char>
void* NvtxNames::AddText(const Char* name) {
  if (name == nullptr) return nullptr;
  NvtxText text;
  text.Append(name);
  LockGuard lock(mutex_);
  if (memory_ == nullptr)
    memory_ = static_cast<char*>(MapMemory(kMaxBytes, Need::kTable, InChild::kKept));
  if (memory_ == nullptr || count_ == kMax || used_ + text.size() + 1 > kMaxBytes) return nullptr;
  offsets_[count_] = static_cast<std::uint32_t>(used_);
  memcpy(memory_ + used_, text.data(), text.size());
  used_ += text.size() + 1;
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(++count_));
}

void* NvtxNames::Add(const char* name) { return AddText(name); }

void* NvtxNames::Add(const wchar_t* name) { return AddText(name); }

void NvtxNames::Append(const void* handle, NvtxText* out) {
  LockGuard lock(mutex_);
  const auto number = reinterpret_cast<std::uintptr_t>(handle);
  if (number != 0 && number <= count_) out->Append(memory_ + offsets_[number - 1]);
}

}  // namespace memprof::recorder
