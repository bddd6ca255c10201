#include "peer.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

namespace {

constexpr int kSocket = 3;  // the second process's end
int g_socket = kSocket;
pid_t g_peer = 0;

void Must(bool good, const char* what) {
  if (!good) throw std::system_error(errno, std::generic_category(), what);
}

// The memory of the peer must be free when this process has ended.
struct End {
  ~End() {
    if (g_peer == 0) return;
    close(g_socket);
    waitpid(g_peer, nullptr, 0);
  }
} g_end;

}  // namespace

void StartPeer(const char* part, bool recorded) {
  int ends[2];
  Must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0, "socketpair");
  const pid_t peer = fork();
  Must(peer >= 0, "fork");
  if (peer != 0) {
    g_peer = peer;
    g_socket = ends[0];
    close(ends[1]);
    return;
  }
  const char* file = recorded ? "peer.out" : "/dev/null";
  const int out = open(file, O_CREAT | O_WRONLY | O_TRUNC, 0600);
  if (out < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(ends[1], kSocket) < 0) _exit(7);
  if (recorded)
    setenv("MEMPROF_OUTPUT", "peer.mprof", 1);
  else
    setenv("MEMPROF_DISABLE", "1", 1);
  execl("/proc/self/exe", kPeerName, part, nullptr);
  _exit(7);
}

void WaitForPeer() {
  int status = 0;
  Must(waitpid(std::exchange(g_peer, 0), &status, 0) > 0, "waitpid");
  if (status != 0) throw std::runtime_error("the other process failed");
}

void Put(const void* data, std::size_t size, int file) {
  iovec part{const_cast<void*>(data), size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{nullptr, 0, &part, 1, control, sizeof control, 0};
  if (file >= 0) {
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    *header = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
    std::memcpy(CMSG_DATA(header), &file, sizeof file);
  } else {
    message.msg_controllen = 0;
  }
  Must(sendmsg(g_socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(size), "send");
}

bool Get(void* data, std::size_t size, int* file) {
  iovec part{data, size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{nullptr, 0, &part, 1, control, sizeof control, 0};
  const ssize_t got = recvmsg(g_socket, &message, 0);
  if (got == 0) return false;
  Must(got == static_cast<ssize_t>(size), "receive");
  if (file != nullptr) {
    Must(CMSG_FIRSTHDR(&message) != nullptr, "no descriptor came");
    std::memcpy(file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof *file);
  }
  return true;
}
