#include "libmemprof/src/log/output_name.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/run_variables.h"

namespace memprof::recorder {
namespace {

constexpr std::size_t kMostOfValue = 64;

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

void FirstOf(log::RunVariable meaning, const char* otherwise, char* piece) {
  for (const log::RunVariableRow& row : log::kRunVariables) {
    if (row.meaning != meaning) continue;
    const char* value = getenv(row.name);
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
      FirstOf(log::RunVariable::kJob, "job", piece);
      return true;
    case 'r':
      FirstOf(log::RunVariable::kRank, "rank", piece);
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

std::size_t ExtensionAt(const char* path) {
  const char* slash = strrchr(path, '/');
  const char* dot = strrchr(slash == nullptr ? path : slash, '.');
  return dot == nullptr || dot == path || dot[-1] == '/' ? strlen(path)
                                                         : static_cast<std::size_t>(dot - path);
}

}  // namespace memprof::recorder
