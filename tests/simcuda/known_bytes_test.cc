// The known bytes of memory without contents, against a plain array.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "simcuda/driver/contents.h"

namespace memprof::simcuda {
namespace {

constexpr uint64_t kBase = 0x7f0000000000 + 100;  // not at the beginning of a page

std::vector<uint8_t> Read(const KnownBytes& known, uint64_t address, size_t bytes) {
  std::vector<uint8_t> got(bytes, 0xee);
  known.Read(address, got.data(), bytes);
  return got;
}

TEST(KnownBytes, UnknownReadsAsZeros) {
  const KnownBytes known;
  EXPECT_EQ(Read(known, kBase, 1000), std::vector<uint8_t>(1000, 0));
}

TEST(KnownBytes, AgreesWithAnArray) {
  constexpr size_t kSize = 3000;
  std::mt19937 random(7);
  KnownBytes known;
  std::vector<uint8_t> reference(kSize, 0);
  for (int round = 0; round < 2000; ++round) {
    const size_t at = random() % kSize;
    const size_t bytes = random() % std::min<size_t>(kSize - at, 700);
    switch (random() % 4) {
      case 0: {
        std::vector<uint8_t> data(bytes);
        for (uint8_t& one : data) one = static_cast<uint8_t>(random());
        known.Write(kBase + at, data.data(), bytes);
        std::copy(data.begin(), data.end(), reference.begin() + static_cast<long>(at));
        break;
      }
      case 1: {
        const auto value = static_cast<uint8_t>(random() % 3);
        known.Fill(kBase + at, value, bytes);
        std::fill_n(reference.begin() + static_cast<long>(at), bytes, value);
        break;
      }
      case 2:
        known.Forget(kBase + at, bytes);
        std::fill_n(reference.begin() + static_cast<long>(at), bytes, 0);
        break;
      default:
        if (random() % 50 == 0) {
          known.Clear();
          std::fill(reference.begin(), reference.end(), 0);
        }
    }
    ASSERT_EQ(Read(known, kBase, kSize), reference) << round;
  }
}

TEST(KnownBytes, LargeWritesLeaveNothingKnown) {
  KnownBytes known;
  const std::vector<uint8_t> data(KnownBytes::kMaxWrite + 1, 5);
  known.Write(kBase, data.data(), KnownBytes::kMaxWrite);
  EXPECT_EQ(Read(known, kBase + 10, 1)[0], 5);
  known.Write(kBase, data.data(), data.size());
  EXPECT_EQ(Read(known, kBase + 10, 1)[0], 0);
  EXPECT_EQ(known.pages(), 0u);
}

TEST(KnownBytes, HoldsALittleAtMost) {
  KnownBytes known;
  const uint8_t one = 1;
  for (uint64_t i = 0; i < 3 * KnownBytes::kMaxPages; ++i) known.Write(kBase + i * 4096, &one, 1);
  EXPECT_LE(known.pages(), KnownBytes::kMaxPages);
  EXPECT_GE(known.pages(), 1u);
}

}  // namespace
}  // namespace memprof::simcuda
