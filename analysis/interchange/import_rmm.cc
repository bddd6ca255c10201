// The CSV files of RMM's logging resource adaptor: one row for each call of a memory resource.
//
//     Thread,Time,Action,Pointer,Size,Stream
//     4242,14:21:19.998533,allocate,0x30a000000,256,0
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "analysis/interchange/import.h"
#include "analysis/interchange/internal/constants.h"
#include "analysis/log/wire.h"

namespace memprof::analysis {
namespace {

constexpr std::string_view kHeader = "Thread,Time,Action,Pointer,Size,Stream";
constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr std::uint64_t kNsPerDay = 86'400 * kNsPerSecond;
constexpr std::size_t kMostThreads = 1 << 16;
constexpr int kMaxDevice = 1023;

template <typename T>
bool ParseWhole(std::string_view text, T* value, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value, base);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

// Addresses and streams: hexadecimal, with or without 0x.
bool ParseHex(std::string_view text, std::uint64_t* value) {
  if (text.substr(0, 2) == "0x" || text.substr(0, 2) == "0X") text.remove_prefix(2);
  return ParseWhole(text, value, 16);
}

// "14:21:19.998533" or "14:21:19:998533": of a day.
bool ParseClock(std::string_view text, std::uint64_t* ns) {
  if (text.size() < 10 || text[2] != ':' || text[5] != ':' || (text[8] != '.' && text[8] != ':'))
    return false;
  std::uint64_t hours = 0, minutes = 0, seconds = 0, fraction = 0;
  std::string_view digits = text.substr(9);
  if (!ParseWhole(text.substr(0, 2), &hours) || !ParseWhole(text.substr(3, 2), &minutes) ||
      !ParseWhole(text.substr(6, 2), &seconds) || digits.size() > 9 ||
      !ParseWhole(digits, &fraction) || hours > 23 || minutes > 59 || seconds > 60)
    return false;
  for (std::size_t i = digits.size(); i < 9; ++i) fraction *= 10;
  *ns = (hours * 3600 + minutes * 60 + seconds) * kNsPerSecond + fraction;
  return true;
}

// "1634567890.123456": seconds since 1970.
bool ParseSeconds(std::string_view text, std::uint64_t* ns) {
  const std::size_t point = std::min(text.find('.'), text.size());
  std::uint64_t seconds = 0, fraction = 0;
  if (!ParseWhole(text.substr(0, point), &seconds) || seconds > 1u << 31) return false;
  if (point < text.size()) {
    const std::string_view digits = text.substr(point + 1, 9);
    if (!ParseWhole(digits, &fraction)) return false;
    for (std::size_t i = digits.size(); i < 9; ++i) fraction *= 10;
  }
  *ns = seconds * kNsPerSecond + fraction;
  return true;
}

// RMM gives each device a file of its own, "NAME.devN" or "NAME.devN.EXTENSION".
int DeviceOf(std::string_view name) {
  const std::size_t at = name.rfind(".dev");
  if (at == std::string_view::npos) return 0;
  const std::string_view rest = name.substr(at + 4);
  int device = 0;
  return ParseWhole(rest.substr(0, rest.find('.')), &device) && device >= 0 && device <= kMaxDevice
             ? device
             : 0;
}

class RmmReader {
 public:
  RmmReader(std::string_view name, LogWriter* log) : log_(*log), device_(DeviceOf(name)) {
    log::Header& header = log->header();
    header.set_executable(absl::StrCat("RMM log ", ValidUtf8(name)));
  }

  absl::StatusOr<ImportSummary> Run(std::string_view bytes) {
    log::Device device;
    device.set_ordinal(static_cast<std::uint32_t>(device_));
    log_.Device(device);
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      std::string_view line = bytes.substr(0, end);
      bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      ++number_;
      if (line.empty() || (number_ == 1 && line == kHeader)) continue;
      const std::string problem = Row(line);
      if (problem.empty()) continue;
      // An incomplete last line, from the end of the process, must not lose the rest.
      if (end != std::string_view::npos)
        return absl::InvalidArgumentError(absl::StrCat("line ", number_, ": ", problem));
      log_.Count(log::Anomaly::kTailCut);
    }
    if (held_ > 0) log_.Count(log::Anomaly::kClockSteps, held_);
    summary_.format = ImportFormat::kRmmCsv;
    summary_.devices = 1;
    summary_.end_time_ns = latest_;
    return summary_;
  }

 private:
  // Returns "", or the error of the line.
  std::string Row(std::string_view line);
  bool Time(std::string_view text, std::uint64_t* ns);
  std::uint32_t Thread(std::string_view text);

  LogWriter& log_;
  int device_;
  ImportSummary summary_;
  std::uint64_t number_ = 0, latest_ = 0, last_of_day_ = 0, days_ns_ = 0, held_ = 0;
  absl::flat_hash_map<std::string, std::uint32_t> threads_;
};

// Rows are in the order in which they were written; where the clock disagrees, time is held. A
// time of day that falls by more than half a day is of the next day.
bool RmmReader::Time(std::string_view text, std::uint64_t* ns) {
  if (ParseClock(text, ns)) {
    if (*ns + kNsPerDay / 2 < last_of_day_) days_ns_ += kNsPerDay;
    last_of_day_ = *ns;
    *ns += days_ns_;
  } else if (!ParseSeconds(text, ns)) {
    return false;
  } else if (latest_ == 0) {
    log_.header().set_start_unix_ns(*ns);
  }
  if (latest_ == 0) log_.header().set_start_time_ns(*ns);
  held_ += *ns < latest_;
  latest_ = *ns = std::max(*ns, latest_);
  return true;
}

std::uint32_t RmmReader::Thread(std::string_view text) {
  const auto known = threads_.find(std::string(text));
  if (known != threads_.end()) return known->second;
  if (threads_.size() >= kMostThreads) return 0;
  std::uint32_t tid = 0;  // some systems print handles, which are longer
  if (!ParseWhole(text, &tid)) tid = 0;
  const std::uint32_t id =
      log_.Thread(tid, tid == 0 ? absl::StrCat("thread ", ValidUtf8(text)) : "");
  threads_.emplace(text, id);
  return id;
}

std::string RmmReader::Row(std::string_view line) {
  std::array<std::string_view, 6> fields;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::size_t comma = line.find(',');
    if ((comma == std::string_view::npos) != (i + 1 == fields.size()))
      return "six fields are expected: Thread,Time,Action,Pointer,Size,Stream";
    fields[i] = line.substr(0, comma);
    line.remove_prefix(comma == std::string_view::npos ? line.size() : comma + 1);
  }
  const auto& [thread, time, action, pointer, size, stream] = fields;
  LogWriter::Event event;
  event.layer = Layer::kStreamOrdered;
  event.device = device_;
  if (action == "allocate") {
    event.op = Op::kAlloc;
  } else if (action == "free" || action == "deallocate") {
    event.op = Op::kFree;
  } else if (action == "allocate failure") {
    event.op = Op::kAllocFailed;
    event.result = kOutOfMemory;
  } else {
    return "the action is none of allocate, free, allocate failure";
  }
  if (!Time(time, &event.time)) return "the time is neither HH:MM:SS.ffffff nor seconds";
  if (event.op != Op::kAllocFailed && !ParseHex(pointer, &event.address))
    return "the pointer is no hexadecimal number";
  if (!ParseWhole(size, &event.bytes)) return "the size is no number";
  if (!ParseHex(stream, &event.stream)) return "the stream is no hexadecimal number";
  event.thread = Thread(thread);
  ++summary_.actions;
  log_.Add(event);
  return "";
}

}  // namespace

absl::StatusOr<ImportSummary> ImportRmmCsv(std::string_view bytes, std::string_view name,
                                           LogWriter* log) {
  absl::StatusOr<ImportSummary> summary = RmmReader(name, log).Run(bytes);
  if (summary.ok())
    log->Source("rmm", log::SOURCE_ON, absl::StrCat("imported from ", ValidUtf8(name)), 0);
  return summary;
}

}  // namespace memprof::analysis
