// Tensors, blocks or driver allocations as rows of a table: which pass a query, in which order.
// Rows are numbers; every cell is read from the session when it is shown, so that a table of
// millions costs 4 bytes a row.
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

// What is listed.
enum class RowKind : std::uint8_t {
  kTensors,
  kBlocks,
  kDriver,  // what no framework describes: of every layer below segments, also on the host
};
inline constexpr std::size_t kRowKindCount = 3;
std::uint32_t LayersOf(RowKind kind);  // LayerBit set

// Where allocations were made, in words: looked up once for every stack that allocated.
struct SiteNames {
  std::vector<std::string> names;  // distinct, in order of the alphabet
  std::vector<std::uint32_t> of_stack;
  // "" for no stack.
  const std::string& Of(StackId stack) const;
  std::uint32_t Rank(StackId stack) const;  // row of `names`; none (the largest) for no stack
};
// How a place is told; Symbols::Describe is one way.
using SiteNaming = std::function<std::string(const SourceFrame&)>;
// Resolves symbols: may take seconds. Incomplete once `stop` is requested.
SiteNames NameSites(const Session& session, Symbols& symbols, const SiteNaming& naming,
                    const std::stop_token& stop = {});

// What is asked of all rows of a session, once. Immutable once made, hence thread-safe.
class TensorTable {
 public:
  explicit TensorTable(std::shared_ptr<const Session> session);

  const Session& session() const { return *session_; }
  std::uint64_t count(RowKind kind) const { return counts_[static_cast<std::size_t>(kind)]; }
  std::uint64_t bytes(RowKind kind) const { return bytes_[static_cast<std::size_t>(kind)]; }
  // Tensors if the log has any, else blocks, else driver allocations.
  RowKind Usual() const;

  // Cells. A block, or driver memory, has the tensor that lay in it first.
  TensorId TensorOf(AllocationId id) const;
  // What was asked for: of a tensor, of the block that it lies in.
  std::uint64_t RequestedOf(AllocationId id) const;
  // A number to compare and sort by; nothing where there is none: no step, not freed, no device.
  // Times and lifetimes in ns, times since the start; of what is never freed the lifetime lasts to
  // the end of the log. A process is its rank or, where no launcher said one, its place from 1 on.
  std::optional<std::uint64_t> Number(TensorField field, AllocationId id) const;
  // Small numbers for large texts: the place of a tensor's field among all, by alphabet (shapes: by
  // their extents).
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

// The rows that pass the query and `passing` (null: everything), sorted; equal ones, and those
// without a value, which come last either way, by birth. `categories` and `sites` may be null:
// nothing then has a category, or a site.
// O(allocations + rows · log rows); 5·10^6 rows within a second or so.
TensorRows FindRows(const TensorTable& table, const Categories* categories, const SiteNames* sites,
                    const AllocationSet* passing, const RowsQuery& query,
                    const std::stop_token& stop = {});

}  // namespace memprof::analysis
