// The growing block of bytes, beside a std::string; and protozero writing into it.
#include "libmemprof/src/base/byte_buffer.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>

#include "libmemprof/src/log/encoder.h"
#include "proto/memprof.pb.h"

namespace memprof::recorder {
namespace {

std::string Text(const ByteBuffer& buffer) {
  return buffer.size() == 0 ? "" : std::string(buffer.data(), buffer.size());
}

TEST(ByteBuffer, AgreesWithAStringOnRandomEdits) {
  std::mt19937 random(2);
  ByteBuffer buffer;
  std::string twin;
  for (int i = 0; i < 20000; ++i) {
    const std::string piece(random() % 40, static_cast<char>('a' + random() % 26));
    const std::size_t from = random() % (twin.size() + 10), to = from + random() % 60;
    switch (random() % 8) {
      case 0:
        buffer.AppendZeros(piece.size());
        twin.append(piece.size(), '\0');
        break;
      case 1:
        buffer.Erase(from, to);
        if (to <= twin.size()) twin.erase(from, to - from);
        break;
      case 2:
        buffer.Resize(from);  // never grows
        if (from <= twin.size()) twin.resize(from);
        break;
      case 3:
        buffer.push_back('!');
        twin += '!';
        break;
      default:
        buffer.Append(piece.data(), piece.size());
        twin += piece;
        break;
    }
    ASSERT_EQ(buffer.size(), twin.size());
    if (i % 100 == 0) {
      ASSERT_EQ(Text(buffer), twin);
    }
  }
  EXPECT_FALSE(buffer.failed());
}

TEST(ByteBuffer, WithoutMemoryItKeepsWhatItHasAndSaysSo) {
  ByteBuffer buffer;
  buffer.Append("kept", 4);
  EXPECT_FALSE(buffer.Reserve(std::size_t{1} << 50));
  EXPECT_TRUE(buffer.failed());
  buffer.AppendZeros(std::size_t{1} << 50);
  EXPECT_EQ(Text(buffer), "kept");
  buffer.Clear();
  EXPECT_FALSE(buffer.failed());
  buffer.Append("again", 5);
  EXPECT_EQ(Text(buffer), "again");
}

TEST(ByteBuffer, GivesItsMemoryBack) {
  const std::uint64_t before = ChargedMemory();
  {
    ByteBuffer buffer;
    buffer.AppendZeros(1 << 20);
    EXPECT_GE(ChargedMemory(), before + (1 << 20));
  }
  EXPECT_EQ(ChargedMemory(), before);
}

// libprotobuf is the judge of varints, and of nested messages whose length is not known before.
TEST(ByteBuffer, WhatIsWrittenIntoItIsProtobuf) {
  const std::uint64_t values[] = {
      0,          1,          127,
      128,        16383,      16384,
      1ull << 35, 1ull << 62, std::numeric_limits<std::uint64_t>::max()};
  ByteBuffer column;
  for (const std::uint64_t value : values) {
    ASSERT_TRUE(column.Reserve(10));
    column.PutVarint(value);
  }
  ByteBuffer message;
  {
    PbfWriter events(message);
    events.add_bytes(9, column.data(), column.size());  // log.Events.bytes
  }
  log::Events parsed;
  ASSERT_TRUE(parsed.ParseFromString(Text(message)));
  ASSERT_EQ(parsed.bytes_size(), static_cast<int>(std::size(values)));
  for (int i = 0; i < parsed.bytes_size(); ++i) EXPECT_EQ(parsed.bytes(i), values[i]);
}

TEST(ZigZag, TurnsSmallDifferencesOfEitherSignIntoSmallNumbers) {
  EXPECT_EQ(ZigZag(0), 0u);
  EXPECT_EQ(ZigZag(1), 2u);
  EXPECT_EQ(ZigZag(0 - std::uint64_t{1}), 1u);
  EXPECT_EQ(ZigZag(0 - std::uint64_t{64}), 127u);
  EXPECT_EQ(ZigZag(std::uint64_t{1} << 63), std::numeric_limits<std::uint64_t>::max());
}

}  // namespace
}  // namespace memprof::recorder
