// CRC-32C against the vectors of RFC 3720, appendix B.4, and against the bitwise definition.
#include "proto/crc32c.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

namespace memprof::log {
namespace {

std::uint32_t Bitwise(const std::string& bytes) {
  std::uint32_t crc = ~0u;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? 0x82f63b78u : 0);
  }
  return ~crc;
}

std::uint32_t Crc(const std::string& bytes) { return Crc32c(bytes.data(), bytes.size()); }

TEST(Crc32cTest, VectorsOfRfc3720) {
  std::string rising, falling;
  for (int i = 0; i < 32; ++i) {
    rising += static_cast<char>(i);
    falling += static_cast<char>(31 - i);
  }
  EXPECT_EQ(Crc(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(Crc(rising), 0x46dd794eu);
  EXPECT_EQ(Crc(falling), 0x113fdb5cu);
  EXPECT_EQ(Crc("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc(""), 0u);
}

TEST(Crc32cTest, EqualsTheBitwiseDefinitionAtEveryLengthAndSplit) {
  std::mt19937 random(7);
  std::string bytes;
  for (int length = 0; length < 70; ++length) {
    ASSERT_EQ(Crc(bytes), Bitwise(bytes)) << length;
    for (std::size_t split = 0; split <= bytes.size(); ++split)
      ASSERT_EQ(Crc32c(bytes.data() + split, bytes.size() - split, Crc32c(bytes.data(), split)),
                Bitwise(bytes));
    bytes += static_cast<char>(random());
  }
}

TEST(Crc32cTest, IsTheSameWhereverTheBytesLie) {
  const std::string bytes = "a chunk's payload may begin at any address";
  for (std::size_t shift = 0; shift < 16; ++shift)
    EXPECT_EQ(Crc((std::string(shift, '#') + bytes).substr(shift)), Bitwise(bytes));
  std::string moved(64, '#');
  for (std::size_t shift = 0; shift < 16; ++shift) {
    std::copy(bytes.begin(), bytes.end(), moved.begin() + static_cast<std::ptrdiff_t>(shift));
    EXPECT_EQ(Crc32c(moved.data() + shift, bytes.size()), Bitwise(bytes)) << shift;
  }
}

// The purpose of the checksum: it detects any burst of up to 32 wrong bits.
TEST(Crc32cTest, EveryShortBurstOfErrorsShows) {
  std::mt19937 random(9);
  std::string bytes(200, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  const std::uint32_t good = Crc(bytes);
  for (int round = 0; round < 5000; ++round) {
    std::string bad = bytes;
    const std::size_t first = random() % (bytes.size() * 8 - 32);
    const std::uint32_t burst = static_cast<std::uint32_t>(random()) | 1;
    for (std::size_t bit = 0; bit < 32; ++bit)
      if ((burst >> bit & 1) != 0)
        bad[(first + bit) / 8] =
            static_cast<char>(bad[(first + bit) / 8] ^ (1 << (first + bit) % 8));
    ASSERT_NE(Crc(bad), good);
  }
}

}  // namespace
}  // namespace memprof::log
