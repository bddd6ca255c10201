// Exports of this process are distinguished from those of others, with real file descriptors.
#include "libmemprof/src/driver/export_table.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <vector>

namespace memprof::recorder {
namespace {

class File {
 public:
  File() : descriptor_(memfd_create("export", MFD_CLOEXEC)) { EXPECT_GE(descriptor_, 0); }
  ~File() { Close(); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const { return descriptor_; }
  void Close() {
    if (descriptor_ >= 0) close(descriptor_);
    descriptor_ = -1;
  }

 private:
  int descriptor_;
};

TEST(ExportTable, ADescriptorIsKnownByWhateverNumberItHas) {
  ExportTable table;
  File file, foreign;
  table.AddDescriptor(file.get(), {7, 4096, 1, 8});
  ExportTable::Memory memory;
  ASSERT_TRUE(table.FindDescriptor(file.get(), &memory));
  EXPECT_EQ(memory.handle, 7u);
  EXPECT_EQ(memory.bytes, 4096u);
  EXPECT_EQ(memory.device, 1);
  EXPECT_EQ(memory.layer, 8);
  const int copy = dup(file.get());
  const int number = file.get();
  file.Close();
  EXPECT_TRUE(table.FindDescriptor(copy, &memory))
      << "another descriptor number, but the same export";
  EXPECT_EQ(memory.handle, 7u);
  // Another process's file gets the descriptor number of the export.
  ASSERT_EQ(dup2(foreign.get(), number), number);
  EXPECT_FALSE(table.FindDescriptor(number, &memory));
  close(number);
  EXPECT_FALSE(table.FindDescriptor(number, &memory)) << "closed";
  EXPECT_FALSE(table.FindDescriptor(-1, &memory));
  close(copy);
}

TEST(ExportTable, AChildThatInheritsTheFileHasNotExportedIt) {
  ExportTable table;
  File file;
  table.AddDescriptor(file.get(), {7, 4096, 1, 8});
  const pid_t child = fork();
  if (child == 0) {
    ExportTable::Memory memory;
    _exit(table.FindDescriptor(file.get(), &memory) ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(ExportTable, AFileWithAnOwnerKeepsIt) {
  ExportTable table;
  File file;
  ASSERT_EQ(fcntl(file.get(), F_SETOWN, getppid()), 0);
  table.AddDescriptor(file.get(), {7, 4096, 1, 8});
  EXPECT_EQ(fcntl(file.get(), F_GETOWN), getppid());
  EXPECT_EQ(fcntl(file.get(), F_GETSIG), 0);
  ExportTable::Memory memory;
  EXPECT_FALSE(table.FindDescriptor(file.get(), &memory));
  File own;  // this process owns the file, but did not export it
  ASSERT_EQ(fcntl(own.get(), F_SETOWN, getpid()), 0);
  EXPECT_FALSE(table.FindDescriptor(own.get(), &memory));
  table.AddDescriptor(-1, {7, 4096, 1, 8});  // cannot be marked; errno must stay unchanged
}

TEST(ExportTable, EndedMemoryIsKnownWithoutItsHandle) {
  ExportTable table;
  File file, other;
  table.AddDescriptor(file.get(), {7, 4096, 1, 8});
  table.AddDescriptor(other.get(), {8, 512, 0, 8});
  table.End(7);
  ExportTable::Memory memory;
  ASSERT_TRUE(table.FindDescriptor(file.get(), &memory));
  EXPECT_EQ(memory.handle, 0u);
  EXPECT_EQ(memory.bytes, 4096u);
  ASSERT_TRUE(table.FindDescriptor(other.get(), &memory));
  EXPECT_EQ(memory.handle, 8u);
  table.ReviveDescriptor(file.get(), 9);
  ASSERT_TRUE(table.FindDescriptor(file.get(), &memory));
  EXPECT_EQ(memory.handle, 9u);
}

// A mark is not used for a second export while the memory of the first one is live.
TEST(ExportTable, MarksRunOutRatherThanGoWrong) {
  ExportTable table;
  std::vector<std::unique_ptr<File>> files;
  ExportTable::Memory memory;
  for (std::uint64_t handle = 1; handle <= ExportTable::kDescriptors + 2; ++handle) {
    files.push_back(std::make_unique<File>());
    table.AddDescriptor(files.back()->get(), {handle, 1, 0, 8});
    const bool marked = handle <= ExportTable::kDescriptors;
    ASSERT_EQ(table.FindDescriptor(files.back()->get(), &memory), marked) << handle;
    if (marked) {
      ASSERT_EQ(memory.handle, handle);
    }
  }
  table.End(5);
  files.push_back(std::make_unique<File>());
  table.AddDescriptor(files.back()->get(), {1000, 1, 0, 8});
  ASSERT_TRUE(table.FindDescriptor(files.back()->get(), &memory));
  EXPECT_EQ(memory.handle, 1000u);
}

TEST(ExportTable, ContentsAreComparedByKindAndBytes) {
  ExportTable table;
  char ipc[ExportTable::kContentBytes], other[ExportTable::kContentBytes];
  std::memset(ipc, 1, sizeof ipc);
  std::memset(other, 1, sizeof other);
  other[sizeof other - 1] = 2;
  table.AddContent(ExportTable::Kind::kAddress, ipc, {0x7000, 0, 0, 0});
  ExportTable::Memory memory;
  ASSERT_TRUE(table.FindContent(ExportTable::Kind::kAddress, ipc, &memory));
  EXPECT_EQ(memory.handle, 0x7000u);
  EXPECT_FALSE(table.FindContent(ExportTable::Kind::kAddress, other, &memory));
  EXPECT_FALSE(table.FindContent(ExportTable::Kind::kPhysical, ipc, &memory));
  table.AddContent(ExportTable::Kind::kAddress, ipc, {0x8000, 0, 0, 0});  // the latest entry counts
  ASSERT_TRUE(table.FindContent(ExportTable::Kind::kAddress, ipc, &memory));
  EXPECT_EQ(memory.handle, 0x8000u);
  table.AddContent(ExportTable::Kind::kPhysical, other, {0x8000, 64, 0, 8});
  table.End(0x8000);
  ASSERT_TRUE(table.FindContent(ExportTable::Kind::kPhysical, other, &memory));
  EXPECT_EQ(memory.handle, 0u);
  table.ReviveContent(ExportTable::Kind::kPhysical, other, 3);
  ASSERT_TRUE(table.FindContent(ExportTable::Kind::kPhysical, other, &memory));
  EXPECT_EQ(memory.handle, 3u);
  ASSERT_TRUE(table.FindContent(ExportTable::Kind::kAddress, ipc, &memory));
  EXPECT_EQ(memory.handle, 0x8000u) << "an address is not a handle";
}

TEST(ExportTable, TheOldestContentsAreForgotten) {
  ExportTable table;
  char content[ExportTable::kContentBytes] = {};
  ExportTable::Memory memory;
  for (std::uint64_t i = 0; i <= ExportTable::kContents; ++i) {
    std::memcpy(content, &i, sizeof i);
    table.AddContent(ExportTable::Kind::kAddress, content, {i + 1, 0, 0, 0});
  }
  EXPECT_TRUE(table.FindContent(ExportTable::Kind::kAddress, content, &memory));
  std::memset(content, 0, sizeof content);
  EXPECT_FALSE(table.FindContent(ExportTable::Kind::kAddress, content, &memory));
}

}  // namespace
}  // namespace memprof::recorder
