// The page of a recorder that tells how far `memprof attach` is: a variable of libmemprof.so,
// exported as memprof_attach_page, which the command reads and writes in the memory of the program.
// Plain data; numbers are read and written in one piece. Besides it, the two only share the log.
//
//   kNever -> kStarting -> kRecording -> kEnding -> kEnded
//                |  ^                                |
//                v  +--------------------------------+  attached again
//             kFailed
#pragma once

#include <cstdint>

namespace memprof::log {

enum class AttachState : std::uint32_t { kNever, kStarting, kRecording, kEnding, kEnded, kFailed };

inline constexpr std::uint32_t kAttachLayout = 1;

struct AttachPage {
  std::uint32_t state;       // AttachState, written by the recorder alone
  std::uint32_t layout;      // kAttachLayout; another one if the members change
  std::uint32_t end_wanted;  // 1: written by `memprof detach`; 0: by the recorder when it begins
  char log[4096];            // path of the recording; ends in a zero, as `error`
  char error[256];           // why it failed
};

}  // namespace memprof::log
