// A process that runs forward and backward passes, described call by call.
#pragma once

#include <gtest/gtest.h>

#include <map>

#include "analysis/load/internal/backward_stacks.h"

namespace memprof::analysis::testing {

inline constexpr std::uint32_t kTorch = 0, kOther = 1, kBindings = 2;

// Tables and events like those of a log. Frames are given outermost first: "train.py:12 main" is a
// Python frame, "!name" is native and not PyTorch's, anything else is a function of PyTorch;
// "name@2" is a different place in the same function.
class Process {
 public:
  explicit Process(const std::string& torch = "/v/torch/lib/libtorch_cpu.so") {
    tables_.modules.resize(3);
    tables_.modules[kTorch].path = torch;
    tables_.modules[kOther].path = "/lib/libother.so";
    tables_.modules[kBindings].path = "/v/torch/lib/libtorch_python.so";
  }

  void Alloc(const std::vector<std::string>& frames, Op op = Op::kAlloc, int device = 0) {
    std::uint32_t parent = EventId::kNone;
    for (const std::string& frame : frames) parent = Node(parent, FrameOf(frame));
    EventKind kind;
    kind.op = op;
    kind.layer = Layer::kBlock;
    kind.device = static_cast<std::int16_t>(device);
    events_.kinds.push_back(kind);
    RawEvents::Row row;
    row.kind = static_cast<std::uint32_t>(events_.kinds.size() - 1);
    row.stack = StackId(parent);
    order_.push_back(static_cast<std::uint32_t>(events_.rows.size()));
    events_.rows.push_back(row);
  }
  void Forward(const std::string& line, const std::string& op) {
    Alloc({"train.py:70 main", line, "/v/site-packages/torch/nn/linear.py:9 Linear.forward",
           "at::_ops::" + op + "::call", "at::_ops::" + op + "::redispatch", "!malloc"});
  }
  void Backward(const std::string& node, const std::string& inner = "!malloc") {
    Alloc({"!start_thread", "torch::autograd::Engine::thread_main",
           "torch::autograd::Engine::evaluate_function",
           "torch::autograd::generated::" + node + "::apply", "at::_ops::mm::redispatch", inner});
  }

  void Attribute() {
    BackwardStacks stacks(&tables_, [this](std::uint32_t module, std::uint64_t address) {
      EXPECT_NE(module, kOther) << "symbols of other modules are not needed";
      ++asked_;
      return names_[address];
    });
    stacks.Attribute(order_, &events_);
  }
  // Outermost first, in the same notation.
  std::vector<std::string> StackOf(std::size_t event) const {
    std::vector<std::string> frames;
    for (StackId node = events_.rows[event].stack; node.valid();
         node = tables_.stack_parent[node.value]) {
      const Frame& frame = tables_.frames[tables_.stack_frame[node.value].value];
      std::string text =
          frame.python ? tables_.strings[frame.function.value] : names_.at(frame.address);
      if (frame.python && frame.file.valid())
        text = tables_.strings[frame.file.value] + ":" + std::to_string(frame.line) + " " + text;
      frames.insert(frames.begin(), text);
    }
    return frames;
  }
  // The synthetic frame of a stack: "backward of …", "backward within …", "backward: …",
  // "backward".
  std::string MarkOf(std::size_t event) const {
    for (const std::string& frame : StackOf(event))
      if (frame.find("backward ") != std::string::npos || frame.starts_with("backward"))
        return frame;
    return "";
  }
  std::size_t asked() const { return asked_; }
  const SessionTables& tables() const { return tables_; }

 private:
  std::uint32_t FrameOf(const std::string& text) {
    const auto [at, fresh] = frames_.try_emplace(text, static_cast<std::uint32_t>(frames_.size()));
    if (!fresh) return at->second;
    Frame frame;
    const std::size_t colon = text.find(".py:");
    if (colon != std::string::npos) {
      const std::size_t space = text.find(' ');
      frame.python = true;
      frame.file = String(text.substr(0, colon + 3));
      frame.line = static_cast<std::uint32_t>(std::stoul(text.substr(colon + 4)));
      frame.function = String(text.substr(space + 1));
    } else {
      frame.address = 0x1000 + at->second;
      frame.module = text[0] == '!' ? kOther : text.ends_with("_apply") ? kBindings : kTorch;
      names_[frame.address] = text.substr(0, text.find('@'));
    }
    tables_.frames.push_back(frame);
    return at->second;
  }
  StringId String(const std::string& text) {
    tables_.strings.push_back(text);
    return StringId(static_cast<std::uint32_t>(tables_.strings.size() - 1));
  }
  std::uint32_t Node(std::uint32_t parent, std::uint32_t frame) {
    const auto [at, fresh] =
        nodes_.try_emplace({parent, frame}, static_cast<std::uint32_t>(nodes_.size()));
    if (fresh) {
      tables_.stack_parent.push_back(parent == EventId::kNone ? StackId() : StackId(parent));
      tables_.stack_frame.push_back(FrameId(frame));
    }
    return at->second;
  }

  SessionTables tables_;
  RawEvents events_;
  std::vector<std::uint32_t> order_;
  std::map<std::string, std::uint32_t> frames_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> nodes_;
  std::map<std::uint64_t, std::string> names_;
  std::size_t asked_ = 0;
};

}  // namespace memprof::analysis::testing
