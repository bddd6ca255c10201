// Converts stacks and texts of a PyTorch snapshot to definitions of the log.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "analysis/pickle/pickle.h"
#include "analysis/log/writer.h"

namespace memprof::analysis::torch {

// Stacks and texts of the pickle as ids of the log. Equal objects are converted once.
class Names {
 public:
  Names(const Pickle& pickle, LogWriter* log) : pickle_(pickle), log_(*log) {}

  std::uint32_t Stack(PickleValue frames) {
    if (!frames.is_list()) return 0;
    const auto [at, fresh] = stacks_.try_emplace(frames.container(), 0);
    if (!fresh) return at->second;
    std::uint32_t stack = 0;
    auto items = pickle_.Items(frames);  // innermost first
    while (!items.empty() && OfTheUnwinder(items.front())) items = items.subspan(1);
    for (std::size_t i = items.size(); i-- > 0;)
      if (items[i].is_dict()) stack = log_.Stack(stack, Frame(items[i]));
    return stacks_[frames.container()] = stack;
  }

  // The label that a user or the compiler gave to an action: text, or "key=value, …".
  std::uint32_t Label(PickleValue value) {
    if (value.is_text()) return log_.String(value.Text().substr(0, kMaxLabel));
    if (!value.is_dict()) return 0;
    const auto [at, fresh] = labels_.try_emplace(value.container(), 0);
    if (!fresh) return at->second;
    std::string text;
    const auto pairs = pickle_.Pairs(value);
    for (std::size_t i = 0; i + 1 < pairs.size() && text.size() < kMaxLabel; i += 2)
      absl::StrAppend(&text, text.empty() ? "" : ", ", Word(pairs[i]), "=", Word(pairs[i + 1]));
    return labels_[value.container()] = log_.String(text.substr(0, kMaxLabel));
  }

 private:
  static constexpr std::size_t kMaxLabel = 4096;

  // PyTorch's own frames of unwinding, the same at the top of all stacks.
  bool OfTheUnwinder(PickleValue frame) const {
    const std::string_view name = pickle_.At(frame, "name").Text();
    return name.starts_with("torch::unwind::unwind(") ||
           name.starts_with("torch::CapturedTraceback::gather(");
  }

  std::uint32_t Frame(PickleValue frame) {
    const auto [at, fresh] = frames_.try_emplace(frame.container(), 0);
    if (!fresh) return at->second;
    const std::string_view file = pickle_.At(frame, "filename").Text();
    const std::uint64_t line = pickle_.At(frame, "line").Unsigned();
    const std::uint32_t id =
        log_.PythonFrame(pickle_.At(frame, "name").Text(), file,
                         line > UINT32_MAX ? 0 : static_cast<std::uint32_t>(line));
    return frames_[frame.container()] = id;
  }
  static std::string Word(PickleValue value) {
    if (value.is_text()) return std::string(value.Text().substr(0, kMaxLabel));
    if (value.is_integer()) return absl::StrCat(value.Signed());
    if (value.kind() == PickleValue::Kind::kFloat) return absl::StrCat(value.Float());
    if (value.kind() == PickleValue::Kind::kBool) return value.True() ? "True" : "False";
    return value.kind() == PickleValue::Kind::kNone ? "None" : "...";
  }

  const Pickle& pickle_;
  LogWriter& log_;
  absl::flat_hash_map<std::uint32_t, std::uint32_t> stacks_, frames_, labels_;
};

}  // namespace memprof::analysis::torch
