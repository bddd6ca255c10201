// Processes side by side.
#include "viewer/models/process_model.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "viewer/geometry/units.h"

namespace memprof::viewer {
namespace {

using analysis::ProcessFigures;
using analysis::Session;
using analysis::Spread;

struct ProcessColumn {
  const char* title;
  const char* csv;  // null: left out
  const char* help;
};

constexpr std::array<ProcessColumn, ProcessModel::kColumnCount> kProcessColumns = {{
    {"Process", "process", "Its rank, as the launcher set it, or its position among the logs"},
    {"PID", "pid", "As the operating system numbered it"},
    {"Host", "host", "The machine that it ran on"},
    {"Devices", "devices", "On which it held memory"},
    {"Driver peak", "driver_peak_bytes", "The most driver memory that it held at one time"},
    {"In-use peak", "in_use_peak_bytes",
     "The most that the blocks of its framework's allocator took at one time"},
    {"Reserved peak", "reserved_peak_bytes",
     "The most that its framework's allocator held at one time, in use or not"},
    {"Over time", nullptr, "Driver memory held and in use, on one scale for all"},
    {"At the end", "driver_end_bytes", "Driver memory held when the log ended"},
    {"Leaked", "leaked_bytes", "Alive at the end at the sites that are judged to leak"},
    {"Host memory", "host_peak_bytes", "The most pinned and registered host memory at one time"},
    {"Of others", "imported_peak_bytes",
     "The most memory of other processes that it had open; counted where it was allocated, not "
     "here"},
    {"Events", "events", "In its log"},
    {"Clock", "clock_shift_s", "Added to its times, so that all are on one clock"},
    {"Log", "log", "Where all this was read"},
}};

bool IsBytes(int column) {
  switch (column) {
    case ProcessModel::kDriverPeak:
    case ProcessModel::kInUsePeak:
    case ProcessModel::kReservedPeak:
    case ProcessModel::kAtEnd:
    case ProcessModel::kLeaked:
    case ProcessModel::kHostMemory:
    case ProcessModel::kImported:
      return true;
    default:
      return false;
  }
}

Spread SpreadOfFigures(const std::vector<ProcessFigures>& figures,
                       std::uint64_t ProcessFigures::*member) {
  std::vector<std::uint64_t> values;
  for (const ProcessFigures& process : figures) values.push_back(process.*member);
  return analysis::SpreadOf(values);
}

QString DevicesText(const ProcessFigures& figures) {
  QStringList devices;
  for (const int device : figures.devices) devices << QString::number(device);
  return devices.isEmpty() ? QStringLiteral("–") : devices.join(QStringLiteral(", "));
}

// "Peak of the driver's memory: 34.0 MiB to 36.0 MiB, mean 35.0 MiB; imbalance 2.9 %."
QString SpreadText(const QString& what, const Spread& spread, const std::vector<QString>& names,
                   const std::vector<ProcessFigures>& figures,
                   std::uint64_t ProcessFigures::*member) {
  if (spread.least == spread.most)
    return ProcessModel::tr("%1: %2 in each.").arg(what, FormatBytes(spread.most));
  const auto most =
      std::max_element(figures.begin(), figures.end(),
                       [member](const auto& a, const auto& b) { return a.*member < b.*member; });
  return ProcessModel::tr("%1: mean %2, most %3 (%4), least %5; imbalance %6.")
      .arg(what, FormatBytes(static_cast<std::uint64_t>(spread.mean)), FormatBytes(spread.most),
           names[static_cast<std::size_t>(most - figures.begin())], FormatBytes(spread.least),
           FormatPercent(spread.imbalance));
}

QString OutlierSentence(const ProcessPicture& picture, const std::vector<QString>& names) {
  std::set<std::uint32_t> outliers;
  for (const Spread* spread : {&picture.driver_peak, &picture.in_use_peak, &picture.reserved_peak,
                               &picture.driver_end, &picture.events})
    outliers.insert(spread->outliers.begin(), spread->outliers.end());
  if (names.size() < 3)
    return ProcessModel::tr("With two processes, no outlier can be determined: none is marked.");
  const QString rule =
      ProcessModel::tr("further from the median than 3 scaled median deviations and than 5 %");
  if (outliers.empty()) return ProcessModel::tr("None stands out: none is %1.").arg(rule);
  QStringList marked;
  for (const std::uint32_t process : outliers) marked << names[process];
  return ProcessModel::tr("Marked ▲ or ▼, because %1: %2.")
      .arg(rule, marked.join(QStringLiteral(", ")));
}

}  // namespace

std::shared_ptr<const ProcessPicture> MakeProcessPicture(std::shared_ptr<const Session> session,
                                                         const analysis::ProcessQuery& query,
                                                         const std::stop_token& stop) {
  auto picture = std::make_shared<ProcessPicture>();
  picture->session = std::move(session);
  analysis::ProcessQuery figures = query;
  figures.columns = 0;
  picture->figures = analysis::FindProcessFigures(*picture->session, figures, stop);
  picture->courses =
      std::make_shared<const analysis::ProcessCourses>(*picture->session, query.passing, stop);
  const auto spread = [&](std::uint64_t ProcessFigures::*member) {
    return SpreadOfFigures(picture->figures, member);
  };
  picture->driver_peak = spread(&ProcessFigures::driver_peak_bytes);
  picture->in_use_peak = spread(&ProcessFigures::in_use_peak_bytes);
  picture->reserved_peak = spread(&ProcessFigures::reserved_peak_bytes);
  picture->driver_end = spread(&ProcessFigures::driver_end_bytes);
  picture->events = spread(&ProcessFigures::events);
  return WithWindow(*picture, query.window, query.columns);
}

std::shared_ptr<const ProcessPicture> WithWindow(const ProcessPicture& picture,
                                                 analysis::TimeWindow window, int columns) {
  auto moved = std::make_shared<ProcessPicture>(picture);
  moved->window = window;
  moved->highest = 0;
  auto of = picture.courses->Columns(window, columns);
  for (std::size_t i = 0; i < moved->figures.size(); ++i) {
    moved->figures[i].columns = std::move(of[i]);
    for (const analysis::ProcessColumn& column : moved->figures[i].columns)
      moved->highest = std::max({moved->highest, column.driver_most, column.in_use_most});
  }
  return moved;
}

QString ProcessName(const Session& session, std::uint32_t process) {
  const int rank = session.processes()[process].rank;
  return rank >= 0 ? ProcessModel::tr("rank %1").arg(rank)
                   : ProcessModel::tr("process %1").arg(process + 1);
}

QStringList ProcessSentences(const ProcessPicture& picture) {
  const Session& session = *picture.session;
  const std::vector<ProcessFigures>& figures = picture.figures;
  std::vector<QString> names;
  std::set<std::string> hosts;
  std::set<int> devices;
  bool shifted = false;
  std::uint64_t imported = 0;
  for (const ProcessFigures& process : figures) {
    names.push_back(ProcessName(session, process.process));
    hosts.insert(session.processes()[process.process].run.hostname);
    devices.insert(process.devices.begin(), process.devices.end());
    shifted |= session.processes()[process.process].clock_shift_ns > 0;
    imported = std::max(imported, process.imported_peak_bytes);
  }
  QStringList sentences;
  if (figures.size() < 2) {
    sentences << ProcessModel::tr(
        "This log is of one process. To see the ranks of a job side by side, choose all their logs "
        "in File › Open log …, or drop their folder here.");
    return sentences;
  }
  const QString where = hosts.size() == 1
                            ? ProcessModel::tr("host %1").arg(ToQString(*hosts.begin()))
                            : FormatPlural(hosts.size(), ProcessModel::tr("host"));
  sentences << ProcessModel::tr("%1 processes on %2, with memory of %3.")
                   .arg(figures.size())
                   .arg(where, FormatPlural(devices.size(), ProcessModel::tr("device")));
  sentences << SpreadText(ProcessModel::tr("Peak of driver memory"), picture.driver_peak, names,
                          figures, &ProcessFigures::driver_peak_bytes);
  if (picture.in_use_peak.most > 0)
    sentences << SpreadText(ProcessModel::tr("Peak in use"), picture.in_use_peak, names, figures,
                            &ProcessFigures::in_use_peak_bytes);
  sentences << OutlierSentence(picture, names);
  sentences << (imported > 0
                    ? ProcessModel::tr("Memory that a process opened of another, up to %1, is "
                                       "counted once, where it was allocated.")
                          .arg(FormatBytes(imported))
                    : ProcessModel::tr("No process opened memory of another."));
  if (shifted)
    sentences << ProcessModel::tr(
        "Clocks of different machines are aligned by their wall clocks, and agree as well as these "
        "do.");
  return sentences;
}

void ProcessModel::SetPicture(std::shared_ptr<const ProcessPicture> picture) {
  const bool same = picture_ != nullptr && picture != nullptr &&
                    picture->session == picture_->session &&
                    picture->figures.size() == picture_->figures.size();
  if (same) {
    // The processes are the same: the selection stays.
    picture_ = std::move(picture);
    if (rowCount() > 0) emit dataChanged(index(0, 0), index(rowCount() - 1, kColumnCount - 1));
    return;
  }
  beginResetModel();
  picture_ = std::move(picture);
  endResetModel();
}

bool ProcessModel::IsEmpty(int column) const {
  if (picture_ == nullptr) return false;
  const auto processes = picture_->session->processes();
  if (column == kHost)
    return std::all_of(processes.begin(), processes.end(), [&](const analysis::ProcessInfo& info) {
      return info.run.hostname == processes.front().run.hostname;
    });
  if (column == kClock) {
    return std::all_of(processes.begin(), processes.end(),
                       [](const analysis::ProcessInfo& info) { return info.clock_shift_ns == 0; });
  }
  if (!IsBytes(column) || column == kDriverPeak) return false;
  for (const ProcessFigures& process : picture_->figures)
    if (Figure(process.process, column) > 0) return false;
  return true;
}

int ProcessModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() || picture_ == nullptr ? 0 : static_cast<int>(picture_->figures.size());
}

int ProcessModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumnCount;
}

std::uint64_t ProcessModel::Figure(std::uint32_t process, int column) const {
  const ProcessFigures& figures = picture_->figures[process];
  switch (column) {
    case kDriverPeak:
      return figures.driver_peak_bytes;
    case kInUsePeak:
      return figures.in_use_peak_bytes;
    case kReservedPeak:
      return figures.reserved_peak_bytes;
    case kAtEnd:
      return figures.driver_end_bytes;
    case kLeaked:
      return figures.leaked_bytes;
    case kHostMemory:
      return figures.host_peak_bytes;
    case kImported:
      return figures.imported_peak_bytes;
    case kEvents:
      return figures.events;
    case kPid:
      return picture_->session->processes()[process].run.pid;
    case kClock:
      return picture_->session->processes()[process].clock_shift_ns;
    default: {
      const int rank = picture_->session->processes()[process].rank;
      return rank >= 0 ? static_cast<std::uint64_t>(rank) : process;
    }
  }
}

const Spread* ProcessModel::SpreadOf(int column) const {
  switch (column) {
    case kDriverPeak:
      return &picture_->driver_peak;
    case kInUsePeak:
      return &picture_->in_use_peak;
    case kReservedPeak:
      return &picture_->reserved_peak;
    case kAtEnd:
      return &picture_->driver_end;
    case kEvents:
      return &picture_->events;
    default:
      return nullptr;
  }
}

int ProcessModel::Outlier(std::uint32_t process, int column) const {
  const Spread* spread = SpreadOf(column);
  if (spread == nullptr) return 0;
  const auto& odd = spread->outliers;
  if (std::find(odd.begin(), odd.end(), process) == odd.end()) return 0;
  return static_cast<double>(Figure(process, column)) > spread->median ? 1 : -1;
}

QString ProcessModel::Text(std::uint32_t process, int column) const {
  const analysis::ProcessInfo& info = picture_->session->processes()[process];
  switch (column) {
    case kProcess:
      return ProcessName(*picture_->session, process);
    case kPid:
      return QString::number(info.run.pid);
    case kHost:
      return ToQString(info.run.hostname);
    case kDevices:
      return DevicesText(picture_->figures[process]);
    case kOverTime:
      return {};
    case kClock:
      return info.clock_shift_ns == 0 ? QStringLiteral("0")
                                      : QLatin1Char('+') + FormatDuration(info.clock_shift_ns);
    case kLog:
      return BaseName(ToQString(info.path));
    default:
      break;
  }
  const int odd = Outlier(process, column);
  const QString mark = odd > 0 ? QStringLiteral("▲ ") : odd < 0 ? QStringLiteral("▼ ") : QString();
  const std::uint64_t figure = Figure(process, column);
  return mark + (IsBytes(column) ? FormatBytes(figure) : FormatCount(figure));
}

QString ProcessModel::Tip(std::uint32_t process, int column) const {
  const analysis::ProcessInfo& info = picture_->session->processes()[process];
  if (column == kLog || column == kProcess) return ToQString(info.path);
  if (column == kOverTime) {
    const ProcessFigures& figures = picture_->figures[process];
    return tr("In the whole run, driver memory held: at most %1; in use: at most %2")
        .arg(FormatBytes(figures.driver_peak_bytes), FormatBytes(figures.in_use_peak_bytes));
  }
  const Spread* spread = SpreadOf(column);
  if (spread == nullptr || rowCount() < 2) return Text(process, column);
  const auto number = [&](double value) {
    const auto whole = static_cast<std::uint64_t>(std::max(0.0, value));
    return IsBytes(column) ? FormatBytes(whole) : FormatCount(whole);
  };
  const double away =
      spread->median > 0
          ? (static_cast<double>(Figure(process, column)) - spread->median) / spread->median
          : 0;
  return tr("%1; median %2, scaled median deviation %3; %4 %5 the median")
      .arg(Text(process, column), number(spread->median), number(spread->deviation),
           FormatPercent(std::abs(away)), away < 0 ? tr("below") : tr("above"));
}

QVariant ProcessModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const auto process = static_cast<std::uint32_t>(index.row());
  const int column = index.column();
  const bool number = IsBytes(column) || column == kEvents;
  switch (role) {
    case Qt::DisplayRole:
      return Text(process, column);
    case Qt::ToolTipRole:
      return Tip(process, column);
    case Qt::TextAlignmentRole:
      return QVariant((number || column == kPid ? Qt::AlignRight : Qt::AlignLeft) |
                      Qt::AlignVCenter);
    case kProcessRole:
      return static_cast<uint>(process);
    case kSortRole:
      if (column == kHost || column == kDevices || column == kLog) return Text(process, column);
      return static_cast<qulonglong>(Figure(process, column == kOverTime ? kDriverPeak : column));
    case kOutlierRole: {
      const int odd = Outlier(process, column);
      return odd == 0 ? QVariant() : QVariant(odd);
    }
    case kShareRole: {
      const Spread* spread = SpreadOf(column);
      if (spread == nullptr || spread->most == 0 || !IsBytes(column)) return {};
      return static_cast<double>(Figure(process, column)) / static_cast<double>(spread->most);
    }
    case kPlainRole:
      if (column == kOverTime) return {};
      if (column == kClock)
        return QString::number(static_cast<double>(Figure(process, column)) / 1e9, 'f', 9);
      return number ? QString::number(Figure(process, column)) : Text(process, column);
    default:
      return {};
  }
}

QVariant ProcessModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumnCount) return {};
  const ProcessColumn& column = kProcessColumns[static_cast<std::size_t>(section)];
  switch (role) {
    case Qt::DisplayRole:
      return tr(column.title);
    case Qt::ToolTipRole:
      return tr(column.help);
    case kPlainRole:
      return QString::fromUtf8(column.csv);
    case Qt::TextAlignmentRole:
      return QVariant((IsBytes(section) || section == kEvents || section == kPid ? Qt::AlignRight
                                                                                 : Qt::AlignLeft) |
                      Qt::AlignVCenter);
    default:
      return {};
  }
}

}  // namespace memprof::viewer
