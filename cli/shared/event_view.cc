// Steps, names and stacks of events.
#include "cli/shared/event_view.h"

#include <nlohmann/json.hpp>

#include "cli/console/controls.h"
#include "cli/console/text.h"
#include "cli/shared/names.h"

namespace memprof::cli {
namespace {

using analysis::Layer;
using analysis::Op;
using analysis::StackId;

bool NeedsEscape(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\' ||
        static_cast<unsigned char>(c) >= 0x7f) {
      return true;
    }
  }
  return false;
}

}  // namespace

void EventView::Seek(std::uint32_t e) {
  event_ = e;
  const auto steps = session_.steps();
  while (next_step_ < steps.size() && steps[next_step_].event.value <= e) {
    step_ = steps[next_step_++].number;
  }
}

std::uint32_t EventView::tid() const {
  const std::uint32_t index = session_.events().thread(event_);
  return index < session_.threads().size() ? session_.threads()[index].tid : 0;
}

const analysis::TensorInfo* EventView::tensor() const {
  const analysis::EventTable& events = session_.events();
  if (layer() != Layer::kTensor) return nullptr;
  const analysis::AllocationId id = events.allocation(event_);
  if (id.valid()) return session_.tensor(session_.allocation(id).tensor);
  return op() == Op::kAlloc ? session_.tensor(analysis::TensorId(events.label(event_))) : nullptr;
}

std::string_view EventView::name() const {
  if (layer() == Layer::kTensor) {
    const analysis::TensorInfo* info = tensor();
    return info == nullptr ? std::string_view() : std::string_view(info->name);
  }
  return session_.string(analysis::StringId(session_.events().label(event_)));
}

const std::string& StackTexts::Site(StackId stack) {
  if (!stack.valid() || stack.value >= session_.stack_count()) return none_;
  if (sites_.size() <= stack.value) sites_.resize(session_.stack_count());
  std::string& site = sites_[stack.value];
  if (site.empty()) site = SiteLabel(symbols_, stack);
  return site;
}

void StackTexts::AppendJson(StackId stack, std::string& out) {
  out += '[';
  bool first = true;
  if (frames_.size() < session_.frame_count()) frames_.resize(session_.frame_count());
  for (StackId node = stack; node.valid() && node.value < session_.stack_count();
       node = session_.StackParent(node)) {
    const analysis::FrameId frame = session_.StackFrame(node);
    if (!frame.valid() || frame.value >= frames_.size()) continue;
    std::string& text = frames_[frame.value];
    if (text.empty()) {
      for (const analysis::SourceFrame& source : symbols_.Resolve(frame)) {
        Append(text, text.empty() ? "" : ",", "{\"function\":");
        AppendJsonString(source.function, text);
        text += ",\"file\":";
        AppendJsonString(source.file, text);
        Append(text, ",\"line\":", source.line, ",\"module\":");
        AppendJsonString(source.module, text);
        text += '}';
      }
    }
    if (!first) out += ',';
    out += text;
    first = false;
  }
  out += ']';
}

void AppendJsonString(std::string_view text, std::string& out) {
  if (!NeedsEscape(text)) {
    Append(out, '"', text, '"');
    return;
  }
  out += EscapeControls(nlohmann::json(std::string(text))
                            .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace memprof::cli
