// How `memprof run` and `memprof attach` talk to the `memprof watch` that they start.
#pragma once

namespace memprof::cli {

// The variable with the number of the watcher's end of a stream socket. The watcher writes
// lines for the user and kWatcherReady once it may be relied on, or the line of an error, and ends.
// The other end writes names of logs, each before a zero, and is closed when no more come: the
// watcher then ends when no log is written any more.
inline constexpr char kWatcherChannel[] = "MEMPROF_WATCH_CHANNEL";
inline constexpr char kWatcherReady = '+';

}  // namespace memprof::cli
