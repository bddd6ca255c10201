// The file in which the recorders of one `memprof run` name their logs. `memprof run` makes it in
// the folder of the rings, sets MEMPROF_RUN to its path, and removes it at its end. After the magic
// come paths, each between two zeros; other entries are no logs.
#pragma once

namespace memprof::log {

inline constexpr char kRunListMagic[8] = {'m', 'p', 'r', 'u', 'n', 's', '1', '\n'};
// The entry of a recorder that could not begin its log, and has said why.
inline constexpr char kNoLogEntry[] = "!";
// Nothing is added to a longer one, and it does not count as whole.
inline constexpr long kFullRunList = 128 * 1024;

}  // namespace memprof::log
