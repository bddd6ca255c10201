#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "analysis/filter/tensor_table.h"
#include "analysis/store/allocation_set.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;
using testing::RandomLog;

std::string Lower(std::string_view text) {
  return absl::AsciiStrToLower(absl::string_view(text.data(), text.size()));
}

// All cells of a row, derived directly from an Allocation.
struct Cells {
  AllocationId id;
  Allocation a;
  std::map<TensorField, std::string> text;
  std::map<TensorField, std::optional<std::uint64_t>> number;
};

class World {
 public:
  explicit World(const LogBuilder& log)
      : session_(LoadLog(log)),
        symbols_(session_),
        categories_(*session_, &symbols_),
        table_(session_),
        sites_(NameSites(*session_, symbols_, Symbols::Describe)) {
    for (std::uint32_t i = 0; i < session_->allocations().size(); ++i) Read(AllocationId(i));
  }

  std::vector<std::uint32_t> Expected(const RowsQuery& query, const AllocationSet* passing) const {
    std::vector<const Cells*> rows;
    for (const Cells& row : cells_) {
      const bool kind = query.kind == RowKind::kTensors  ? row.a.layer == Layer::kTensor
                        : query.kind == RowKind::kBlocks ? row.a.layer == Layer::kBlock
                                                         : !IsFrameworkLayer(row.a.layer);
      if (!kind || (passing != nullptr && !passing->Has(row.id)) || !InScope(row, query)) continue;
      const bool fits =
          std::all_of(query.query.conditions.begin(), query.query.conditions.end(),
                      [&](const TensorCondition& c) { return Holds(row, c) != c.negated; });
      if (fits) rows.push_back(&row);
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [&](const Cells* a, const Cells* b) { return Before(*a, *b, query); });
    std::vector<std::uint32_t> ids;
    for (const Cells* row : rows) ids.push_back(row->id.value);
    return ids;
  }
  std::vector<std::uint32_t> Actual(const RowsQuery& query, const AllocationSet* passing) const {
    return FindRows(table_, &categories_, &sites_, passing, query).rows;
  }

  std::shared_ptr<const Session> session_;
  Symbols symbols_;
  Categories categories_;
  TensorTable table_;
  SiteNames sites_;
  std::vector<Cells> cells_;

 private:
  void Read(AllocationId id) {
    Cells row{id, session_->allocation(id), {}, {}};
    const Allocation& a = row.a;
    TensorId tensor = a.tensor;
    for (const AllocationId child : session_->Children(id))
      if (!tensor.valid()) tensor = session_->allocation(child).tensor;
    if (const TensorInfo* info = session_->tensor(tensor)) {
      std::string shape;
      for (const std::uint64_t extent : info->shape)
        absl::StrAppend(&shape, shape.empty() ? "" : "x", extent);
      row.text = {{TensorField::kName, info->name},
                  {TensorField::kDtype, info->dtype},
                  {TensorField::kShape, shape}};
    }
    row.text[TensorField::kCategory] = std::string(CategoryName(categories_.Of(id).category));
    row.text[TensorField::kLayer] = std::string(LayerName(a.layer));
    if (a.stack.valid()) row.text[TensorField::kSite] = Symbols::Describe(symbols_.Site(a.stack));
    const TimeNs start = std::min(session_->run().start_time, session_->events().first_time());
    const TimeNs end = std::max(session_->run().end_time, session_->events().last_time());
    const auto known = [](std::int64_t value) {
      return value < 0 ? std::nullopt : std::optional<std::uint64_t>(value);
    };
    const bool in_block = a.layer == Layer::kTensor && a.parent.valid() &&
                          session_->allocation(a.parent).layer == Layer::kBlock;
    row.number[TensorField::kBytes] = a.bytes;
    row.number[TensorField::kRequested] =
        in_block ? session_->allocation(a.parent).requested : a.requested;
    row.number[TensorField::kBornStep] = known(a.birth_step);
    row.number[TensorField::kBorn] = a.birth_time - start;
    row.number[TensorField::kFreedStep] = a.alive() ? std::nullopt : known(a.death_step);
    row.number[TensorField::kFreed] =
        a.alive() ? std::nullopt : std::optional<std::uint64_t>(a.death_time - start);
    row.number[TensorField::kLifetime] = (a.alive() ? end : a.death_time) - a.birth_time;
    row.number[TensorField::kStream] = a.stream;
    row.number[TensorField::kDevice] = known(a.device);
    row.number[TensorField::kProcess] = 1;  // the process number in a single log without a rank
    cells_.push_back(std::move(row));
  }

  static bool InScope(const Cells& row, const RowsQuery& query) {
    switch (query.scope) {
      case RowScope::kAll:
        return true;
      case RowScope::kAliveAtInstant:
        return row.a.AliveAt(query.instant);
      case RowScope::kAliveInWindow:
        return row.a.birth_time <= query.window.end && row.a.death_time > query.window.begin;
      case RowScope::kBornInWindow:
        return row.a.birth_time >= query.window.begin && row.a.birth_time <= query.window.end;
    }
    return false;
  }
  static bool HasText(const Cells& row, TensorField field, const TensorCondition& c) {
    const auto found = row.text.find(field);
    if (found == row.text.end()) return false;
    return std::any_of(c.texts.begin(), c.texts.end(), [&](const std::string& wanted) {
      const std::string text = Lower(found->second);
      return c.exact ? text == wanted : text.find(wanted) != std::string::npos;
    });
  }
  static bool Holds(const Cells& row, const TensorCondition& c) {
    switch (c.kind) {
      case TensorCondition::Kind::kAlive:
        return row.a.alive();
      case TensorCondition::Kind::kAnywhere:
        return HasText(row, TensorField::kName, c) || HasText(row, TensorField::kSite, c);
      case TensorCondition::Kind::kText:
        return HasText(row, c.field, c);
      case TensorCondition::Kind::kNumber:
        break;
    }
    const std::optional<std::uint64_t> number = row.number.at(c.field);
    return number && std::any_of(c.ranges.begin(), c.ranges.end(), [&](const NumberRange& range) {
             return range.low <= *number && *number <= range.high;
           });
  }
  bool Before(const Cells& a, const Cells& b, const RowsQuery& query) const {
    const bool down = query.descending;
    if (query.sort == TensorField::kBorn) return down ? a.id > b.id : a.id < b.id;
    if (query.sort == TensorField::kCategory) {
      const auto x = categories_.Of(a.id).category, y = categories_.Of(b.id).category;
      return down ? x > y : x < y;
    }
    if (query.sort == TensorField::kLayer)
      return down ? a.a.layer > b.a.layer : a.a.layer < b.a.layer;
    // random logs have one shape, so rows either have it or have none
    if (query.sort == TensorField::kShape) {
      return a.text.contains(query.sort) && !b.text.contains(query.sort);
    }
    if (IsTextField(query.sort)) {
      const auto x = a.text.find(query.sort), y = b.text.find(query.sort);
      if (x == a.text.end() || y == b.text.end()) return x != a.text.end() && y == b.text.end();
      return down ? x->second > y->second : x->second < y->second;
    }
    const auto x = a.number.at(query.sort), y = b.number.at(query.sort);
    if (!x || !y) return x && !y;
    return down ? *x > *y : *x < *y;
  }
};

constexpr const char* kTableQueries[] = {"",
                                         "tensor1",
                                         "-tensor1",
                                         "name=tensor2",
                                         "dtype:float",
                                         "dtype:int",
                                         "shape=2x3",
                                         "category:unknown",
                                         "-category:unknown",
                                         "layer:linear,pinned",
                                         "site:forward",
                                         "train1",
                                         "bytes>4KiB",
                                         "bytes:512,1024..2048",
                                         "-bytes>4KiB",
                                         "requested<2000",
                                         "born:2..4",
                                         "-born:2..4",
                                         "born<10us",
                                         "freed:3..",
                                         "freed>50us",
                                         "lifetime>30us",
                                         "alive",
                                         "freed",
                                         "stream:1",
                                         "device:1",
                                         "process:1",
                                         "process:2",
                                         "tensor bytes>1KiB alive -born:0..1"};

TEST(TensorTable, AgreesWithASearchOfEveryCell) {
  std::mt19937_64 random(7);
  int checked = 0, found = 0;
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    RandomLog log({.seed = seed, .operations = 300, .steps = seed == 4 ? 0 : 8});
    const World world(log.builder());
    // The times of events, where "at" and "before" differ.
    const EventTable& events = world.session_->events();
    std::vector<bool> half(world.cells_.size());
    for (std::size_t i = 0; i < half.size(); ++i) half[i] = random() % 2 == 0;
    const AllocationSet passing(half);
    for (const std::string text : kTableQueries) {
      RowsQuery query;
      query.query = *ParseTensorQuery(text);
      query.kind = static_cast<RowKind>(random() % kRowKindCount);
      query.scope = static_cast<RowScope>(random() % 4);
      const std::size_t begin = random() % events.size();
      query.instant = events.time(begin);
      query.window = {query.instant, events.time(begin + random() % (events.size() - begin))};
      query.descending = random() % 2 == 0;
      const AllocationSet* const set = random() % 2 == 0 ? &passing : nullptr;
      for (std::size_t field = 0; field < kTensorFieldCount; ++field) {
        query.sort = static_cast<TensorField>(field);
        const auto expected = world.Expected(query, set);
        ASSERT_EQ(world.Actual(query, set), expected)
            << "seed " << seed << " \"" << text << "\" by " << field;
        found += static_cast<int>(expected.size());
        ++checked;
      }
    }
  }
  EXPECT_GT(found, 5 * checked) << "the queries find something";
}

}  // namespace
}  // namespace memprof::analysis
