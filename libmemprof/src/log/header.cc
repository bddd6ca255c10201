// Collects the facts of log.Header from /proc and the environment.
#include "libmemprof/src/log/header.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "libmemprof/include/memprof/memprof.h"
#include "libmemprof/src/arch/arch.h"
#include "libmemprof/src/base/text.h"
#include "libmemprof/src/log/proto_writer.h"
#include "proto/framing.h"
#include "proto/run_variables.h"

#define MEMPROF_STRING_(x) #x
#define MEMPROF_STRING(x) MEMPROF_STRING_(x)

namespace memprof::recorder {
namespace {

constexpr std::size_t kMaxArgumentBytes = 64 * 1024;

void AddText(ProtoWriter* message, std::uint32_t field, const char* text, std::size_t length) {
  ByteBuffer clean;
  AppendCleanText(text, length, &clean);
  message->AddBytes(field, clean.data(), clean.size());
}

void AddText(ProtoWriter* message, std::uint32_t field, const char* text) {
  AddText(message, field, text, strlen(text));
}

void AddArguments(ProtoWriter* message) {
  const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  ByteBuffer text;
  if (text.Reserve(kMaxArgumentBytes)) {
    const ssize_t bytes = read(fd, text.data(), kMaxArgumentBytes - 1);
    for (ssize_t at = 0; at < bytes;) {
      const std::size_t length = strnlen(text.data() + at, static_cast<std::size_t>(bytes - at));
      AddText(message, 7, text.data() + at, length);
      at += static_cast<ssize_t>(length) + 1;
    }
  }
  close(fd);
}

}  // namespace

bool EnvironmentBelongsInLog(const char* variable) {
  for (const char* prefix : {"CUDA_", "MEMPROF_", "SIMCUDA=", "PYTORCH_"})
    if (strncmp(variable, prefix, strlen(prefix)) == 0) return true;
  for (const log::RunVariableRow& row : log::kRunVariables) {
    const std::size_t length = strlen(row.name);
    if (strncmp(variable, row.name, length) == 0 && variable[length] == '=') return true;
  }
  return false;
}

void EncodeHeader(std::uint64_t start_ns, std::uint64_t start_unix_ns, const char* ring_path,
                  const log::AlwaysOnBudget& always_on, std::uint32_t segment, ByteBuffer* out) {
  char text[PATH_MAX];
  ProtoWriter message(*out);
  message.AddVarint(1, log::kFormatVersion);
  message.AddText(2, MEMPROF_STRING(MEMPROF_VERSION_MAJOR) "." MEMPROF_STRING(
                         MEMPROF_VERSION_MINOR) "." MEMPROF_STRING(MEMPROF_VERSION_PATCH));
  message.AddVarint(3, static_cast<std::uint32_t>(getpid()));
  message.AddVarint(4, static_cast<std::uint32_t>(getppid()));
  if (gethostname(text, sizeof text - 1) == 0) AddText(&message, 5, text);
  const ssize_t executable = readlink("/proc/self/exe", text, sizeof text);
  if (executable > 0) AddText(&message, 6, text, static_cast<std::size_t>(executable));
  AddArguments(&message);
  if (getcwd(text, sizeof text) != nullptr) AddText(&message, 8, text);
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
    if (EnvironmentBelongsInLog(*variable)) AddText(&message, 9, *variable);
  message.AddVarint(10, start_ns);
  message.AddVarint(11, start_unix_ns);
  if (ring_path[0] != '\0') AddText(&message, 12, ring_path);
  message.AddText(13, arch::kName);
  if (!always_on.wanted()) return;
  ProtoWriter budget(message, 14);
  budget.AddVarint(1, always_on.budget_bytes);
  budget.AddVarint(2, always_on.period_ns);
  budget.AddVarint(3, segment);
}

}  // namespace memprof::recorder
