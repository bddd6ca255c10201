// A guest of memory with other owners. In scenarios with two processes the guest starts itself
// again as the second process ("peer"), which prints to peer.out, and communicates by a socket.
//
//   ipc physical pool   the peer imports what this process allocates, and leaves one import open
//   external            memory of another interface, by descriptor
//   own                 memory that this process exports and imports itself
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "by_name.h"

namespace {

constexpr std::size_t kPage = 2 << 20;
constexpr int kSocket = 3;  // the second process's end
constexpr CUmemAllocationHandleType kFile = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
int g_socket = -1;
pid_t g_peer = 0;

void Must(bool good, const char* what) {
  if (good) return;
  std::perror(what);
  std::_Exit(7);
}

// Before the driver is opened, as launchers of workers do.
void StartPeer(const char* scenario) {
  int ends[2];
  Must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0, "socketpair");
  g_peer = fork();
  Must(g_peer >= 0, "fork");
  g_socket = ends[0];
  if (g_peer != 0) return;
  const int out = open("peer.out", O_CREAT | O_WRONLY | O_TRUNC, 0600);
  Must(out >= 0 && dup2(out, STDOUT_FILENO) >= 0 && dup2(ends[1], kSocket) >= 0, "dup2");
  setenv("MEMPROF_OUTPUT", "peer.mprof", 1);
  execl("/proc/self/exe", "peer", scenario, nullptr);
  Must(false, "exec");
}

// Sends a value and, unless it is negative, a descriptor.
template <typename Value>
void Send(const Value& value, int file = -1) {
  iovec data{const_cast<Value*>(&value), sizeof value};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (file >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    *header = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
    std::memcpy(CMSG_DATA(header), &file, sizeof file);
  }
  Must(sendmsg(g_socket, &message, 0) == static_cast<ssize_t>(sizeof value), "send");
}

template <typename Value>
Value Receive(int* file = nullptr) {
  Value value;
  iovec data{&value, sizeof value};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  Must(recvmsg(g_socket, &message, 0) == static_cast<ssize_t>(sizeof value), "receive");
  if (file != nullptr) {
    Must(CMSG_FIRSTHDR(&message) != nullptr, "no descriptor came");
    std::memcpy(file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof *file);
  }
  return value;
}

void WaitForPeer() {
  int status = 0;
  Must(waitpid(g_peer, &status, 0) == g_peer && status == 0, "the peer failed");
}

CUdeviceptr Allocate(std::size_t bytes) {
  CUdeviceptr memory = 0;
  MUST(SYMBOL(cuMemAlloc_v2)(&memory, bytes));
  Expect("alloc", "linear", 0, memory, bytes, "cuMemAlloc_v2");
  return memory;
}

void Ipc() {
  UsePrimary();
  const CUdeviceptr closed = Allocate(3 * kPage), kept = Allocate(kPage);
  const auto get = PROC(cuIpcGetMemHandle, "cuIpcGetMemHandle", 4010);
  for (const CUdeviceptr memory : {closed, kept}) {
    CUipcMemHandle handle;
    MUST(get(&handle, memory));
    Send(handle);
  }
  WaitForPeer();
  Expect("free", "linear", 0, closed, 3 * kPage, "cuMemFree_v2");
  MUST(PROC(cuMemFree_v2, "cuMemFree", 3020)(closed));
}

void IpcPeer() {
  UsePrimary();
  const auto open = PROC(cuIpcOpenMemHandle_v2, "cuIpcOpenMemHandle", 11000);
  const auto close = PROC(cuIpcCloseMemHandle, "cuIpcCloseMemHandle", 4010);
  const auto first = Receive<CUipcMemHandle>(), second = Receive<CUipcMemHandle>();
  CUdeviceptr memory = 0, again = 0, kept = 0, none = 0;
  MUST(open(&memory, first, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  Expect("alloc", "imported", 0, memory, 3 * kPage, "cuIpcOpenMemHandle_v2");
  MUST(open(&again, first, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
  MUST_HOLD(again == memory);
  MUST(SYMBOL_LIKE(cuIpcOpenMemHandle_v2, "cuIpcOpenMemHandle")(&kept, second, 1));
  Expect("alloc", "imported", 0, kept, kPage, "cuIpcOpenMemHandle");
  MUST_FAIL(CUDA_ERROR_INVALID_HANDLE, open(&none, CUipcMemHandle{}, 1));
  Expect("alloc_failed", "imported", 0, 0, 0, "cuIpcOpenMemHandle_v2");
  MUST(close(memory));
  Expect("free", "imported", 0, memory, 3 * kPage, "cuIpcCloseMemHandle");
  MUST(close(memory));
  AskForTooMuch();
}

CUmemGenericAllocationHandle CreateShared(std::size_t bytes) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  properties.requestedHandleTypes = kFile;
  CUmemGenericAllocationHandle handle = 0;
  const auto create = PROC(cuMemCreate, "cuMemCreate", 10020);
  MUST(create(&handle, bytes, &properties, 0));
  Expect("alloc", "vmm", 0, handle, bytes, "cuMemCreate");
  return handle;
}

int Exported(CUmemGenericAllocationHandle handle) {
  int file = -1;
  const auto export_it = PROC(cuMemExportToShareableHandle, "cuMemExportToShareableHandle", 10020);
  MUST(export_it(&file, handle, kFile, 0));
  return file;
}

CUmemGenericAllocationHandle Imported(int file) {
  CUmemGenericAllocationHandle handle = 0;
  void* shared = reinterpret_cast<void*>(static_cast<std::intptr_t>(file));
  const auto import = PROC(cuMemImportFromShareableHandle, "cuMemImportFromShareableHandle", 10020);
  MUST(import(&handle, shared, kFile));
  return handle;
}

void Physical() {
  UsePrimary();
  const CUmemGenericAllocationHandle memory = CreateShared(2 * kPage), kept = CreateShared(kPage);
  Send(memory, Exported(memory));
  Send(kept, Exported(kept));
  WaitForPeer();
  Expect("free", "vmm", 0, memory, 2 * kPage, "cuMemRelease");
  MUST(SYMBOL(cuMemRelease)(memory));
}

void PhysicalPeer() {
  UsePrimary();
  int files[2] = {-1, -1};
  for (int& file : files) Receive<CUmemGenericAllocationHandle>(&file);
  const CUmemGenericAllocationHandle memory = Imported(files[0]);
  Expect("alloc", "imported", 0, memory, 0, "cuMemImportFromShareableHandle");
  const CUmemGenericAllocationHandle kept = Imported(files[1]);
  Expect("alloc", "imported", 0, kept, 0, "cuMemImportFromShareableHandle");
  CUdeviceptr range = 0;
  MUST(SYMBOL(cuMemAddressReserve)(&range, 2 * kPage, 0, 0, 0));
  Expect("alloc", "vmm-address", 0, range, 2 * kPage, "cuMemAddressReserve");
  MUST(SYMBOL(cuMemMap)(range, 2 * kPage, 0, memory, 0));
  Expect("map", "vmm-address", 0, range, 2 * kPage, "cuMemMap");
  MUST(SYMBOL(cuMemRelease)(memory));
  MUST(SYMBOL(cuMemUnmap)(range, 2 * kPage));
  Expect("free", "imported", 0, memory, 0, "cuMemUnmap");
  Expect("unmap", "vmm-address", 0, range, 2 * kPage, "cuMemUnmap");
  AskForTooMuch();
}

// Importing memory that this process already has gives one more handle of it.
void Own() {
  UsePrimary();
  const CUmemGenericAllocationHandle memory = CreateShared(2 * kPage);
  const CUmemGenericAllocationHandle again = Imported(Exported(memory));
  MUST(SYMBOL(cuMemRelease)(memory));
  Expect("free", "vmm", 0, memory, 2 * kPage, "cuMemRelease");
  MUST(SYMBOL(cuMemRelease)(again));
  AskForTooMuch();
}

void Pool() {
  UsePrimary();
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  properties.handleTypes = kFile;
  CUmemoryPool pool = nullptr;
  MUST(PROC(cuMemPoolCreate, "cuMemPoolCreate", 11020)(&pool, &properties));
  Expect("pool_create", "stream-ordered", 0, pool, 0, "cuMemPoolCreate");
  int file = -1;
  MUST(SYMBOL(cuMemPoolExportToShareableHandle)(&file, pool, kFile, 0));
  Send(0, file);
  const auto from = PROC(cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync", 11020);
  for (const std::size_t bytes : {3000, 5000}) {
    CUdeviceptr memory = 0;
    MUST(from(&memory, bytes, pool, nullptr));
    Expect("alloc", "stream-ordered", 0, memory, bytes, "cuMemAllocFromPoolAsync");
    CUmemPoolPtrExportData data;
    MUST(PROC(cuMemPoolExportPointer, "cuMemPoolExportPointer", 11020)(&data, memory));
    Send(data);
  }
  WaitForPeer();
}

void PoolPeer() {
  UsePrimary();
  int file = -1;
  Receive<int>(&file);
  CUmemoryPool pool = nullptr;
  const auto import =
      PROC(cuMemPoolImportFromShareableHandle, "cuMemPoolImportFromShareableHandle", 11020);
  MUST(import(&pool, reinterpret_cast<void*>(static_cast<std::intptr_t>(file)), kFile, 0));
  Expect("pool_create", "imported", 0, pool, 0, "cuMemPoolImportFromShareableHandle");
  CUdeviceptr memory[2] = {};
  const std::size_t bytes[2] = {3000, 5000};
  const auto open = PROC(cuMemPoolImportPointer, "cuMemPoolImportPointer", 11020);
  for (int i = 0; i < 2; ++i) {
    auto data = Receive<CUmemPoolPtrExportData>();
    MUST(open(&memory[i], pool, &data));
    Expect("alloc", "imported", 0, memory[i], bytes[i], "cuMemPoolImportPointer");
  }
  Expect("free", "imported", 0, memory[0], bytes[0], "cuMemFreeAsync");
  MUST(PROC(cuMemFreeAsync, "cuMemFreeAsync", 11020)(memory[0], nullptr));
  AskForTooMuch();
}

// One object is closed with its view; the other one stays open with its view.
void External() {
  UsePrimary();
  const auto import = PROC(cuImportExternalMemory, "cuImportExternalMemory", 10000);
  const auto view = PROC(cuExternalMemoryGetMappedBuffer, "cuExternalMemoryGetMappedBuffer", 10000);
  CUexternalMemory objects[2] = {};
  CUdeviceptr views[2] = {};
  for (int i = 0; i < 2; ++i) {
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC description{};
    description.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    description.handle.fd = memfd_create("external", MFD_CLOEXEC);
    description.size = 3 * kPage;
    Must(ftruncate(description.handle.fd, 3 * kPage) == 0, "ftruncate");
    MUST(import(&objects[i], &description));
    Expect("alloc", "imported", 0, objects[i], 3 * kPage, "cuImportExternalMemory");
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC part{};
    part.offset = kPage;
    part.size = kPage;
    MUST(view(&views[i], objects[i], &part));
    Expect("alloc", "imported", 0, views[i], kPage, "cuExternalMemoryGetMappedBuffer");
  }
  Expect("free", "imported", 0, views[0], kPage, "cuMemFree_v2");
  MUST(PROC(cuMemFree_v2, "cuMemFree", 3020)(views[0]));
  Expect("free", "imported", 0, objects[0], 3 * kPage, "cuDestroyExternalMemory");
  MUST(PROC(cuDestroyExternalMemory, "cuDestroyExternalMemory", 10000)(objects[0]));
  AskForTooMuch();
}

constexpr Scenario kScenarios[] = {
    {"ipc", Ipc}, {"physical", Physical}, {"pool", Pool}, {"own", Own}, {"external", External}};
constexpr Scenario kPeers[] = {{"ipc", IpcPeer}, {"physical", PhysicalPeer}, {"pool", PoolPeer}};

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[0], "peer") == 0) {
    g_socket = kSocket;
    return RunScenario(kPeers, argc, argv);
  }
  for (const Scenario& peer : kPeers)
    if (argc == 2 && std::strcmp(argv[1], peer.name) == 0) StartPeer(peer.name);
  return RunScenario(kScenarios, argc, argv);
}
