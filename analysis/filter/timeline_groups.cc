// Finds the groups of a stacked timeline.
#include "analysis/filter/timeline_groups.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "analysis/filter/internal/kind_groups.h"
#include "analysis/symbols/site_groups.h"

namespace memprof::analysis {
namespace {

// Finds which allocations are grouped, and by which of many keys.
class Grouper {
 public:
  Grouper(const TimelineStack& kinds, const TimelineQuery& query)
      : kinds_(kinds), session_(*kinds.session()), query_(query) {
    const bool blocks = kinds.framework() && query.grouping != TimelineGrouping::kLayer;
    groups_.framework = blocks;
    groups_.process = query.process;
    groups_.pools = kinds.device() != kNoDevice && !query.process;
    groups_.of_layer.fill(StackGroups::kNone);
    groups_.passing = query.passing;
    layers_ = kinds.device() == kNoDevice ? LayerBit(Layer::kPinned) | LayerBit(Layer::kRegistered)
              : blocks                    ? LayerBit(Layer::kBlock)
                                          : kDeviceLayers;
    groups_.of_allocation.assign(session_.records().size(), StackGroups::kNone);
  }

  StackGroups Find() {
    switch (query_.grouping) {
      case TimelineGrouping::kKind:
        ByKind();
        break;
      case TimelineGrouping::kLayer:
        ByLayer();
        break;
      case TimelineGrouping::kCategory:
        ByCategory();
        break;
      case TimelineGrouping::kSite:
        BySite();
        break;
      case TimelineGrouping::kStream:
        ByRank(
            [this](AllocationId id, const AllocationRecord&) {
              return session_.events().stream(session_.record(id).birth.value);
            },
            [](std::uint64_t key, AllocationId) {
              return StackBand{.kind = StackBandKind::kStream, .stream = key};
            });
        break;
      case TimelineGrouping::kProcess:
        ByRank(
            [this](AllocationId, const AllocationRecord& a) -> std::uint64_t {
              return session_.ProcessOf(a.birth);
            },
            [](std::uint64_t key, AllocationId) {
              return StackBand{.kind = StackBandKind::kProcess,
                               .process = static_cast<std::uint32_t>(key)};
            });
        break;
    }
    if (query_.passing != nullptr) SetApart();
    if (query_.whole_device) AddRest();
    Hide();
    return std::move(groups_);
  }

 private:
  struct Rank {
    std::uint64_t key = 0, at_peak = 0, total = 0, most = 0;
    AllocationId example;  // that held most at the peak, or ever
  };

  bool Grouped(const AllocationRecord& a) const {
    return a.device == kinds_.device() && (layers_ & LayerBit(a.layer)) != 0 &&
           (!query_.process || session_.ProcessOf(a.birth) == *query_.process);
  }
  bool Passing(AllocationId id) const {
    return query_.passing == nullptr || query_.passing->Has(id);
  }
  template <typename Visit>
  void ForEach(Visit visit) const {
    const std::span<const AllocationRecord> records = session_.records();
    for (std::uint32_t i = 0; i < records.size(); ++i)
      if (Grouped(records[i])) visit(AllocationId(i), records[i]);
  }

  void ByKind() {
    const StackGroups kinds = KindGroups(kinds_.device(), kinds_.framework());
    groups_.bands = kinds.bands;
    groups_.tensors_within = kinds.tensors_within;
    ForEach([&](AllocationId id, const AllocationRecord& a) {
      groups_.of_allocation[id.value] = kinds.of_layer[static_cast<std::size_t>(a.layer)];
    });
  }

  void ByLayer() {
    const StackGroups kinds = KindGroups(kinds_.device(), false);
    groups_.bands = kinds.bands;
    ForEach([&](AllocationId id, const AllocationRecord& a) {
      groups_.of_allocation[id.value] = kinds.of_layer[static_cast<std::size_t>(a.layer)];
    });
  }

  void ByCategory() {
    for (std::size_t c = 1; c < kCategoryCount; ++c)
      groups_.bands.push_back(
          {.kind = StackBandKind::kCategory, .category = static_cast<Category>(c)});
    groups_.bands.push_back({.kind = StackBandKind::kCategory, .category = Category::kUnknown});
    ForEach([&](AllocationId id, const AllocationRecord&) {
      const Category category =
          query_.categories == nullptr ? Category::kUnknown : query_.categories->Of(id).category;
      const auto c = static_cast<std::size_t>(category);
      groups_.of_allocation[id.value] =
          static_cast<std::uint8_t>(c == 0 || c >= kCategoryCount ? kCategoryCount - 1 : c - 1);
    });
  }

  std::size_t SlotOf(StackId stack) const {
    return std::min<std::size_t>(stack.value, session_.stack_count());
  }

  void BySite() {
    std::vector<std::uint32_t> site_of(session_.stack_count() + 1, EventId::kNone);
    if (query_.symbols != nullptr) {
      SiteGroups sites(session_, *query_.symbols);
      ForEach([&](AllocationId, const AllocationRecord& a) {
        std::uint32_t& site = site_of[SlotOf(a.stack)];
        if (site == EventId::kNone) site = sites.Of(a.stack);
      });
    } else {
      for (std::size_t i = 0; i < site_of.size(); ++i) site_of[i] = static_cast<std::uint32_t>(i);
    }
    ByRank([&](AllocationId,
               const AllocationRecord& a) -> std::uint64_t { return site_of[SlotOf(a.stack)]; },
           [this](std::uint64_t, AllocationId example) {
             return StackBand{.kind = StackBandKind::kSite, .site = session_.record(example).stack};
           });
    groups_.of_stack.assign(session_.stack_count() + 1, StackGroups::kNone);
    ForEach([&](AllocationId id, const AllocationRecord& a) {
      groups_.of_stack[SlotOf(a.stack)] = groups_.of_allocation[id.value];
    });
  }

  template <typename KeyOf, typename BandOf>
  void ByRank(KeyOf key_of, BandOf band_of) {
    const std::vector<Rank> ranks = RankKeys(key_of);
    absl::flat_hash_map<std::uint64_t, std::uint8_t> group_of;
    const std::size_t own = std::min(ranks.size(), kOwnBands);
    for (std::size_t i = 0; i < own; ++i) {
      group_of[ranks[i].key] = static_cast<std::uint8_t>(i);
      groups_.bands.push_back(band_of(ranks[i].key, ranks[i].example));
    }
    groups_.bands.push_back(
        {.kind = StackBandKind::kOther, .members = static_cast<std::uint32_t>(ranks.size() - own)});
    std::uint64_t last_key = 0;
    std::uint8_t last = StackGroups::kNone;
    ForEach([&](AllocationId id, const AllocationRecord& a) {
      const std::uint64_t key = key_of(id, a);
      if (last == StackGroups::kNone || key != last_key) {
        const auto it = group_of.find(key);
        last = it == group_of.end() ? static_cast<std::uint8_t>(own) : it->second;
        last_key = key;
      }
      groups_.of_allocation[id.value] = last;
    });
  }

  // The keys of the passing memory, the largest first.
  template <typename KeyOf>
  std::vector<Rank> RankKeys(KeyOf key_of) {
    absl::flat_hash_map<std::uint64_t, std::uint32_t> row;
    std::vector<Rank> ranks;
    std::uint64_t last_key = 0;
    std::uint32_t last = EventId::kNone;
    const auto rank_of = [&](std::uint64_t key) -> Rank& {
      if (last == EventId::kNone || key != last_key) {
        const auto [it, fresh] = row.try_emplace(key, static_cast<std::uint32_t>(ranks.size()));
        if (fresh) ranks.push_back({.key = key});
        last = it->second;
        last_key = key;
      }
      return ranks[last];
    };
    ForEach([&](AllocationId id, const AllocationRecord& a) {
      if (!Passing(id)) return;
      Rank& rank = rank_of(key_of(id, a));
      rank.total += a.bytes;
      if (rank.example.valid() && a.bytes <= rank.most) return;
      rank.most = a.bytes;
      rank.example = id;
    });
    for (Rank& rank : ranks) rank.most = 0;
    for (const AllocationId id :
         session_.LiveAt(kinds_.TimeOfMax(TimelineStack::Line::kInUse), layers_)) {
      const AllocationRecord& a = session_.record(id);
      if (!Grouped(a) || !Passing(id)) continue;
      Rank& rank = rank_of(key_of(id, a));
      rank.at_peak += a.bytes;
      if (a.bytes <= rank.most) continue;
      rank.most = a.bytes;
      rank.example = id;
    }
    std::sort(ranks.begin(), ranks.end(), [](const Rank& a, const Rank& b) {
      if (a.at_peak != b.at_peak) return a.at_peak > b.at_peak;
      return a.total != b.total ? a.total > b.total : a.key < b.key;
    });
    return ranks;
  }

  // Puts allocations that do not pass into a last group.
  void SetApart() {
    const auto apart = static_cast<std::uint8_t>(groups_.bands.size());
    groups_.bands.push_back({.kind = StackBandKind::kFilteredOut});
    ForEach([&](AllocationId id, const AllocationRecord&) {
      if (!Passing(id)) groups_.of_allocation[id.value] = apart;
    });
  }

  void Hide() {
    for (StackBand band : query_.hidden) {
      if (band.kind == StackBandKind::kSite && !groups_.of_stack.empty()) {
        const std::uint8_t group = groups_.of_stack[SlotOf(band.site)];
        if (group == StackGroups::kNone) continue;
        band = groups_.bands[group];  // of another example of the site
        if (band.kind != StackBandKind::kSite) continue;
      }
      groups_.hidden.push_back(band);
    }
  }

  void AddRest() {
    const std::shared_ptr<const DeviceRests> rests = RestsOf(session_);
    const auto rest = rests->find(kinds_.device());
    if (rest != rests->end()) groups_.rest = {rests, &rest->second};
  }

  const TimelineStack& kinds_;
  const Session& session_;
  const TimelineQuery& query_;
  std::uint32_t layers_ = 0;
  StackGroups groups_;
};

}  // namespace

StackGroups FindGroups(const TimelineStack& kinds, const TimelineQuery& query) {
  return Grouper(kinds, query).Find();
}

}  // namespace memprof::analysis
