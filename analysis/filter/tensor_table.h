// Tensors, blocks or driver allocations as rows of a table: which pass a query, in which order.
// Rows are numbers; every cell is read from the session when it is shown, so a table of millions
// costs 4 bytes a row.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "analysis/categories/categories.h"
#include "analysis/filter/allocation_filter.h"
#include "analysis/filter/tensor_query.h"
#include "analysis/store/allocation_set.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

// What the rows are.
enum class RowKind : std::uint8_t {
  kTensors,
  kBlocks,
  kDriver,  // allocations below segments that no framework describes, also on the host
};
inline constexpr std::size_t kRowKindCount = 3;
std::uint32_t LayersOf(RowKind kind);  // LayerBit set

// The names of the places of allocations, looked up once for every stack.
struct SiteNames {
  std::vector<std::string> names;  // distinct, in order of the alphabet
  std::vector<std::uint32_t> of_stack;
  // "" for no stack.
  const std::string& Of(StackId stack) const;
  std::uint32_t Rank(StackId stack) const;  // row of `names`; none (the largest) for no stack
};
// The text of a place; Symbols::Describe is one choice.
using SiteNaming = std::function<std::string(const SourceFrame&)>;
// Resolves symbols, which may take seconds. Incomplete once `stop` is requested.
SiteNames NameSites(const Session& session, Symbols& symbols, const SiteNaming& naming,
                    const std::stop_token& stop = {});

// Data of all rows of a session. Immutable once made, hence thread-safe.
class TensorTable {
 public:
  explicit TensorTable(std::shared_ptr<const Session> session);

  const Session& session() const { return *session_; }
  std::uint64_t count(RowKind kind) const { return counts_[static_cast<std::size_t>(kind)]; }
  std::uint64_t bytes(RowKind kind) const { return bytes_[static_cast<std::size_t>(kind)]; }
  // The default: tensors if the log has any, else blocks, else driver allocations.
  RowKind Usual() const;

  // The tensor of a row. For a block, or driver memory, the first tensor in it.
  TensorId TensorOf(AllocationId id) const;
  // Requested bytes; for a tensor, those of its block.
  std::uint64_t RequestedOf(AllocationId id) const;
  // The number by which rows are compared and sorted; none without a step, free or device. Times
  // and lifetimes in ns, times since the start; a lifetime without a free lasts to the end of the
  // log. A process is its rank, or, if no launcher set one, its position from 1 on.
  std::optional<std::uint64_t> Number(TensorField field, AllocationId id) const;
  // The rank of a tensor's field among all, alphabetically (shapes: by their extents): a small
  // number in place of a text.
  std::uint32_t Rank(TensorField field, TensorId id) const;
  std::size_t tensor_count() const { return ranks_[0].size(); }
  TimeNs start() const { return start_; }
  TimeNs end() const { return end_; }

 private:
  std::shared_ptr<const Session> session_;
  std::array<std::uint64_t, kRowKindCount> counts_{}, bytes_{};
  std::array<std::vector<std::uint32_t>, 3> ranks_;  // name, dtype, shape
  TimeNs start_ = 0, end_ = 0;
};

// "8x128x2304"; "" of a scalar.
std::string ShapeText(const TensorInfo& tensor);

enum class RowScope : std::uint8_t {
  kAll,
  kAliveAtInstant,
  kAliveInWindow,
  kBornInWindow,
};

struct RowsQuery {
  RowKind kind = RowKind::kTensors;
  RowScope scope = RowScope::kAll;
  TimeNs instant = 0;
  TimeWindow window;
  TensorQuery query;
  TensorField sort = TensorField::kBorn;
  bool descending = false;
};

struct TensorRows {
  RowKind kind = RowKind::kTensors;
  std::vector<std::uint32_t> rows;  // AllocationIds
  std::uint64_t bytes = 0;          // of these together
  std::uint64_t largest = 0;        // bytes of the largest
};

// The rows that pass the query and `passing` (null: everything), sorted. Equal rows are in order of
// birth, and rows without a value come last in both directions. `categories` and `sites` may be
// null: no row then has a category, or a site. O(allocations + rows · log rows); 5·10^6 rows take
// about a second.
TensorRows FindRows(const TensorTable& table, const Categories* categories, const SiteNames* sites,
                    const AllocationSet* passing, const RowsQuery& query,
                    const std::stop_token& stop = {});

}  // namespace memprof::analysis
