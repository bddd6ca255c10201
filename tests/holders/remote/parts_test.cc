// Parts of the reader, on this process.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "holders/remote/dict.h"
#include "holders/remote/layout.h"
#include "holders/remote/memory.h"
#include "holders/remote/process.h"
#include "holders/remote/read.h"
#include "holders/remote/tensors.h"
#include "libmemprof/src/python_layout/layout.h"

namespace memprof::holders {
namespace {

std::vector<Mapping> Mine() { return ReadMappings(getpid()).value(); }
std::uint64_t Address(const void* object) { return reinterpret_cast<std::uint64_t>(object); }

TEST(Process, HasAStateAndMappings) {
  EXPECT_EQ(ProcessState(getpid()).value(), 'R');
  EXPECT_EQ(ProcessState(1 << 22).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadMappings(1 << 22).status().code(), absl::StatusCode::kNotFound);
  static const int constant = 3;
  bool found = false;
  std::uint64_t last = 0;
  for (const Mapping& mapping : Mine()) {
    EXPECT_LE(last, mapping.begin);
    last = mapping.end;
    if (mapping.begin <= Address(&constant) && Address(&constant) < mapping.end)
      found = mapping.readable && mapping.path.ends_with("_test");
  }
  EXPECT_TRUE(found);
}

TEST(Process, FindsSymbolsWhereTheyAreLoaded) {
  Dl_info info;
  ASSERT_NE(dladdr(dlsym(RTLD_DEFAULT, "getpid"), &info), 0);
  char* const path = realpath(info.dli_fname, nullptr);
  const auto found = FindSymbols(getpid(), Mine(), path, {"getpid", "no_such_symbol"});
  free(path);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.at("getpid"), Address(dlsym(RTLD_DEFAULT, "getpid")));
  EXPECT_TRUE(FindSymbols(getpid(), Mine(), "/etc/passwd", {"getpid"}).empty());
  EXPECT_TRUE(FindSymbols(getpid(), Mine(), "/no/such/file", {"getpid"}).empty());
}

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

TEST(Layout, IsKnownOfSomeVersions) {
  ObjectLayout layout;
  char offsets[recorder::kDebugOffsetsBytes];
  std::memset(offsets, 0xff, sizeof offsets);
  for (const int minor : {9, 10, 11, 12}) EXPECT_TRUE(FindObjectLayout(minor, offsets, &layout));
  for (const int minor : {-1, 0, 8, 15}) EXPECT_FALSE(FindObjectLayout(minor, offsets, &layout));
  for (const int minor : {13, 14}) EXPECT_FALSE(FindObjectLayout(minor, offsets, &layout));
}

// Keys that say too much of themselves.
TEST(Dict, DamagedKeysHaveNoEntries) {
  for (const int minor : {9, 11, 14}) {
    ObjectLayout layout;
    std::uint64_t zeros[recorder::kDebugOffsetsBytes / 8] = {};
    ASSERT_TRUE(FindObjectLayout(minor, zeros, &layout));
    std::uint64_t keys[64], dict[8] = {1, 0, 5, 0, Address(keys), 0};
    std::memset(keys, 0xff, sizeof keys);
    Memory memory(getpid(), Mine());
    DictReader entries(memory, layout, Address(dict));
    DictEntry entry;
    EXPECT_FALSE(entries.Next(&entry));
  }
}

// Structures of a PyTorch whose offsets are c, a and b.
struct Torch {
  std::uint64_t table[4] = {};
  std::uint64_t storages[20][16] = {}, tensors[20][24] = {}, objects[20][8] = {};
  std::vector<Mapping> mappings;
  std::vector<std::uint64_t> addresses;

  Torch(std::size_t c, std::size_t a, std::size_t b, bool gpu) {
    mappings = {{Address(table), Address(table + 4), 0, true, "/venv/libtorch_cpu.so"}};
    for (std::size_t i = 0; i < 20; ++i) {
      objects[i][c / 8] = Address(tensors[i]);
      tensors[i][0] = storages[i][0] = Address(table);
      tensors[i][a / 8] = Address(storages[i]);
      storages[i][b / 8] = 0x7f0000000000 + 4096 * i;
      storages[i][b / 8 + 3] = gpu ? 0x5555000000000201 : 0xff00;  // device 2, and no bytes of it
      storages[i][b / 8 + 4] = 1000 + i;
      addresses.push_back(Address(objects[i]));
    }
  }
};

TEST(Tensors, OffsetsAreFound) {
  for (const std::size_t c : {16, 24, 32}) {
    for (const std::size_t a : {8, 24, 128}) {
      for (const std::size_t b : {16, 24, 64}) {
        const Torch torch(c, a, b, true);
        Memory memory(getpid(), Mine());
        Tensors tensors(memory, torch.mappings);
        ASSERT_TRUE(tensors.Learn(torch.addresses));
        const std::optional<Storage> found = tensors.Of(torch.addresses[3]);
        ASSERT_TRUE(found.has_value()) << c << " " << a << " " << b;
        EXPECT_EQ(found->device, 2);
        EXPECT_EQ(found->address, 0x7f0000003000u);
        EXPECT_EQ(found->bytes, 1003u);
      }
    }
  }
}

TEST(Tensors, GradientsAreFound) {
  Torch torch(16, 24, 16, true);
  std::uint64_t autograd[8] = {Address(torch.table), 7, 0, 0, 0, Address(torch.tensors[9])};
  torch.tensors[3][4] = Address(autograd);
  Memory memory(getpid(), Mine());
  Tensors tensors(memory, torch.mappings);
  ASSERT_TRUE(tensors.Learn(torch.addresses));
  ASSERT_TRUE(tensors.OfGradient(torch.addresses[3]).has_value());
  EXPECT_EQ(tensors.OfGradient(torch.addresses[3])->bytes, 1009u);
  EXPECT_FALSE(tensors.OfGradient(torch.addresses[4]).has_value());
}

TEST(Tensors, OnlyMemoryOfGpusCounts) {
  const Torch host(16, 24, 16, false);
  Memory memory(getpid(), Mine());
  Tensors tensors(memory, host.mappings);
  EXPECT_TRUE(tensors.Learn(host.addresses));
  EXPECT_FALSE(tensors.Of(host.addresses[3]).has_value());
  // Objects that are no tensors.
  Tensors others(memory, {});
  EXPECT_FALSE(others.Learn(host.addresses));
  EXPECT_FALSE(others.Of(host.addresses[3]).has_value());
}

TEST(Read, ThisIsNoPython) {
  EXPECT_EQ(ReadHolders(getpid(), {}).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReadHolders(1 << 22, {}).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace memprof::holders
