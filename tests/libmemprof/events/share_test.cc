// Memory that a process exports and imports again is recognised as its own.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <set>

#include "tests/libmemprof/events/recorded_driver.h"

namespace memprof::recorder {
namespace {

using testing::DriverCall;
using ::testing::ElementsAre;
using testing::Event;
using ::testing::IsEmpty;

constexpr auto kFile = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
constexpr auto kFabric = static_cast<CUmemAllocationHandleType>(8);

class ShareHooks : public HooksTest {
 protected:
  ~ShareHooks() override {
    for (const int file : files_) close(file);
  }
  int NewFile() {
    files_.push_back(memfd_create("shared", MFD_CLOEXEC));
    return files_.back();
  }
  // The driver creates a separate file for each export.
  int Export(Handle handle) {
    int file = NewFile();
    EXPECT_EQ(Call("cuMemExportToShareableHandle", static_cast<void*>(&file), handle, kFile, 0ull),
              CUDA_SUCCESS);
    return file;
  }
  Handle Import(int file) {
    Handle handle = 0;
    EXPECT_EQ(Call("cuMemImportFromShareableHandle", &handle, At(static_cast<std::uint64_t>(file)),
                   kFile),
              CUDA_SUCCESS);
    return handle;
  }
  std::vector<std::string> Story() {
    std::vector<std::string> story;
    for (const Event& event : Finish().events)
      if (event.op <= log::OP_FREE_FAILED)
        story.push_back(testing::LowerWord(log::Op_Name(event.op), 3) + " " +
                        testing::LowerWord(log::Layer_Name(event.layer), 6) + " " +
                        std::to_string(event.bytes));
    return story;
  }
  std::vector<int> files_;
};

TEST_F(ShareHooks, OwnMemoryThatComesBackIsOneMoreReference) {
  Start();
  const Handle own = CreateMemory(4096);
  const int file = Export(own);
  const Handle again = Import(file);
  ASSERT_NE(again, own) << "the driver may give it another handle";
  Call("cuMemRelease", own);
  EXPECT_EQ(Stats().live_bytes, 4096u);
  Call("cuMemMap", CUdeviceptr{0x100000}, std::size_t{4096}, std::size_t{0}, again, 0ull);
  Call("cuMemRelease", again);
  EXPECT_EQ(Stats().live_bytes, 4096u);
  Call("cuMemUnmap", CUdeviceptr{0x100000}, std::size_t{4096});
  EXPECT_EQ(Stats().live_bytes, 0u);
  const testing::Log log = Finish();
  EXPECT_EQ(log.WithOp(log::OP_MAP).at(0).aux0, own) << "the log uses one name for it";
  EXPECT_EQ(log.WithOp(log::OP_FREE).at(0).address, own);
  EXPECT_EQ(log.WithOp(log::OP_ALLOC).size(), 1u);
}

TEST_F(ShareHooks, ByAnotherNumberToo) {
  Start();
  const Handle own = CreateMemory(4096);
  const int file = Export(own);
  const int sent = fcntl(file, F_DUPFD_CLOEXEC, 0);
  files_.push_back(sent);
  Call("cuMemRelease", Import(sent));
  Call("cuMemRelease", own);
  EXPECT_THAT(Story(), ElementsAre("alloc vmm_physical 4096", "free vmm_physical 4096"));
}

TEST_F(ShareHooks, ANumberThatIsUsedAgainIsNotTheExport) {
  Start();
  const Handle own = CreateMemory(4096);
  const int file = Export(own);
  // as if the file had been closed, and the number reused for a file received from another process
  ASSERT_EQ(dup2(NewFile(), file), file);
  Call("cuMemRelease", Import(file));
  Call("cuMemRelease", own);
  EXPECT_THAT(Story(), ElementsAre("alloc vmm_physical 4096", "alloc imported 0", "free imported 0",
                                   "free vmm_physical 4096"));
}

// The file keeps the memory after the last handle is released.
TEST_F(ShareHooks, WhatOnlyAnExportHasKeptIsAllocatedAnew) {
  Start();
  const Handle own = CreateMemory(4096);
  const int file = Export(own);
  Call("cuMemRelease", own);
  EXPECT_EQ(Stats().live_bytes, 0u);
  const Handle back = Import(file), twice = Import(file);
  EXPECT_EQ(Stats().live_bytes, 4096u) << "once";
  Call("cuMemRelease", back);
  EXPECT_EQ(Stats().live_bytes, 4096u);
  Call("cuMemRelease", twice);
  EXPECT_THAT(Story(), ElementsAre("alloc vmm_physical 4096", "free vmm_physical 4096",
                                   "alloc vmm_physical 4096", "free vmm_physical 4096"));
}

// A handle may be reused for new memory, which is not the exported memory.
TEST_F(ShareHooks, AHandleThatComesBackIsNotTheExport) {
  for (const bool mapped : {false, true}) {
    if (!mapped) Start();
    const Handle own = CreateMemory(4096);
    const int file = Export(own);
    if (mapped) {
      Call("cuMemMap", CUdeviceptr{0x100000}, std::size_t{4096}, std::size_t{0}, own, 0ull);
    }
    Call("cuMemRelease", own);
    if (mapped) Call("cuMemUnmap", CUdeviceptr{0x100000}, std::size_t{4096});
    EXPECT_EQ(Stats().live_bytes, 0u);
    const std::uint64_t next = driver_.next;
    driver_.next = own;
    const Handle fresh = CreateMemory(100);
    ASSERT_EQ(fresh, own);
    driver_.next = next;
    const Handle back = Import(file);
    EXPECT_EQ(Stats().live_bytes, 4196u);
    Call("cuMemRelease", back);
    EXPECT_EQ(Stats().live_bytes, 100u);
    Call("cuMemRelease", fresh);
    EXPECT_EQ(Stats().live_bytes, 0u);
  }
}

TEST_F(ShareHooks, MappedMemoryIsKnownWithoutItsHandle) {
  Start();
  const Handle own = CreateMemory(4096);
  const int file = Export(own);
  Call("cuMemMap", CUdeviceptr{0x100000}, std::size_t{4096}, std::size_t{0}, own, 0ull);
  Call("cuMemRelease", own);
  const Handle back = Import(file);
  Call("cuMemUnmap", CUdeviceptr{0x100000}, std::size_t{4096});
  EXPECT_EQ(Stats().live_bytes, 4096u) << "the imported handle holds it";
  Call("cuMemRelease", back);
  EXPECT_EQ(Stats().live_bytes, 0u);
}

TEST_F(ShareHooks, ADriverThatAnswersTheSameHandleSaysItAll) {
  Start();
  const Handle own = CreateMemory(4096);
  driver_.next = own;
  const Handle same = Import(NewFile());
  ASSERT_EQ(same, own);
  Call("cuMemRelease", own);
  EXPECT_EQ(Stats().live_bytes, 4096u);
  Call("cuMemRelease", same);
  EXPECT_THAT(Story(), ElementsAre("alloc vmm_physical 4096", "free vmm_physical 4096"));
}

TEST_F(ShareHooks, FabricHandlesAreCompared) {
  Start();
  const Handle own = CreateMemory(4096);
  unsigned char fabric[64] = {1, 2, 3}, foreign[64] = {1, 2, 4};
  Call("cuMemExportToShareableHandle", static_cast<void*>(fabric), own, kFabric, 0ull);
  Handle handle = 0;
  Call("cuMemImportFromShareableHandle", &handle, static_cast<void*>(fabric), kFabric);
  Call("cuMemImportFromShareableHandle", &handle, static_cast<void*>(foreign), kFabric);
  EXPECT_THAT(Story(), ElementsAre("alloc vmm_physical 4096", "alloc imported 0"));
}

TEST_F(ShareHooks, AnImportThatIsPassedOnStaysAnImport) {
  Start();
  const Handle foreign = Import(NewFile());
  const int file = Export(foreign);
  Call("cuMemRelease", foreign);
  const Handle back = Import(file);
  Call("cuMemRelease", back);
  EXPECT_EQ(Stats().allocations, 0u);
  EXPECT_THAT(Story(), ElementsAre("alloc imported 0", "free imported 0", "alloc imported 0",
                                   "free imported 0"));
}

TEST_F(ShareHooks, AFailedReleaseOfTheLastNameIsTakenBack) {
  Start();
  const Handle own = CreateMemory(4096);
  const Handle again = Import(Export(own));
  Call("cuMemRelease", own);
  Answer(CUDA_ERROR_INVALID_VALUE);
  Call("cuMemRelease", again);
  EXPECT_EQ(Stats().live_bytes, 4096u);
  Answer(CUDA_SUCCESS);
  Call("cuMemRelease", again);
  EXPECT_EQ(Stats().live_bytes, 0u);
  EXPECT_EQ(Finish().WithOp(log::OP_FREE_FAILED).at(0).address, own);
}

TEST_F(ShareHooks, ExportsThatFailOrAreOfUnknownMemoryMarkNothing) {
  Start();
  const Handle own = CreateMemory(4096);
  Answer(CUDA_ERROR_NOT_SUPPORTED);
  int file = NewFile();
  Call("cuMemExportToShareableHandle", static_cast<void*>(&file), own, kFile, 0ull);
  EXPECT_EQ(fcntl(file, F_GETOWN), 0);
  Answer(CUDA_SUCCESS);
  Call("cuMemExportToShareableHandle", static_cast<void*>(&file), Handle{0x999}, kFile, 0ull);
  EXPECT_EQ(fcntl(file, F_GETOWN), 0);
  Call("cuMemExportToShareableHandle", static_cast<void*>(nullptr), own, kFile, 0ull);
}

// Addresses: where CUDA lets a process open its own export, the memory is recognised as its own.
TEST_F(ShareHooks, AddressesOfItsOwn) {
  Start();
  CUdeviceptr own = 0, opened = 0, pooled = 0;
  Call("cuMemAlloc_v2", &own, std::size_t{640});
  CUipcMemHandle handle{}, foreign{};
  handle.reserved[0] = 7;
  Call("cuIpcGetMemHandle", &handle, own);
  Call("cuIpcGetMemHandle", &handle, own);  // once more: no other event
  Call("cuIpcOpenMemHandle_v2", &opened, handle, 1u);
  CUmemPoolPtrExportData data{};
  data.reserved[0] = 8;
  Call("cuMemPoolExportPointer", &data, own);
  Call("cuMemPoolImportPointer", &pooled, static_cast<CUmemoryPool>(At(0x66)), &data);
  CUdeviceptr other = 0;
  Call("cuIpcOpenMemHandle_v2", &other, foreign, 1u);
  const std::vector<Event> made = Events();
  std::vector<std::pair<std::uint64_t, std::uint64_t>> imports;
  for (const Event& event : made)
    if (event.layer == log::LAYER_IMPORTED) imports.emplace_back(event.aux1, event.aux0);
  ASSERT_EQ(imports.size(), 3u);
  const std::uint64_t number = imports[2].second;
  EXPECT_EQ(imports, (std::vector<std::pair<std::uint64_t, std::uint64_t>>{
                         {kImportOwn, own}, {kImportOwn, own}, {kImportIpc, number}}));
  std::set<std::uint64_t> numbers = {0, number};  // each handle has another
  for (const Event& event : made) {
    if (event.op != log::OP_EXPORTED) continue;
    EXPECT_EQ(event.address, own);
    EXPECT_TRUE(numbers.insert(event.aux0).second);
  }
  EXPECT_EQ(numbers.size(), 4u);
  EXPECT_EQ(Stats().live_bytes, 640u);
  Call("cuIpcCloseMemHandle", opened);
  Call("cuMemFreeAsync", pooled, CUstream{});
  EXPECT_EQ(Stats().live_bytes, 640u);
  Call("cuMemFree_v2", own);
  EXPECT_EQ(Stats().live_bytes, 0u);
}

}  // namespace
}  // namespace memprof::recorder
