// The cache over the memory of a process, on this one.
#include "holders/remote/memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <random>

#include "tests/holders/remote/fake_python.h"

namespace memprof::holders::test {
namespace {

TEST(Memory, ReadsWhatIsMapped) {
  constexpr std::size_t kPages = 9, kPage = 4096;
  char* const pages = static_cast<char*>(
      mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  for (std::size_t i = 0; i < kPages * kPage; ++i) pages[i] = static_cast<char>(i * 7 / 5);
  mprotect(pages + 4 * kPage, kPage, PROT_NONE);
  Memory memory(getpid(), Mine());
  std::vector<char> read(kPages * kPage);
  EXPECT_TRUE(memory.Read(Address(pages) + 1, read.data(), 4 * kPage - 1));
  EXPECT_EQ(std::memcmp(read.data(), pages + 1, 4 * kPage - 1), 0);
  EXPECT_FALSE(memory.Read(Address(pages) + 4 * kPage - 1, read.data(), 2));
  EXPECT_TRUE(memory.Read(Address(pages) + 5 * kPage, read.data(), 4 * kPage));
  EXPECT_EQ(std::memcmp(read.data(), pages + 5 * kPage, 4 * kPage), 0);
  // What goes away later cannot be read, and is no error of the process.
  munmap(pages + 8 * kPage, kPage);
  Memory later(getpid(), Mine());
  munmap(pages, kPages * kPage);
  EXPECT_FALSE(later.Read(Address(pages), read.data(), 8));
  EXPECT_EQ(later.error(), 0);
  for (const std::uint64_t wild :
       {std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{7}, std::uint64_t{1} << 47})
    EXPECT_EQ(memory.Word(wild), 0u);
}

// In a block of 16 KiB that was mapped when the mappings were read.
TEST(Memory, ReadsBehindAHole) {
  constexpr std::size_t kPages = 8, kPage = 4096;
  char* const pages = static_cast<char*>(
      mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  const std::size_t hole = (16384 - Address(pages) % 16384) / kPage % 4;
  std::memset(pages, 7, kPages * kPage);
  Memory memory(getpid(), Mine());
  munmap(pages + hole * kPage, kPage);
  EXPECT_EQ(memory.Word(Address(pages) + hole * kPage), 0u);
  EXPECT_EQ(memory.Word(Address(pages) + (hole + 1) * kPage), 0x0707070707070707u);
  munmap(pages, kPages * kPage);
}

TEST(Memory, IsNotReadForever) {
  const std::uint64_t word = 7;
  Memory memory(getpid(), Mine(), 10);
  for (int i = 0; i < 9; ++i) EXPECT_EQ(memory.Word(Address(&word)), 7u);
  EXPECT_FALSE(memory.exhausted());
  EXPECT_EQ(memory.Word(Address(&word)), 0u);
  EXPECT_TRUE(memory.exhausted());
  std::vector<char> much(1 << 16);
  Memory other(getpid(), Mine(), 200);
  EXPECT_FALSE(other.Read(Address(much.data()), much.data(), much.size()));
}

TEST(Memory, ReadsNoDevices) {
  std::vector<Mapping> mappings = Mine();
  const char text[] = "text";
  EXPECT_EQ(Memory(getpid(), mappings).CString(Address(text), 3), "tex");
  for (Mapping& mapping : mappings) mapping.path = "/dev/nvidia-uvm";
  EXPECT_EQ(Memory(getpid(), mappings).CString(Address(text), 9), "");
}

// Reads of any length at any place, in memory with holes, against what is there.
TEST(Memory, ReadsWhatATwinReads) {
  constexpr std::size_t kPages = 40, kPage = 4096;
  char* const pages = static_cast<char*>(
      mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::mt19937 random(3);
  for (std::size_t i = 0; i < kPages * kPage; ++i) pages[i] = static_cast<char>(random());
  bool readable[kPages];
  for (std::size_t i = 0; i < kPages; ++i) {
    readable[i] = random() % 4 != 0;
    if (!readable[i]) mprotect(pages + i * kPage, kPage, PROT_NONE);
  }
  Memory memory(getpid(), Mine());
  std::vector<char> read(kPages * kPage);
  std::size_t sound = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::size_t begin = random() % (kPages * kPage - 1);
    const std::size_t bytes = 1 + random() % std::min<std::size_t>(kPages * kPage - begin, 20000);
    bool expected = true;
    for (std::size_t page = begin / kPage; page <= (begin + bytes - 1) / kPage; ++page)
      expected = expected && readable[page];
    ASSERT_EQ(memory.Read(Address(pages) + begin, read.data(), bytes), expected);
    if (!expected) continue;
    ++sound;
    ASSERT_EQ(std::memcmp(read.data(), pages + begin, bytes), 0);
  }
  EXPECT_GT(sound, 300u);
  EXPECT_LE(memory.bytes_read(), kPages * kPage);  // each page once
  munmap(pages, kPages * kPage);
}

// What has been read stays: all that is said of an object is said of one state of it.
TEST(Memory, KeepsWhatItRead) {
  volatile std::uint64_t word = 7;
  Memory memory(getpid(), Mine());
  const std::uint64_t place = Address(const_cast<const std::uint64_t*>(&word));
  EXPECT_EQ(memory.Word(place), 7u);
  word = 8;
  EXPECT_EQ(memory.Word(place), 7u);
}

TEST(Memory, AStringEndsWithItsMapping) {
  constexpr std::size_t kPage = 4096;
  char* const pages = static_cast<char*>(
      mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::memset(pages, 'x', kPage);
  mprotect(pages + kPage, kPage, PROT_NONE);
  Memory memory(getpid(), Mine());
  EXPECT_EQ(memory.CString(Address(pages) + kPage - 5, 100), "xxxxx");
  EXPECT_EQ(memory.CString(Address(pages), 10), "xxxxxxxxxx");
  EXPECT_EQ(memory.CString(Address(pages) + kPage, 10), "");
  munmap(pages, 2 * kPage);
}

TEST(Memory, LengthsThatOverflow) {
  const std::uint64_t word = 7;
  std::uint64_t read = 0;
  Memory memory(getpid(), Mine());
  for (const std::uint64_t bytes :
       {~std::uint64_t{0}, std::uint64_t{1} << 63, std::uint64_t{1} << 56})
    EXPECT_FALSE(memory.Read(Address(&word), &read, bytes));
  EXPECT_FALSE(memory.Read(~std::uint64_t{3}, &read, 8));
  EXPECT_EQ(memory.error(), 0);
  EXPECT_FALSE(memory.exhausted());  // one wild length does not end the reading
}

TEST(Memory, AProcessThatHasEnded) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  const std::vector<Mapping> mappings = ReadMappings(child).value();
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  static const std::uint64_t word = 7;
  Memory memory(child, mappings);
  EXPECT_EQ(memory.Word(Address(&word)), 0u);
  EXPECT_EQ(memory.error(), ESRCH);
}

}  // namespace
}  // namespace memprof::holders::test
