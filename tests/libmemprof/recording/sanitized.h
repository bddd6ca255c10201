// Whether a sanitizer is in this process: its own malloc, stacks and copies of words.
#pragma once

namespace memprof::recorder {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace memprof::recorder
