// Files and pages shared between processes.
#include "simcuda/driver/ipc.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <thread>

#include "simcuda/driver/context.h"
#include "simcuda/driver/device.h"
#include "simcuda/driver/pool.h"

namespace memprof::simcuda {
namespace {

constexpr uint64_t kSystemPage = 4096;

// The whole pages that contain the allocation. Other allocations in these pages are shared too, as
// on a real device.
bool PagesOf(const Allocation& allocation, uint64_t* start, uint64_t* bytes) {
  if (allocation.kind == AllocationKind::kStreamOrdered) {
    return allocation.pool->ChunkOf(allocation.address, start, bytes);
  }
  *start = allocation.address / kPageBytes * kPageBytes;
  *bytes = RoundUp(allocation.address + allocation.granted - *start, kPageBytes);
  return true;
}

}  // namespace

RemoteFile DescribeFile(int descriptor) {
  struct stat status = {};
  fstat(descriptor, &status);
  return {getpid(), descriptor, status.st_ino};
}

int OpenRemote(const RemoteFile& file) {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/%d/fd/%d", file.process, file.descriptor);
  // The path may by now be another file, such as a pipe, whose opening must not block.
  const int descriptor = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return -1;
  struct stat status;
  if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_ino == file.inode) {
    return descriptor;
  }
  close(descriptor);
  return -1;
}

CUresult ExportMemory(const Allocation& allocation, uint32_t magic, MemoryHandle* handle) {
  uint64_t start = 0;
  uint64_t bytes = 0;
  if (!PagesOf(allocation, &start, &bytes)) return CUDA_ERROR_INVALID_VALUE;
  DeviceMemory& memory = FindDevice(allocation.device)->memory();
  SharedPages pages;
  bool shared = false;
  // The backing of the pages changes, so no stream may run.
  if (!WhileIdle([&] { shared = memory.SharePages(start, bytes, &pages); }) || !shared) {
    return CUDA_ERROR_MAP_FAILED;
  }
  *handle = {};
  handle->magic = magic;
  handle->device = allocation.device;
  handle->file = DescribeFile(pages.descriptor);
  handle->offset = allocation.address - pages.start;
  handle->requested = allocation.requested;
  handle->id = allocation.id;
  handle->pool = allocation.pool == nullptr ? 0 : allocation.pool->id();
  return CUDA_SUCCESS;
}

CUresult ImportMemory(AllocationKind kind, int descriptor, uint64_t offset, uint64_t bytes,
                      const std::shared_ptr<Context>& context,
                      const std::shared_ptr<Allocation>& allocation) {
  struct stat status;
  uint64_t end = 0;
  if (bytes == 0 || fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) ||
      __builtin_add_overflow(offset, bytes, &end) || end > static_cast<uint64_t>(status.st_size)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const uint64_t skipped = offset % kSystemPage;
  const uint64_t mapped = RoundUp(skipped + bytes, kSystemPage);
  void* mapping = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                       descriptor, static_cast<off_t>(offset - skipped));
  if (mapping == MAP_FAILED) return CUDA_ERROR_MAP_FAILED;
  madvise(mapping, mapped, MADV_DONTFORK);
  allocation->kind = kind;
  allocation->context = context;
  allocation->device = context->device().id();
  allocation->mapping = reinterpret_cast<uint64_t>(mapping);
  allocation->mapping_bytes = mapped;
  allocation->address = allocation->mapping + skipped;
  allocation->requested = allocation->granted = bytes;
  Allocations().Add(allocation);
  return CUDA_SUCCESS;
}

struct SharedEvent::Page {
  std::atomic<uint64_t> recorded;
  std::atomic<uint64_t> completed;
  std::atomic<int32_t> recorder;
};

std::shared_ptr<SharedEvent> SharedEvent::Create() {
  std::shared_ptr<SharedEvent> event(new SharedEvent);
  event->descriptor_ = memfd_create("simcuda event", MFD_CLOEXEC);
  if (event->descriptor_ < 0 || ftruncate(event->descriptor_, kSystemPage) != 0) return nullptr;
  void* page =
      mmap(nullptr, kSystemPage, PROT_READ | PROT_WRITE, MAP_SHARED, event->descriptor_, 0);
  if (page == MAP_FAILED) return nullptr;
  event->page_ = static_cast<Page*>(page);
  return event;
}

std::shared_ptr<SharedEvent> SharedEvent::Open(const RemoteFile& file) {
  std::shared_ptr<SharedEvent> event(new SharedEvent);
  event->descriptor_ = OpenRemote(file);
  struct stat status;
  if (event->descriptor_ < 0 || fstat(event->descriptor_, &status) != 0 ||
      status.st_size != static_cast<off_t>(kSystemPage)) {
    return nullptr;
  }
  void* page =
      mmap(nullptr, kSystemPage, PROT_READ | PROT_WRITE, MAP_SHARED, event->descriptor_, 0);
  if (page == MAP_FAILED) return nullptr;
  event->page_ = static_cast<Page*>(page);
  return event;
}

SharedEvent::~SharedEvent() {
  if (page_ != nullptr) munmap(page_, kSystemPage);
  if (descriptor_ >= 0) close(descriptor_);
}

uint64_t SharedEvent::Record() {
  page_->recorder = getpid();
  return page_->recorded.fetch_add(1) + 1;
}

void SharedEvent::Complete(uint64_t ticket) {
  uint64_t before = page_->completed.load();
  while (before < ticket && !page_->completed.compare_exchange_weak(before, ticket)) {
  }
}

uint64_t SharedEvent::Recorded() const { return page_->recorded.load(); }

bool SharedEvent::Reached(uint64_t ticket) const { return page_->completed.load() >= ticket; }

void SharedEvent::Wait(uint64_t ticket) const {
  for (int round = 0; !Reached(ticket); ++round) {
    if (round % 64 == 63 && kill(page_->recorder.load(), 0) != 0 && errno == ESRCH) return;
    std::this_thread::sleep_for(std::chrono::microseconds(round < 100 ? 20 : 500));
  }
}

}  // namespace memprof::simcuda
