// PyTorch's structures, made by hand.
#include "holders/remote/tensors.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/holders/remote/fake_python.h"

namespace memprof::holders::test {
namespace {

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

// A storage of a strange device, of no bytes or of too many is none.
TEST(Tensors, UnsoundStoragesAreNone) {
  Torch torch(16, 24, 16, true);
  torch.storages[3][5] = 0x0207;  // a device of another kind
  torch.storages[4][5] = 0x7f01;  // GPU 127
  torch.storages[5][6] = 0;       // bytes
  torch.storages[6][6] = std::uint64_t{1} << 63;
  torch.storages[7][2] = 8;                  // address
  torch.tensors[8][3] = 0xfffffffffffffff8;  // the storage
  std::uint64_t odd[30] = {};
  std::memcpy(reinterpret_cast<char*>(odd) + 4, torch.tensors[9], sizeof torch.tensors[9]);
  torch.objects[9][2] = Address(odd) + 4;
  Memory memory(getpid(), Mine());
  Tensors tensors(memory, torch.mappings);
  ASSERT_TRUE(tensors.Learn(torch.addresses));
  for (std::size_t i = 0; i < 20; ++i)
    EXPECT_EQ(tensors.Of(torch.addresses[i]).has_value(), i < 3 || i > 9) << i;
  EXPECT_FALSE(tensors.Of(0).has_value());
  EXPECT_FALSE(tensors.Of(~std::uint64_t{7}).has_value());
}

// A gradient is looked for in a few words, which may lead back or nowhere.
TEST(Tensors, GradientsThatLoop) {
  Torch torch(16, 24, 16, true);
  std::uint64_t autograd[8] = {Address(torch.table), 1, ~std::uint64_t{0}, Address(autograd)};
  torch.tensors[3][4] = Address(autograd);
  torch.tensors[4][4] = ~std::uint64_t{7};
  Memory memory(getpid(), Mine());
  Tensors tensors(memory, torch.mappings);
  ASSERT_TRUE(tensors.Learn(torch.addresses));
  EXPECT_FALSE(tensors.OfGradient(torch.addresses[3]).has_value());
  EXPECT_FALSE(tensors.OfGradient(torch.addresses[4]).has_value());
}

}  // namespace
}  // namespace memprof::holders::test
