#include "libmemprof/src/log/output_name.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

namespace memprof::recorder {
namespace {

constexpr std::size_t kMostOfValue = 64;

// torchrun, Open MPI, MPICH, PMIx, Slurm, indexed jobs of Kubernetes.
constexpr const char* kRanks[] = {"RANK",      "OMPI_COMM_WORLD_RANK", "PMI_RANK",
                                  "PMIX_RANK", "SLURM_PROCID",         "JOB_COMPLETION_INDEX"};
// Slurm, PBS, LSF, Flux, AWS Batch, manifests of Kubernetes, Ray, torchrun, a launcher of MPI that
// has no scheduler. The order of analysis/base/run_identity.cc.
constexpr const char* kJobs[] = {"SLURM_JOB_ID", "PBS_JOBID",           "LSB_JOBID",
                                 "FLUX_JOB_ID",  "AWS_BATCH_JOB_ID",    "JOB_NAME",
                                 "RAY_JOB_ID",   "TORCHELASTIC_RUN_ID", "PMIX_NAMESPACE"};

bool IsPartOfName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

void CopyName(const char* value, char* piece) {
  std::size_t i = 0;
  for (; value[i] != '\0' && i < kMostOfValue; ++i)
    piece[i] = IsPartOfName(value[i]) ? value[i] : '_';
  piece[i] = '\0';
  if (piece[0] == '.') piece[0] = '_';  // "..", or a hidden file
}

template <std::size_t N>
void FirstOf(const char* const (&names)[N], const char* otherwise, char* piece) {
  for (const char* name : names) {
    const char* value = getenv(name);
    // "none" is torchrun's id of a run that was given none.
    if (value != nullptr && value[0] != '\0' && strcmp(value, "none") != 0)
      return CopyName(value, piece);
  }
  strcpy(piece, otherwise);
}

// What `letter` stands for; false if it is no letter of ours.
bool Value(char letter, char (&piece)[kMostOfValue + 8]) {
  switch (letter) {
    case 'p':
      snprintf(piece, sizeof piece, "%d", static_cast<int>(getpid()));
      return true;
    case 'h':
      if (gethostname(piece, sizeof piece - 1) != 0) strcpy(piece, "localhost");
      return true;
    case 'j':
      FirstOf(kJobs, "job", piece);
      return true;
    case 'r':
      FirstOf(kRanks, "rank", piece);
      return true;
    case '%':
      strcpy(piece, "%");
      return true;
    default:
      return false;
  }
}

}  // namespace

bool ExpandOutput(const char* pattern, char* path, std::size_t size) {
  std::size_t used = 0;
  for (const char* at = pattern; *at != '\0'; ++at) {
    char piece[kMostOfValue + 8] = {*at, '\0'};
    if (*at == '%' && Value(at[1], piece)) ++at;
    const std::size_t length = strlen(piece);
    if (used + length >= size) return false;
    memcpy(path + used, piece, length);
    used += length;
  }
  path[used] = '\0';
  return used > 0;
}

int MakeFolders(const char* pattern, const char* path) {
  char folder[PATH_MAX];
  const char* varies = strchr(pattern, '%');
  if (varies == nullptr || strchr(varies, '/') == nullptr) return 0;
  int slashes = 0;  // in the pattern, from the first name on that varies
  for (const char* at = varies; *at != '\0'; ++at) slashes += *at == '/' ? 1 : 0;
  if (strlen(path) >= sizeof folder) return ENAMETOOLONG;
  strcpy(folder, path);
  for (char* at = folder + strlen(folder); at > folder && slashes > 0; --at)
    if (*at == '/') --slashes, varies = path + (at - folder);
  for (char* at = folder + (varies - path); at != nullptr; at = strchr(at + 1, '/')) {
    if (at == folder) continue;
    *at = '\0';
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) return errno;
    *at = '/';
  }
  return 0;
}

}  // namespace memprof::recorder
