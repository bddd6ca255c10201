// On a device that other processes use too, the samples around a load decide.
#include "analysis/load/internal/code_bytes.h"

#include <algorithm>
#include <map>
#include <optional>

namespace memprof::analysis {
namespace {

// The recorder's answer may be that old.
constexpr TimeNs kOldest = 1'000'000'000;

struct Answer {
  TimeNs time;
  std::uint64_t others;  // bytes of other processes
};
struct Load {
  std::uint32_t index;
  TimeNs time;
  std::uint64_t fell, image_bytes;
};
struct OfDevice {
  std::vector<Answer> answers;
  std::vector<Load> loads;
};

// The most by which the memory of other processes rose around `time`; none without an answer from
// both before and after it.
std::optional<std::uint64_t> RiseAround(const std::vector<Answer>& answers, TimeNs time) {
  const auto before = [](const Answer& answer, TimeNs t) { return answer.time < t; };
  const auto at = std::lower_bound(answers.begin(), answers.end(), time, before);
  if (at == answers.begin() || at == answers.end()) return std::nullopt;
  auto from = std::lower_bound(answers.begin(), at, time - std::min(time, kOldest), before);
  if (from != answers.begin()) --from;
  const auto last = std::lower_bound(at, answers.end(), time + kOldest, before);
  const auto end = last == answers.end() ? last : last + 1;
  std::uint64_t least = from->others, rise = 0;
  for (; from != end; ++from) {
    least = std::min(least, from->others);
    rise = std::max(rise, from->others - least);
  }
  return rise;
}

// At least what fell beyond the rise; otherwise no more than the image in whole pages.
std::uint64_t BytesOf(const Load& load, const std::vector<Answer>& answers) {
  const std::uint64_t rise = RiseAround(answers, load.time).value_or(load.fell);
  const std::uint64_t pages = load.image_bytes / kPage + (load.image_bytes % kPage != 0 ? 1 : 0);
  return std::max(load.fell - std::min(load.fell, rise), std::min(load.fell, pages * kPage));
}

}  // namespace

void CodeBytes::Find(const RawEvents& raw, const std::vector<std::uint32_t>& order) {
  std::map<int, OfDevice> places;  // by device
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    const Op op = raw.KindOf(order[i]).op;
    if (op != Op::kModuleLoad && op != Op::kMemoryInfo) continue;
    const Event event = raw.At(order[i]);
    OfDevice& place = places[event.device];
    if (op == Op::kModuleLoad)
      place.loads.push_back({i, event.time, event.aux0, event.bytes});
    else if (event.aux1 != 0)
      place.answers.push_back({event.time, event.aux1 - 1});
  }
  for (const auto& [device, place] : places) {
    if (std::all_of(place.answers.begin(), place.answers.end(),
                    [](const Answer& answer) { return answer.others == 0; }))
      continue;
    for (const Load& load : place.loads)
      if (const std::uint64_t bytes = BytesOf(load, place.answers); bytes < load.fell)
        less_[load.index] = bytes;
  }
}

}  // namespace memprof::analysis
