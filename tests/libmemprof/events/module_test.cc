// Hooks of device code: modules, libraries, and their variables.
#include "tests/libmemprof/events/recorded_driver.h"

namespace memprof::recorder {
namespace {

using testing::DriverCall;
using testing::Event;
using ::testing::IsEmpty;

class ModuleHooks : public HooksTest {
 protected:
  // The next load reduces the device's free memory by this much.
  void Take(std::uint64_t bytes) {
    driver_.decide = [this, bytes](const DriverCall& call) {
      if (call.name.find("Load") != std::string::npos) driver_.free_bytes -= bytes;
      return CUDA_SUCCESS;
    };
  }
};

TEST_F(ModuleHooks, ALoadRecordsItsFileAndWhatItTook) {
  Start();
  Take(3 << 20);
  CUmodule module = nullptr;
  EXPECT_EQ(Call("cuModuleLoad", &module, static_cast<const char*>("kernels.cubin")), CUDA_SUCCESS);
  EXPECT_EQ(Call("cuModuleUnload", module), CUDA_SUCCESS);
  const testing::Log log = Finish();
  const Event load = log.WithOp(log::OP_MODULE_LOAD).at(0);
  EXPECT_EQ(load.layer, log::LAYER_MODULE);
  EXPECT_EQ(load.address, reinterpret_cast<std::uint64_t>(module));
  EXPECT_EQ(load.aux0, 3u << 20);
  EXPECT_EQ(load.device, 0);
  EXPECT_EQ(log.strings.at(load.label), "kernels.cubin");
  EXPECT_EQ(load.stack != 0, kTestStacks);
  const Event unload = log.WithOp(log::OP_MODULE_UNLOAD).at(0);
  EXPECT_EQ(unload.address, load.address);
  EXPECT_EQ(unload.aux0, load.aux0);
  EXPECT_EQ(unload.context, load.context);
}

TEST_F(ModuleHooks, EveryWayToLoad) {
  std::uint64_t fat[] = {0x00100001ba55ed50, 84};  // header of 16 bytes, then 84
  const void* image = fat;
  Start();
  CUmodule module = nullptr;
  void* library = nullptr;
  Call("cuModuleLoadData", &module, image);
  Call("cuModuleLoadDataEx", &module, image, 0u, static_cast<CUjit_option*>(nullptr),
       static_cast<void**>(nullptr));
  Call("cuModuleLoadFatBinary", &module, image);
  CUjit_option* const none = nullptr;
  void** const values = nullptr;
  Call("cuLibraryLoadData", &library, image, none, values, 0u, static_cast<void*>(nullptr), values,
       0u);
  Call("cuLibraryLoadFromFile", &library, static_cast<const char*>("f"), none, values, 0u,
       static_cast<void*>(nullptr), values, 0u);
  Call("cuLibraryUnload", library);
  const testing::Log log = Finish();
  std::vector<std::uint64_t> bytes;
  for (const Event& event : log.WithOp(log::OP_MODULE_LOAD)) bytes.push_back(event.bytes);
  EXPECT_THAT(bytes, ::testing::ElementsAre(100, 100, 100, 100, 0));
  EXPECT_EQ(log.WithOp(log::OP_MODULE_UNLOAD).size(), 1u);
}

TEST_F(ModuleHooks, AVariableIsRecordedOnceForEachLoad) {
  Start();
  CUmodule module = nullptr;
  Call("cuModuleLoad", &module, static_cast<const char*>("f"));
  const auto look_up = [&](CUdeviceptr at) {
    driver_.next = at;
    CUdeviceptr pointer = 0;
    std::size_t bytes = 0;
    EXPECT_EQ(
        Call("cuModuleGetGlobal_v2", &pointer, &bytes, module, static_cast<const char*>("counter")),
        CUDA_SUCCESS);
    EXPECT_EQ(pointer, at);
    EXPECT_EQ(bytes, 640u);
  };
  look_up(0x7e0000001000);
  look_up(0x7e0000001000);
  look_up(0x7e0000002000);
  Call("cuModuleUnload", module);
  look_up(0x7e0000001000);
  const testing::Log log = Finish();
  const std::vector<Event> globals = log.WithOp(log::OP_MODULE_GLOBAL);
  ASSERT_EQ(globals.size(), 3u);
  EXPECT_EQ(globals[0].address, 0x7e0000001000u);
  EXPECT_EQ(globals[0].bytes, 640u);
  EXPECT_EQ(globals[0].aux0, reinterpret_cast<std::uint64_t>(module));
  EXPECT_EQ(log.strings.at(globals[0].label), "counter");
  EXPECT_EQ(globals[2].address, 0x7e0000001000u);
}

// The driver accepts null for outputs that a program does not need.
TEST_F(ModuleHooks, HalfAQuestionIsAnsweredHalf) {
  if (!ByHooks()) GTEST_SKIP() << "a matter of hooks";
  Start();
  CUdeviceptr* const no_pointer = nullptr;
  std::size_t* const no_bytes = nullptr;
  std::size_t bytes = 0;
  CUdeviceptr pointer = 0;
  const char* name = "v";
  EXPECT_EQ(Call("cuLibraryGetGlobal", no_pointer, &bytes, At(5), name), CUDA_SUCCESS);
  EXPECT_EQ(bytes, 640u);
  EXPECT_EQ(Call("cuLibraryGetManaged", &pointer, no_bytes, At(5), name), CUDA_SUCCESS);
  EXPECT_NE(pointer, 0u);
  EXPECT_EQ(Call("cuModuleGetGlobal_v2", no_pointer, no_bytes, CUmodule{}, name), CUDA_SUCCESS);
  const std::vector<Event> globals = Finish().WithOp(log::OP_MODULE_GLOBAL);
  ASSERT_EQ(globals.size(), 2u);
  EXPECT_EQ(globals[1].bytes, 640u);
  EXPECT_NE(globals[0].address, 0u);
}

TEST_F(ModuleHooks, NothingIsSaidOfVariablesThatAreNotThere) {
  Start();
  Answer(CUDA_ERROR_NOT_FOUND);
  CUmodule module = nullptr;
  CUdeviceptr pointer = 0;
  std::size_t bytes = 0;
  Call("cuModuleGetGlobal_v2", &pointer, &bytes, module, static_cast<const char*>("x"));
  EXPECT_THAT(Finish().events, IsEmpty());
}

TEST_F(ModuleHooks, WithoutAContextNothingIsKnownOfTheDevice) {
  driver_.current = nullptr;
  Start();
  Take(1 << 20);
  CUmodule module = nullptr;
  Call("cuModuleLoad", &module, static_cast<const char*>("f"));
  const Event load = Finish().WithOp(log::OP_MODULE_LOAD).at(0);
  EXPECT_EQ(load.device, -1);
  EXPECT_EQ(load.aux0, 0u);
}

}  // namespace
}  // namespace memprof::recorder
