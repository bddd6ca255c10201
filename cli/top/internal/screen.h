// The terminal as a screen that is drawn again and again. It is as before when this object is gone,
// and also after a signal ends the process or stops it; only SIGKILL leaves it as it is.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace memprof::cli {

enum class Key { kQuit, kUp, kDown, kSort };

// One at a time.
class Screen {
 public:
  // Whether standard output is a terminal that can do it.
  static bool Possible();

  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  std::pair<std::size_t, std::size_t> size() const;  // columns, lines
  // As many lines as there are, or fewer. False if nobody sees it any more.
  bool Draw(const std::vector<std::string>& lines);
  // Those pressed within `longest`; returns as soon as there is one.
  std::vector<Key> Keys(std::chrono::milliseconds longest);
  // Whether it has to be drawn again, since the process was stopped.
  bool WasStopped();
};

}  // namespace memprof::cli
