// Writes the fields of one protobuf message into a ByteBuffer. A library inside other people's
// processes must not bring libprotobuf; of the wire format it needs only varints, and bytes
// preceded by their length.
//
// Never throws. Without memory the buffer has failed, and its content is no message.
#pragma once

#include <cstdint>
#include <cstring>

#include "libmemprof/src/base/byte_buffer.h"

namespace memprof::recorder {

class ProtoWriter {
 public:
  explicit ProtoWriter(ByteBuffer& out) : out_(out), begin_(kOutermost) {}
  // A message within `parent`, to which nothing may be added until this one has ended.
  ProtoWriter(ProtoWriter& parent, std::uint32_t field) : out_(parent.out_) {
    AddTag(field, kBytes);
    begin_ = out_.size();
  }
  ~ProtoWriter() {
    if (begin_ != kOutermost) InsertLength();
  }
  ProtoWriter(const ProtoWriter&) = delete;
  ProtoWriter& operator=(const ProtoWriter&) = delete;

  // Of bool, uint32, uint64 and enumerations.
  void AddVarint(std::uint32_t field, std::uint64_t value) {
    AddTag(field, kVarint);
    PutVarint(value);
  }
  void AddBytes(std::uint32_t field, const void* bytes, std::size_t count) {
    AddTag(field, kBytes);
    PutVarint(count);
    out_.Append(bytes, count);
  }
  void AddText(std::uint32_t field, const char* text) { AddBytes(field, text, std::strlen(text)); }
  // As one field, packed.
  void AddVarints(std::uint32_t field, const std::uint64_t* values, std::size_t count) {
    if (count == 0) return;
    ProtoWriter packed(*this, field);
    for (std::size_t i = 0; i < count; ++i) packed.PutVarint(values[i]);
  }

 private:
  enum WireType : std::uint32_t { kVarint = 0, kBytes = 2 };
  static constexpr std::size_t kOutermost = ~std::size_t{0};

  void PutVarint(std::uint64_t value) {
    if (out_.Reserve(ByteBuffer::kMaxVarintBytes)) out_.PutVarint(value);
  }
  void AddTag(std::uint32_t field, WireType type) { PutVarint(field << 3 | type); }
  // The length is only known at the end, so the content is moved to make space for it.
  void InsertLength() {
    if (out_.failed()) return;
    const std::size_t count = out_.size() - begin_;
    PutVarint(count);
    char length[ByteBuffer::kMaxVarintBytes];
    const std::size_t length_bytes = out_.size() - begin_ - count;
    char* begin = out_.data() + begin_;
    std::memcpy(length, begin + count, length_bytes);
    std::memmove(begin + length_bytes, begin, count);
    std::memcpy(begin, length, length_bytes);
  }

  ByteBuffer& out_;
  std::size_t begin_;  // of a nested message
};

}  // namespace memprof::recorder
