// Cells of the table of tensors, read from the session as they are shown.
#include "viewer/models/tensor_model.h"

#include <algorithm>
#include <array>
#include <utility>

#include "viewer/geometry/units.h"

namespace memprof::viewer {
namespace {

using analysis::AllocationId;
using analysis::AllocationRecord;
using analysis::TensorField;
using analysis::TensorInfo;

struct TensorColumn {
  TensorField field;
  const char* title;
  const char* csv;  // heading in files; null: left out
  const char* help;
};

constexpr std::array<TensorColumn, TensorModel::kColumnCount> kTensorColumns = {{
    {TensorField::kName, "Name", "name", "The name that the program set"},
    {TensorField::kShape, "Shape", "shape", "Its extents, outermost first"},
    {TensorField::kDtype, "Type", "dtype", "Of its elements"},
    {TensorField::kCategory, "Category", "category", "What it is for, as concluded"},
    {TensorField::kBytes, "Bytes", "bytes", "What it occupies"},
    {TensorField::kBorn, "Over time", nullptr,
     "From its birth to its end, within the window of all views; coloured by category"},
    {TensorField::kLifetime, "Lifetime", "lifetime_s",
     "From its birth to its end, or to the end of the log"},
    {TensorField::kBornStep, "Born in", "birth_step", "The step in which it was born"},
    {TensorField::kFreedStep, "Freed in", "death_step", "The step in which it ended"},
    {TensorField::kBorn, "Born at", "birth_s", "Since the start of the log"},
    {TensorField::kFreed, "Freed at", "death_s", "Since the start of the log"},
    {TensorField::kRequested, "Requested", "requested_bytes",
     "What was requested from the allocator, before rounding; of a tensor, for the block that "
     "contains it"},
    {TensorField::kLayer, "Layer", "layer", "Which kind of memory it is"},
    {TensorField::kStream, "Stream", "stream", "The stream that it was allocated on"},
    {TensorField::kDevice, "Device", "device", "The device whose memory it is in"},
    {TensorField::kProcess, "Process", "process",
     "The rank of the process, or its place among the logs"},
    {TensorField::kSite, "Allocated at", "site", "The place in the program that made it"},
}};

bool IsNumber(int column) {
  return column != TensorModel::kBars && column != TensorModel::kStream &&
         !analysis::IsTextField(TensorModel::FieldOf(column));
}

// As many decimals as nanoseconds need.
QString Seconds(std::uint64_t ns) { return QString::number(static_cast<double>(ns) / 1e9, 'f', 9); }

QString Dash() { return QStringLiteral("–"); }

}  // namespace

TensorField TensorModel::FieldOf(int column) {
  return kTensorColumns[static_cast<std::size_t>(column)].field;
}

void TensorModel::SetData(TensorData data) {
  beginResetModel();
  data_ = std::move(data);
  endResetModel();
}

void TensorModel::SetSites(std::shared_ptr<const analysis::SiteNames> sites) {
  data_.sites = std::move(sites);
  if (rowCount() > 0) emit dataChanged(index(0, kSite), index(rowCount() - 1, kSite));
}

AllocationId TensorModel::allocation(int row) const {
  return AllocationId(data_.rows->rows[static_cast<std::size_t>(row)]);
}

const AllocationRecord& TensorModel::record(int row) const {
  return data_.table->session().record(allocation(row));
}

int TensorModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() || data_.rows == nullptr ? 0 : static_cast<int>(data_.rows->rows.size());
}

int TensorModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumnCount;
}

QVariant TensorModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  switch (role) {
    case Qt::DisplayRole:
      return Text(allocation(index.row()), index.column());
    case Qt::ToolTipRole:
      return Tip(allocation(index.row()), index.column());
    case Qt::TextAlignmentRole:
      if (IsNumber(index.column())) return QVariant(Qt::AlignRight | Qt::AlignVCenter);
      return {};
    case kShareRole:
      if (index.column() != kBytes || data_.rows->largest == 0) return {};
      return static_cast<double>(record(index.row()).bytes) /
             static_cast<double>(data_.rows->largest);
    case kPlainRole:
      return Plain(allocation(index.row()), index.column());
    default:
      return {};
  }
}

QString TensorModel::Text(AllocationId id, int column) const {
  const analysis::TensorTable& table = *data_.table;
  const AllocationRecord& record = table.session().record(id);
  const TensorField field = FieldOf(column);
  switch (column) {
    case kBars:
      return {};
    case kName:
    case kShape:
    case kDtype: {
      const TensorInfo* tensor = table.session().tensor(table.TensorOf(id));
      if (tensor == nullptr) return {};
      if (column == kName) return ToQString(tensor->name);
      if (column == kDtype) return ToQString(tensor->dtype);
      return ToQString(analysis::ShapeText(*tensor)).replace(QLatin1Char('x'), QChar(0xd7));
    }
    case kCategory:
      if (data_.categories == nullptr) return QStringLiteral("…");
      return ToQString(analysis::CategoryName(data_.categories->Of(id).category));
    case kLayer:
      return ToQString(analysis::LayerName(record.layer));
    case kSite:
      return data_.sites == nullptr ? QStringLiteral("…")
                                    : ToQString(data_.sites->Of(record.stack));
    default:
      break;
  }
  const std::optional<std::uint64_t> number = table.Number(field, id);
  if (!number) {
    if (column == kFreed && record.alive()) return tr("alive");
    return column == kDevice ? tr("host") : Dash();
  }
  switch (column) {
    case kBytes:
    case kRequested:
      return FormatBytes(*number);
    case kBorn:
    case kFreed:
      return FormatInstant(*number,
                           std::max<analysis::TimeNs>((table.end() - table.start()) / 10000, 1));
    case kLifetime:
      return (record.alive() ? QStringLiteral("≥ ") : QString()) + FormatDuration(*number);
    case kStream:
      return *number == 0 ? QStringLiteral("0") : FormatAddress(*number);
    default:
      return QString::number(*number);
  }
}

QString TensorModel::Tip(AllocationId id, int column) const {
  const AllocationRecord& record = data_.table->session().record(id);
  switch (column) {
    case kCategory: {
      if (data_.categories == nullptr) return tr("Still being concluded");
      const analysis::CategoryVerdict& verdict = data_.categories->Of(id);
      if (verdict.reason == analysis::CategoryReason::kNothing) return tr("No evidence");
      return tr("%1: concluded from %2, confidence %3")
          .arg(ToQString(analysis::CategoryName(verdict.category)),
               ToQString(analysis::CategoryReasonText(verdict.reason)),
               FormatPercent(verdict.confidence));
    }
    case kBytes:
    case kRequested:
      return FormatPlural(*data_.table->Number(FieldOf(column), id), tr("byte"));
    case kBars: {
      const auto moment = [&](int at, int step) {
        const QString in = Text(id, step);
        return Text(id, at) + (in == Dash() ? QString() : tr(" (step %1)").arg(in));
      };
      const QString born = tr("born at %1").arg(moment(kBorn, kBornStep));
      if (record.alive()) return tr("%1, alive when the log ended").arg(born);
      return tr("%1, freed at %2, lived %3")
          .arg(born, moment(kFreed, kFreedStep), Text(id, kLifetime));
    }
    default:
      return Text(id, column);
  }
}

QString TensorModel::Plain(AllocationId id, int column) const {
  if (column == kBars) return {};
  if (analysis::IsTextField(FieldOf(column))) {
    const bool unknown = (column == kCategory && data_.categories == nullptr) ||
                         (column == kSite && data_.sites == nullptr);
    return unknown ? QString() : Text(id, column).replace(QChar(0xd7), QLatin1Char('x'));
  }
  const std::optional<std::uint64_t> number = data_.table->Number(FieldOf(column), id);
  if (!number) return {};
  const bool time = column == kLifetime || column == kBorn || column == kFreed;
  return time ? Seconds(*number) : QString::number(*number);
}

QVariant TensorModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumnCount) return {};
  const TensorColumn& column = kTensorColumns[static_cast<std::size_t>(section)];
  if (role == Qt::TextAlignmentRole)
    return QVariant((IsNumber(section) ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  if (role == Qt::DisplayRole) return tr(column.title);
  if (role == kPlainRole) return QString::fromUtf8(column.csv);
  if (role == Qt::ToolTipRole)
    return tr("%1. Filter with %2").arg(tr(column.help), ToQString(TensorFieldName(column.field)));
  return {};
}

void TensorModel::sort(int column, Qt::SortOrder order) {
  if (column >= 0 && column < kColumnCount) emit SortRequested(column, order);
}

QString RowNoun(analysis::RowKind kind) {
  switch (kind) {
    case analysis::RowKind::kTensors:
      return TensorModel::tr("tensor");
    case analysis::RowKind::kBlocks:
      return TensorModel::tr("block");
    case analysis::RowKind::kDriver:
      break;
  }
  return TensorModel::tr("driver allocation");
}

int FindRow(const analysis::TensorTable& table, const analysis::TensorRows& rows, AllocationId id) {
  const analysis::Session& session = table.session();
  if (!id.valid() || id.value >= session.records().size()) return -1;
  const std::uint32_t layers = analysis::LayersOf(rows.kind);
  const auto listed = [&](AllocationId candidate) {
    return (analysis::LayerBit(session.record(candidate).layer) & layers) != 0;
  };
  AllocationId wanted = listed(id) ? id : AllocationId();
  for (const AllocationId child : session.Children(id)) {
    if (wanted.valid()) break;
    if (listed(child)) wanted = child;
  }
  for (AllocationId below = session.record(id).parent; !wanted.valid() && below.valid();
       below = session.record(below).parent) {
    if (listed(below)) wanted = below;
  }
  if (!wanted.valid()) return -1;
  const auto at = std::find(rows.rows.begin(), rows.rows.end(), wanted.value);
  return at == rows.rows.end() ? -1 : static_cast<int>(at - rows.rows.begin());
}

}  // namespace memprof::viewer
