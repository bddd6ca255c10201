// Builds logs of small programs, for tests of advice. Every function adds one event (a launch: one
// event and its touches).
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "analysis/advice/advice.h"
#include "analysis/base/sizes.h"
#include "analysis/base/units.h"
#include "analysis/testing/log_builder.h"
#include "tests/support/random_log.h"

namespace memprof::analysis::testing {

class Scenario {
 public:
  Scenario() { log_.Device(0, 1024 * kMiB); }

  LogBuilder& log() { return log_; }

  // Allocates at a new address, which it returns. Sites are functions with that name.
  std::uint64_t Alloc(const std::string& site, std::uint64_t bytes, Layer layer = Layer::kLinear,
                      std::uint64_t aux0 = 0, std::uint64_t aux1 = 0) {
    const std::uint64_t address = next_;
    next_ += (bytes + kMiB) / kMiB * kMiB;
    EventFields fields = {.device = layer == Layer::kPinned ? kNoDevice : 0, .stack = Stack(site)};
    fields.aux0 = aux0;
    fields.aux1 = aux1;
    log_.Alloc(layer, address, bytes, fields);
    return address;
  }
  // The same at `address`.
  void AllocAt(std::uint64_t address, const std::string& site, std::uint64_t bytes, Layer layer,
               std::uint64_t aux0 = 0) {
    log_.Alloc(layer, address, bytes, {.stack = Stack(site), .aux0 = aux0});
  }
  void Free(std::uint64_t address, Layer layer = Layer::kLinear) {
    log_.Free(layer, address, {.device = layer == Layer::kPinned ? kNoDevice : 0});
  }
  // A kernel with these pointers among its arguments; without pointers, nothing is known of its
  // arguments.
  void Launch(std::initializer_list<std::uint64_t> pointers = {}) {
    log_.Event(Op::kLaunch, Layer::kUnspecified, 0, 0, log_.String("kernel"), {});
    for (const std::uint64_t pointer : pointers)
      log_.Event(Op::kTouch, Layer::kUnspecified, pointer, 0, 0, {});
  }
  // A kernel that uses only memory that no site allocated.
  void OtherLaunch() { Launch({Elsewhere()}); }
  void Copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes, std::uint64_t kind) {
    log_.Event(Op::kMemcpy, Layer::kUnspecified, to, bytes, 0, {.aux0 = from, .aux1 = kind});
  }
  void Upload(std::uint64_t to, std::uint64_t host, std::uint64_t bytes) {
    Copy(to, host, bytes, 1);
  }
  void Download(std::uint64_t host, std::uint64_t from, std::uint64_t bytes) {
    Copy(host, from, bytes, 2);
  }
  void Memset(std::uint64_t address, std::uint64_t bytes) {
    log_.Event(Op::kMemset, Layer::kUnspecified, address, bytes, 0, {});
  }
  // A call on a stream that is being captured.
  void CaptureMemset(std::uint64_t address, std::uint64_t bytes) {
    log_.Event(Op::kMemset, Layer::kUnspecified, address, bytes, 0, {.aux1 = 16});
  }
  void CaptureCopy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
    Copy(to, from, bytes, 16 + 3);
  }
  void Step(std::uint64_t number) { log_.Step(number); }

  int Stack(const std::string& site) {
    return log_.Stack({"main (train.cc:1)", site + " (train.cc:2)"});
  }

  // All findings by default, including those below the noise limit.
  AdviceReport Advice(double noise = 0) {
    session_ = LoadLog(log_);
    if (session_ == nullptr) return {};
    return FindAdvice(*session_, {.noise = noise});
  }
  const Session& session() const { return *session_; }
  // The findings of `pattern` at `site` ("" = at any site).
  std::vector<Finding> Of(const AdviceReport& report, Pattern pattern,
                          const std::string& site = "") {
    std::vector<Finding> found;
    for (const Finding& finding : report.findings) {
      if (SaysItsBytes(finding.pattern))
        EXPECT_NE(finding.why.find(FormatBytes(finding.bytes)), std::string::npos) << finding.why;
      if (finding.pattern == pattern && (site.empty() || SiteOf(finding.stack) == site))
        found.push_back(finding);
    }
    return found;
  }
  std::string SiteOf(StackId stack) const {
    if (!stack.valid()) return "";
    return std::string(session_->string(session_->frame(session_->StackFrame(stack)).function));
  }

 private:
  // Whether the sentence of a pattern has the finding's bytes.
  static bool SaysItsBytes(Pattern pattern) {
    switch (pattern) {
      case Pattern::kRounding:
      case Pattern::kDeadWrite:
      case Pattern::kDuplicateTransfer:
      case Pattern::kRoundTrip:
      case Pattern::kPageableCopy:
      case Pattern::kPinnedUnused:
      case Pattern::kPinnedHuge:
      case Pattern::kPinnedRounding:
      case Pattern::kManagedFaults:
      case Pattern::kChurn:
      case Pattern::kCacheChurn:
      case Pattern::kRetriedFailure:
      case Pattern::kWaiting:
        return true;
      default:
        return false;
    }
  }
  std::uint64_t Elsewhere() {
    if (elsewhere_ == 0) elsewhere_ = Alloc("Elsewhere", 256);
    return elsewhere_;
  }

  LogBuilder log_;
  std::shared_ptr<const Session> session_;
  std::uint64_t next_ = 0x7f0000000000, elsewhere_ = 0;
};

}  // namespace memprof::analysis::testing
