// Resizes allocations by call site and tensor.
#include "analysis/peak/resizing.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace memprof::analysis {
namespace {

// Caches which rule applies to a stack or tensor.
class RuleMatcher {
 public:
  RuleMatcher(const Session& session, const std::function<std::string(StackId)>& name_of,
              const std::vector<SizeRule>& rules)
      : session_(session), name_of_(name_of), rules_(rules) {}

  // The first rule that fits `id`; rules.size() if none does.
  std::size_t Of(AllocationId id) {
    std::size_t rule = OfStack(session_.record(id).stack);
    for (const AllocationId child : session_.Children(id)) {
      const AllocationRecord& a = session_.record(child);
      if (a.layer != Layer::kTensor) continue;
      rule = std::min({rule, OfStack(a.stack), OfTensor(a.tensor())});
    }
    return rule;
  }

 private:
  std::size_t OfStack(StackId stack) {
    const auto [it, fresh] = by_stack_.try_emplace(stack.value, 0);
    if (fresh) it->second = FirstIn(name_of_(stack));
    return it->second;
  }
  std::size_t OfTensor(TensorId tensor) {
    const auto [it, fresh] = by_tensor_.try_emplace(tensor.value, 0);
    if (fresh) {
      const TensorInfo* info = session_.tensor(tensor);
      it->second = info == nullptr ? rules_.size() : FirstIn(info->name);
    }
    return it->second;
  }
  std::size_t FirstIn(const std::string& text) const {
    std::size_t rule = 0;
    while (rule < rules_.size() && text.find(rules_[rule].text) == std::string::npos) ++rule;
    return rule;
  }

  const Session& session_;
  const std::function<std::string(StackId)>& name_of_;
  const std::vector<SizeRule>& rules_;
  std::unordered_map<std::uint32_t, std::size_t> by_stack_;
  std::unordered_map<std::uint32_t, std::size_t> by_tensor_;
};

}  // namespace

Resizing::Resizing(const Session& session, const std::function<std::string(StackId)>& name_of,
                   std::vector<SizeRule> rules)
    : session_(session),
      rules_(std::move(rules)),
      matches_(rules_.size(), 0),
      factor_(session.records().size(), 1) {
  RuleMatcher matcher(session, name_of, rules_);
  const auto records = session.records();
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    const AllocationId id(i);
    if (!PeakLayerOf(records[i].layer) || session.IsSuballocated(id)) continue;
    const std::size_t rule = matcher.Of(id);
    if (rule == rules_.size()) continue;
    ++matches_[rule];
    factor_[i] = static_cast<float>(rules_[rule].factor);
  }
}

bool Resizing::Changes(int device, PeakLayer of) const {
  const auto records = session_.records();
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (factor_[i] != 1 && records[i].device == device && PeakLayerOf(records[i].layer) == of)
      return true;
  }
  return false;
}

PeakSaving Resizing::NewPeak(const PeakSavings& savings, int device, PeakLayer of) const {
  return savings.WithSizes(device, of, [this](AllocationId id, const AllocationRecord& a) {
    const float factor = factor_[id.value];
    if (factor == 1) return a.bytes;
    const double bytes = std::ceil(static_cast<double>(a.bytes) * static_cast<double>(factor));
    return bytes < 9e18 ? static_cast<std::uint64_t>(bytes) : a.bytes;
  });
}

}  // namespace memprof::analysis
