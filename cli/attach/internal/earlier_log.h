// A log of an earlier recording where the new one is to be. It is lost only once that has begun.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace memprof::cli {

class EarlierLog {
 public:
  explicit EarlierLog(const std::string& path);
  // Brings it back, unless it was removed.
  ~EarlierLog();
  EarlierLog(const EarlierLog&) = delete;
  EarlierLog& operator=(const EarlierLog&) = delete;

  // As PrepareOutput, to another name beside it.
  absl::Status MoveAside();
  void Remove();

 private:
  const std::string path_, aside_;
  bool moved_ = false;
};

}  // namespace memprof::cli
