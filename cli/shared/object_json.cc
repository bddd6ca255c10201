// Objects of the JSON that several verbs print.
#include "cli/shared/object_json.h"

#include <span>

#include "analysis/symbols/plumbing.h"
#include "cli/console/json.h"
#include "cli/console/text.h"

namespace memprof::cli {

namespace {

using analysis::Allocation;
using analysis::AllocationId;
using analysis::Session;
using analysis::Symbols;

// Events that mark managed memory or a module.
Json MarksJson(const Session& session, std::span<const analysis::EventId> marks) {
  const analysis::EventTable& events = session.events();
  Json list = Json::array();
  for (const analysis::EventId mark : marks) {
    const std::uint32_t e = mark.value;
    Json entry = {{"op", analysis::OpName(events.op(e))},
                  {"time_ns", events.time(e)},
                  {"address", Hex(events.address(e))},
                  {"bytes", events.bytes(e)}};
    const bool to_somewhere =
        events.op(e) == analysis::Op::kPrefetch || events.op(e) == analysis::Op::kAdvise;
    if (to_somewhere) entry["device"] = events.device(e);
    if (events.op(e) == analysis::Op::kAdvise) entry["advice"] = events.aux0(e);
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace

Json AllocationJson(const Session& session, AllocationId id) {
  const Allocation& a = session.allocation(id);
  Json json = {{"address", Hex(a.address)},
               {"bytes", a.bytes},
               {"layer", analysis::LayerName(a.layer)},
               {"birth_step", a.birth_step},
               {"birth_time_ns", a.birth_time}};
  if (const analysis::TensorInfo* tensor = session.tensor(a.tensor)) {
    json["name"] = tensor->name;
    json["dtype"] = tensor->dtype;
    json["shape"] = tensor->shape;
  }
  if (const auto marks = session.Marks(id); !marks.empty())
    json["marks"] = MarksJson(session, marks);
  return json;
}

Json FrameJson(const analysis::SourceFrame& frame) {
  Json json = {{"function", frame.function},
               {"file", frame.file},
               {"line", frame.line},
               {"module", frame.module}};
  if (frame.inlined) json["inlined"] = true;
  if (analysis::IsPackage(frame)) json["package"] = true;
  return json;
}

Json StackJson(Symbols& symbols, analysis::StackId stack) {
  Json frames = Json::array();
  if (!stack.valid()) return frames;
  for (const analysis::SourceFrame& frame : symbols.ResolveStack(stack)) {
    frames.push_back(FrameJson(frame));
  }
  return frames;
}

Json HoldersJson(const std::vector<analysis::Holder>& holders) {
  Json array = Json::array();
  for (const analysis::Holder& holder : holders)
    array.push_back({{"path", holder.path},
                     {"root", holder.root},
                     {"chain", holder.chain},
                     {"kind", analysis::HolderKindName(holder.kind)},
                     {"bytes", holder.bytes},
                     {"blocks", holder.blocks}});
  return array;
}

Json RestJson(const analysis::WithoutHolder& rest) {
  return {{"bytes", rest.bytes}, {"blocks", rest.blocks}};
}

}  // namespace memprof::cli
