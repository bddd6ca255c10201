// The growing byte buffer, against a std::string.
#include "libmemprof/src/base/byte_buffer.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/libmemprof/base/in_account.h"

namespace memprof::recorder {
namespace {

TEST(ByteBuffer, AgreesWithAStringOnRandomEdits) {
  std::mt19937 random(2);
  ByteBuffer buffer;
  std::string reference;
  for (int i = 0; i < 20000; ++i) {
    const std::string piece(random() % 40, static_cast<char>('a' + random() % 26));
    const std::size_t from = random() % (reference.size() + 10);
    switch (random() % 8) {
      case 0:
        buffer.AppendZeros(piece.size());
        reference.append(piece.size(), '\0');
        break;
      case 1:
        if (from >= reference.size()) break;
        buffer.Erase(&buffer[from]);
        reference.erase(from, 1);
        break;
      case 2:
        buffer.Truncate(from);  // must not grow the buffer
        if (from <= reference.size()) reference.resize(from);
        break;
      case 3:
        buffer.AppendByte('!');
        reference += '!';
        break;
      default:
        buffer.Append(piece.data(), piece.size());
        reference += piece;
        break;
    }
    ASSERT_EQ(buffer.size(), reference.size());
    if (i % 100 == 0) {
      ASSERT_EQ(Text(buffer), reference);
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

}  // namespace
}  // namespace memprof::recorder
