// This program as one that runs Python: it has the symbols, and behind them what a test makes.
#include "holders/remote/python.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "holders/remote/read.h"
#include "tests/holders/remote/fake_python.h"

extern "C" {
std::uint64_t _PyRuntime[256], Py_Version;
std::uint64_t PyType_Type[128], PyCell_Type[128], PyMethod_Type[128], PyFunction_Type[128],
    PyModule_Type[128], PySet_Type[128], PyFrozenSet_Type[128], PyGen_Type[128], PyCoro_Type[128],
    PyAsyncGen_Type[128], PyFrame_Type[128], PyTraceBack_Type[128], PyCode_Type[128];
}

namespace memprof::holders::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Symbol {
  const char* type;
  std::uint64_t* place;
  std::uint64_t Python::*found;
};
const Symbol kSymbols[] = {{"type", PyType_Type, &Python::type},
                           {"cell", PyCell_Type, &Python::cell},
                           {"method", PyMethod_Type, &Python::method},
                           {"function", PyFunction_Type, &Python::function},
                           {"module", PyModule_Type, &Python::module},
                           {"set", PySet_Type, &Python::set},
                           {"frozenset", PyFrozenSet_Type, &Python::frozen_set},
                           {"generator", PyGen_Type, &Python::generator},
                           {"coroutine", PyCoro_Type, &Python::coroutine},
                           {"async", PyAsyncGen_Type, &Python::async_generator},
                           {"frame", PyFrame_Type, &Python::frame},
                           {"traceback", PyTraceBack_Type, &Python::traceback},
                           {"code", PyCode_Type, &Python::code}};

void SetVersion(unsigned minor) { Py_Version = 0x030000f0 | minor << 16; }

// What an interpreter of 3.14 says of itself: (word, offset).
void Describe314() {
  const std::pair<std::size_t, std::uint64_t> described[] = {
      {1, 0x030e00f0}, {5, 800}, {8, 8},    {9, 7000}, {12, 600}, {26, 72}, {32, 8},
      {34, 56},        {36, 70}, {40, 112}, {42, 128}, {43, 136}, {44, 68}, {48, 192},
      {51, 8},         {75, 16}, {76, 32},  {78, 32},  {79, 16},  {80, 40}};
  for (const auto& [word, offset] : described) _PyRuntime[word] = offset;
  std::memcpy(_PyRuntime, "xdebugpy", 8);
}

absl::StatusOr<Python> Find() {
  Memory memory(getpid(), Mine());
  return FindPython(getpid(), Mine(), memory);
}

TEST(Python, IsFoundByItsSymbols) {
  SetVersion(12);
  const auto found = Find();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->layout.minor, 12);
  EXPECT_EQ(found->runtime, Address(_PyRuntime));
  for (const Symbol& symbol : kSymbols)
    EXPECT_EQ(*found.*symbol.found, Address(symbol.place)) << symbol.type;
}

TEST(Python, OtherVersionsAreNotKnown) {
  for (const std::uint64_t version :
       {std::uint64_t{0}, std::uint64_t{0x020c0000}, std::uint64_t{0x03080000},
        std::uint64_t{0x030f0000}, std::uint64_t{0x03ff0000}, ~std::uint64_t{0}}) {
    Py_Version = version;
    EXPECT_THAT(Find().status().message(), HasSubstr("CPython 3.9 to 3.14 with a GIL are known"));
  }
}

// From 3.13 on it says where its parts are, or is not known.
TEST(Python, DescribesItself) {
  SetVersion(14);
  EXPECT_FALSE(Find().ok());
  Describe314();
  const auto found = Find();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->layout.interpreter_modules, 600u);
  _PyRuntime[2] = 1;  // without a GIL
  EXPECT_THAT(Find().status().message(), HasSubstr("3.14 that is not known"));
  _PyRuntime[2] = 0;
  _PyRuntime[12] = std::uint64_t{1} << 63;
  EXPECT_FALSE(Find().ok());
}

TEST(Python, WithoutItsFileThereIsNone) {
  Memory memory(getpid(), Mine());
  EXPECT_THAT(FindPython(getpid(), {}, memory).status().message(), HasSubstr("runs no Python"));
  const std::vector<Mapping> others = {{0x1000, 0x2000, 0, true, "/no/such/python3.12"},
                                       {0x3000, 0x4000, 0, true, "[heap]"}};
  EXPECT_THAT(FindPython(getpid(), others, memory).status().message(), HasSubstr("runs no Python"));
}

// A program that holds tensors, in structures of each version that names itself.
class Program {
 public:
  explicit Program(int minor) : fake_(minor, Places()) {
    SetVersion(static_cast<unsigned>(minor));
    if (minor == 14) Describe314();
    fake_.python.runtime = Address(_PyRuntime);
    fake_.NewType("torch._C.TensorBase", kHeapType, "", 64);
    FakePython::Set(fake_.types["torch._C.TensorBase"] + at::kTypeDictOffset, std::uint64_t{0});
  }
  // On GPU 1; its structures lead into a file with the name of a library of PyTorch.
  std::uint64_t Tensor(std::uint64_t storage, std::uint64_t bytes, std::uint64_t gradient = 0) {
    const std::uint64_t table = library_;
    const std::uint64_t held = fake_.Make(128), tensor = fake_.Make(128);
    const std::uint64_t words[] = {table, 1, storage, 0, 0, 0x0101, bytes};
    for (std::size_t i = 0; i < 7; ++i) FakePython::Set(held + 8 * i, words[i]);
    FakePython::Set(tensor, table);
    FakePython::Set(tensor + 24, held);
    if (gradient != 0) {
      const std::uint64_t autograd = fake_.Make(128);
      FakePython::Set(autograd, table);
      FakePython::Set(autograd + 16, *reinterpret_cast<std::uint64_t*>(gradient + 16));
      FakePython::Set(tensor + 32, autograd);
    }
    return fake_.Object("torch._C.TensorBase", {tensor});
  }
  FakePython& fake() { return fake_; }
  absl::StatusOr<Reading> Read(const Entries& names, const ReadOptions& options = {}) {
    fake_.Run({fake_.Frame(fake_.Code({}), {})},
              {{"__main__", fake_.Module("__main__", "/home/train.py", names)}});
    return ReadHolders(getpid(), options);
  }

 private:
  static std::map<std::string, std::uint64_t> Places() {
    std::map<std::string, std::uint64_t> places;
    for (const Symbol& symbol : kSymbols) places[symbol.type] = Address(symbol.place);
    return places;
  }
  static std::uint64_t MapLibrary() {
    char folder[] = "/tmp/remote_test.XXXXXX";
    const std::string file = std::string(mkdtemp(folder)) + "/libtorch_cpu.so";
    const int fd = open(file.c_str(), O_RDWR | O_CREAT, 0600);
    EXPECT_EQ(ftruncate(fd, 4096), 0);
    void* const mapped = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    unlink(file.c_str());  // it stays mapped, as "… (deleted)"
    rmdir(folder);
    return Address(mapped);
  }

  FakePython fake_;
  std::uint64_t library_ = MapLibrary();
};

std::vector<std::string> Told(const Reading& reading) {
  std::vector<std::string> told;
  for (const Holder& holder : reading.holders)
    told.push_back(std::to_string(holder.device) + ":" + std::to_string(holder.bytes) + " " +
                   holder.path);
  return told;
}

TEST(Read, TensorsAndTheirGradients) {
  for (const int minor : {11, 12, 14}) {
    Program program(minor);
    FakePython& fake = program.fake();
    const std::uint64_t gradient = program.Tensor(0x7f0000300000, 300);
    const std::uint64_t weight = program.Tensor(0x7f0000100000, 100, gradient);
    const std::uint64_t view = program.Tensor(0x7f0000100000, 100);
    Words many;
    for (int i = 0; i < 6; ++i) many.push_back(program.Tensor(0x7f0000200000, 200));
    const auto reading = program.Read(fake.Named(
        {{"weight", weight}, {"views", fake.List({view, view})}, {"many", fake.List(many)}}));
    ASSERT_TRUE(reading.ok()) << minor << reading.status();
    EXPECT_EQ(reading->tensors, 8u);
    EXPECT_FALSE(reading->unknown_tensors || reading->cut);
    EXPECT_TRUE(reading->running);
    EXPECT_GT(reading->bytes_read, 0u);
    EXPECT_THAT(Told(*reading), ElementsAre("1:100 `weight` (global `weight`, train.py)",
                                            "1:100 `views[0]` (global `views`, train.py)",
                                            "1:100 `views[1]` (global `views`, train.py)",
                                            "1:200 list `many` (global `many`, train.py)",
                                            "1:300 `weight.grad` (global `weight`, train.py)"));
  }
}

TEST(Read, FourHoldersOfAStorageAtMost) {
  Program program(12);
  FakePython& fake = program.fake();
  std::vector<std::pair<std::string, std::uint64_t>> names;
  for (int i = 0; i < 7; ++i)
    names.emplace_back("name" + std::to_string(i), program.Tensor(0x7f0000100000, 100));
  const auto reading = program.Read(fake.Named(names));
  ASSERT_TRUE(reading.ok());
  EXPECT_EQ(reading->holders.size(), 4u);
}

TEST(Read, SaysWhereItsBoundCutIt) {
  Program program(12);
  FakePython& fake = program.fake();
  Words many;
  for (int i = 0; i < 50; ++i) many.push_back(program.Tensor(0x7f0000100000, 100));
  const auto reading = program.Read(fake.Named({{"many", fake.List(many)}}), {.most_objects = 20});
  ASSERT_TRUE(reading.ok()) << reading.status();
  EXPECT_TRUE(reading->cut);
}

// Objects of a tensor's type whose words lead nowhere.
TEST(Read, TensorsOfAnUnknownRelease) {
  Program program(12);
  FakePython& fake = program.fake();
  const auto reading = program.Read(
      fake.Named({{"x", fake.Object("torch._C.TensorBase", {13, ~std::uint64_t{7}})}}));
  ASSERT_TRUE(reading.ok());
  EXPECT_TRUE(reading->unknown_tensors);
  EXPECT_TRUE(reading->holders.empty());
  EXPECT_EQ(ReadHolders(1 << 22, {}).status().code(), absl::StatusCode::kNotFound);
}

TEST(Read, AnInterpreterThatIsNotRunning) {
  Program program(12);
  _PyRuntime[40 / 8] = 0;
  EXPECT_THAT(ReadHolders(getpid(), {}).status().message(), HasSubstr("is not running"));
}

}  // namespace
}  // namespace memprof::holders::test
