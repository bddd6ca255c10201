// Events and their texts, for verbs that print events one after the other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::cli {

// Visits events in ascending order. Not thread-safe.
class EventView {
 public:
  explicit EventView(const analysis::Session& session) : session_(session) {}

  // Moves to event `e`, which must not precede the current one.
  void Seek(std::uint32_t e);

  std::uint32_t seq() const { return event_; }
  std::uint32_t tid() const;  // 0 = unknown
  std::int64_t step() const { return step_; }
  analysis::Op op() const { return session_.events().op(event_); }
  analysis::Layer layer() const { return session_.events().layer(event_); }
  // The tensor that the event creates or ends; null for none.
  const analysis::TensorInfo* tensor() const;
  // The name of an event: of a range, a snapshot, a kernel, a tensor; "" for none.
  std::string_view name() const;

 private:
  const analysis::Session& session_;
  std::uint32_t event_ = 0;
  std::size_t next_step_ = 0;
  std::int64_t step_ = -1;
};

// Call-site labels and JSON frames by stack, each made once.
class StackTexts {
 public:
  StackTexts(const analysis::Session& session, analysis::Symbols& symbols)
      : session_(session), symbols_(symbols) {}
  const std::string& Site(analysis::StackId stack);
  // Appends the stack as a JSON array of {function, file, line, module}, innermost first.
  void AppendJson(analysis::StackId stack, std::string& out);

 private:
  const analysis::Session& session_;
  analysis::Symbols& symbols_;
  std::vector<std::string> sites_, frames_;
  std::string none_ = "(no call stack)";
};

// Appends `text` as a JSON string, with quotes; bytes that are no UTF-8 become U+FFFD.
void AppendJsonString(std::string_view text, std::string& out);

}  // namespace memprof::cli
