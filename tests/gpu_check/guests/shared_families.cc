// Memory of other owners: of another process, by IPC handle, and of another interface, by file
// descriptor.
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "driver.h"
#include "families.h"

namespace memprof::gpu_check {
namespace {

// A second process of this program, which allocates and sends its handles. It is started before
// this process uses CUDA, and is not recorded.
class Exporter {
 public:
  Exporter() {
    int down[2], up[2];
    if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0)
      throw std::runtime_error("no pipes");
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, down[0], 0);
    posix_spawn_file_actions_adddup2(&files, up[1], 1);
    char program[] = "/proc/self/exe", mode[] = "ipc-exporter";
    char* const arguments[] = {program, mode, nullptr};
    setenv("MEMPROF_DISABLE", "1", 1);
    const int error = posix_spawn(&child_, program, &files, nullptr, arguments, environ);
    unsetenv("MEMPROF_DISABLE");
    posix_spawn_file_actions_destroy(&files);
    close(down[0]);
    close(up[1]);
    to_ = down[1];
    from_ = up[0];
    if (error != 0) throw std::runtime_error("the second process could not be started");
  }
  ~Exporter() {
    close(to_);
    close(from_);
    waitpid(child_, nullptr, 0);
  }
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;
  CUipcMemHandle Ask(std::uint64_t bytes) const {
    struct {
      std::int64_t result;
      CUipcMemHandle handle;
    } answer{};
    if (write(to_, &bytes, sizeof bytes) != sizeof bytes ||
        read(from_, &answer, sizeof answer) != sizeof answer)
      throw std::runtime_error("the second process is gone");
    Check(static_cast<CUresult>(answer.result), "cuIpcGetMemHandle (second process)");
    return answer.handle;
  }

 private:
  pid_t child_ = 0;
  int to_ = -1;
  int from_ = -1;
};

class Ipc : public Family {
  std::uint64_t Take(std::uint64_t bytes) override {
    const CUipcMemHandle handle = exporter_.Ask(bytes);
    CUdeviceptr block = 0;
    CALL(cuIpcOpenMemHandle_v2, &block, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    blocks_.push_back(block);
    return bytes;
  }
  void GiveBack() override {
    for (const CUdeviceptr block : blocks_) CALL(cuIpcCloseMemHandle, block);
    blocks_.clear();
  }
  Exporter exporter_;
  std::vector<CUdeviceptr> blocks_;
};

// On a GPU the descriptor would have to come from Vulkan or another interface with its own driver;
// the stand-in accepts a file in memory.
class External : public Family {
  void Prepare() override {
    if (!IsStandIn())
      throw Skipped("nothing here exports memory to CUDA (that takes Vulkan or another interface)");
  }
  std::uint64_t Take(std::uint64_t bytes) override {
    const int file = memfd_create("external", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0)
      throw std::runtime_error("no file in memory");
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC description{};
    description.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    description.handle.fd = file;
    description.size = bytes;
    Import import{};
    CALL(cuImportExternalMemory, &import.memory, &description);
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC all{};
    all.size = bytes;
    CALL(cuExternalMemoryGetMappedBuffer, &import.buffer, import.memory, &all);
    imports_.push_back(import);
    return bytes;
  }
  void GiveBack() override {
    for (const Import& import : imports_) {
      CALL(cuMemFree_v2, import.buffer);
      CALL(cuDestroyExternalMemory, import.memory);
    }
    imports_.clear();
  }
  struct Import {
    CUexternalMemory memory;
    CUdeviceptr buffer;
  };
  std::vector<Import> imports_;
};

}  // namespace

std::unique_ptr<Family> MakeSharedFamily(const std::string& name) {
  if (name == "ipc") return std::make_unique<Ipc>();
  if (name == "external") return std::make_unique<External>();
  return nullptr;
}

// Reads sizes and answers with handles until its input ends.
int ExportMemory() {
  UsePrimaryContext();
  std::uint64_t bytes = 0;
  while (read(0, &bytes, sizeof bytes) == sizeof bytes) {
    struct {
      std::int64_t result;
      CUipcMemHandle handle;
    } answer{};
    CUdeviceptr block = 0;
    CUresult result = Find<decltype(&cuMemAlloc_v2)>("cuMemAlloc_v2")(&block, bytes);
    if (result == CUDA_SUCCESS)
      result = Find<decltype(&cuIpcGetMemHandle)>("cuIpcGetMemHandle")(&answer.handle, block);
    answer.result = result;
    if (write(1, &answer, sizeof answer) != sizeof answer) return 1;
  }
  return 0;
}

}  // namespace memprof::gpu_check
