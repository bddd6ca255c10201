// Reads and writes links. Each key is a row of a table, with a function for each direction.
#include "viewer/models/link.h"

#include <QUrl>
#include <limits>

#include "analysis/base/quantity.h"
#include "viewer/geometry/units.h"
#include "viewer/geometry/words.h"
#include "viewer/models/plain_line.h"

namespace memprof::viewer {
namespace {

using analysis::AllocationFilter;

constexpr qsizetype kMaxFragment = 16384;

std::optional<std::uint64_t> ReadCount(const QString& text) {
  bool ok = false;
  const qulonglong value = text.toULongLong(&ok);
  if (!ok || text.startsWith(QLatin1Char('+'))) return std::nullopt;
  return value;
}

std::optional<int> ReadSmall(const QString& text) {
  const auto value = ReadCount(text);
  if (!value || *value > std::numeric_limits<std::int16_t>::max()) return std::nullopt;
  return static_cast<int>(*value);
}

std::optional<std::uint64_t> ReadTime(const QString& text) {
  const auto quantity = analysis::ParseQuantity(text.toStdString());
  if (!quantity || quantity->kind != analysis::Quantity::Kind::kTime) return std::nullopt;
  return quantity->value;
}

std::optional<Moment> ReadMoment(const QString& text) {
  const auto numbered = [&text](const char* prefix, Moment::Kind kind) -> std::optional<Moment> {
    const QString word = QString::fromLatin1(prefix);
    if (!text.startsWith(word)) return std::nullopt;
    const auto number = ReadCount(text.mid(word.size()));
    return number ? std::optional(Moment{kind, *number}) : std::nullopt;
  };
  if (text == QLatin1String("peak")) return Moment{Moment::Kind::kPeak};
  if (text == QLatin1String("end")) return Moment{Moment::Kind::kEnd};
  if (const auto step = numbered("step", Moment::Kind::kStep)) return step;
  if (const auto event = numbered("event", Moment::Kind::kEvent)) return event;
  const auto time = ReadTime(text);
  return time ? std::optional(Moment{Moment::Kind::kTime, *time}) : std::nullopt;
}

QString MomentText(const Moment& moment) {
  switch (moment.kind) {
    case Moment::Kind::kTime:
      return LinkTime(moment.value);
    case Moment::Kind::kStep:
      return QStringLiteral("step%1").arg(moment.value);
    case Moment::Kind::kEvent:
      return QStringLiteral("event%1").arg(moment.value);
    case Moment::Kind::kPeak:
      return QStringLiteral("peak");
    case Moment::Kind::kEnd:
      break;
  }
  return QStringLiteral("end");
}

// The value that has this name among `count`; none if none has.
template <typename Enum, typename Name>
std::optional<Enum> ReadName(const QString& text, std::size_t count, Name name) {
  for (std::size_t i = 0; i < count; ++i)
    if (text == ToQString(name(static_cast<Enum>(i)))) return static_cast<Enum>(i);
  return std::nullopt;
}
std::optional<analysis::Layer> ReadLayer(const QString& text) {
  return ReadName<analysis::Layer>(text, analysis::kLayerCount, analysis::LayerName);
}

bool TakeSite(LinkedSite* site, const QString& value) {
  site->place = value;
  return !value.isEmpty();
}
bool TakeStack(LinkedSite* site, const QString& value) {
  bool ok = false;
  value.toUInt(&ok, 16);
  site->stack = ok && value.size() == 8 ? value.toLower() : QString();
  return ok && value.size() == 8;
}

// block:0x7f0012000000@1.5s
bool TakeAllocation(Link* link, const QString& value) {
  const qsizetype colon = value.indexOf(QLatin1Char(':')), at = value.indexOf(QLatin1Char('@'));
  if (colon < 0 || at < colon) return false;
  const auto layer = ReadLayer(value.left(colon));
  const auto birth = ReadTime(value.mid(at + 1));
  bool ok = false;
  const QString address = value.mid(colon + 1, at - colon - 1);
  const std::uint64_t number = address.toULongLong(&ok, 16);
  if (!layer || !birth || !ok) return false;
  link->allocation = LinkedAllocation{*layer, number, *birth};
  return true;
}

// 10s-20s
bool TakeWindow(Link* link, const QString& value) {
  const qsizetype dash = value.indexOf(QLatin1Char('-'));
  if (dash < 0) return false;
  const auto begin = ReadMoment(value.left(dash)), end = ReadMoment(value.mid(dash + 1));
  if (begin && end) link->window = {*begin, *end};
  return begin && end;
}

// Assigns what was read, if it could be read.
template <typename To, typename From>
bool Take(To* to, const std::optional<From>& from) {
  if (from) *to = *from;
  return from.has_value();
}

QString AllocationText(const LinkedAllocation& name) {
  return QStringLiteral("%1:%2@%3")
      .arg(ToQString(analysis::LayerName(name.layer)), FormatAddress(name.address),
           LinkTime(name.birth));
}

// The one layer of a filter; none if it has all or several.
std::optional<analysis::Layer> OnlyLayer(const AllocationFilter& filter) {
  for (int i = 0; i < analysis::kLayerCount; ++i)
    if (filter.layers == analysis::LayerBit(static_cast<analysis::Layer>(i)))
      return static_cast<analysis::Layer>(i);
  return std::nullopt;
}

template <QString ViewState::*kWord>
bool TakeWord(Link* link, const QString& value) {
  link->state.*kWord = value;
  return !value.isEmpty();
}
template <QString ViewState::*kWord>
QString WordText(const Link& link) {
  return link.state.*kWord;
}

struct LinkKey {
  const char* name;
  bool (*take)(Link*, const QString&);
  QString (*text)(const Link&);  // "" = absent
};

template <typename Number>
QString NumberText(const std::optional<Number>& number) {
  return number ? QString::number(*number) : QString();
}

// In the order in which they are written.
constexpr LinkKey kKeys[] = {
    {"view",
     [](Link* link, const QString& value) {
       link->view = value;
       return !value.isEmpty();
     },
     [](const Link& link) { return link.view; }},
    {"page", TakeWord<&ViewState::page>, WordText<&ViewState::page>},
    {"by", TakeWord<&ViewState::by>, WordText<&ViewState::by>},
    {"content", TakeWord<&ViewState::content>, WordText<&ViewState::content>},
    {"file", TakeWord<&ViewState::file>, WordText<&ViewState::file>},
    {"frames", TakeWord<&ViewState::frames>, WordText<&ViewState::frames>},
    {"zoom", TakeWord<&ViewState::zoom>, WordText<&ViewState::zoom>},
    {"with", TakeWord<&ViewState::with>, WordText<&ViewState::with>},
    {"before",
     [](Link* link, const QString& value) { return Take(&link->state.before, ReadTime(value)); },
     [](const Link& link) { return link.state.before ? LinkTime(*link.state.before) : QString(); }},
    {"axis",
     [](Link* link, const QString& value) {
       if (value == QLatin1String("steps")) link->axis = AxisKind::kSteps;
       if (value == QLatin1String("time")) link->axis = AxisKind::kTime;
       return value == QLatin1String("steps") || value == QLatin1String("time");
     },
     [](const Link& link) {
       if (!link.axis) return QString();
       return *link.axis == AxisKind::kSteps ? QStringLiteral("steps") : QStringLiteral("time");
     }},
    {"device",
     [](Link* link, const QString& value) {
       if (value == QLatin1String("host")) link->device = analysis::kNoDevice;
       return value == QLatin1String("host") || Take(&link->device, ReadSmall(value));
     },
     [](const Link& link) {
       return link.device == analysis::kNoDevice ? QStringLiteral("host") : NumberText(link.device);
     }},
    {"step",
     [](Link* link, const QString& value) {
       return Take(&link->at, ReadMoment(QStringLiteral("step") + value));
     },
     [](const Link& link) {
       const bool step = link.at && link.at->kind == Moment::Kind::kStep;
       return step ? QString::number(link.at->value) : QString();
     }},
    {"at", [](Link* link, const QString& value) { return Take(&link->at, ReadMoment(value)); },
     [](const Link& link) {
       const bool written = !link.at || link.at->kind == Moment::Kind::kStep;
       return written ? QString() : MomentText(*link.at);
     }},
    {"window", TakeWindow,
     [](const Link& link) {
       if (!link.window) return QString();
       return MomentText(link.window->first) + QLatin1Char('-') + MomentText(link.window->second);
     }},
    {"site", [](Link* link, const QString& value) { return TakeSite(&link->site, value); },
     [](const Link& link) { return link.site.place; }},
    {"stack", [](Link* link, const QString& value) { return TakeStack(&link->site, value); },
     [](const Link& link) { return link.site.stack; }},
    {"allocation", TakeAllocation,
     [](const Link& link) {
       return link.allocation ? AllocationText(*link.allocation) : QString();
     }},
    {"filter",
     [](Link* link, const QString& value) {
       link->filter.text = value.toStdString();
       return true;
     },
     [](const Link& link) { return ToQString(link.filter.text); }},
    {"only", [](Link* link, const QString& value) { return TakeSite(&link->only, value); },
     [](const Link& link) { return link.only.place; }},
    {"only-stack", [](Link* link, const QString& value) { return TakeStack(&link->only, value); },
     [](const Link& link) { return link.only.stack; }},
    {"rank", [](Link* link, const QString& value) { return Take(&link->rank, ReadSmall(value)); },
     [](const Link& link) { return NumberText(link.rank); }},
    {"process",
     [](Link* link, const QString& value) { return Take(&link->process, ReadSmall(value)); },
     [](const Link& link) { return NumberText(link.process); }},
    {"category",
     [](Link* link, const QString& value) {
       return Take(
           &link->filter.category,
           ReadName<analysis::Category>(value, analysis::kCategoryCount, analysis::CategoryKey));
     },
     [](const Link& link) {
       return link.filter.category ? ToQString(analysis::CategoryKey(*link.filter.category))
                                   : QString();
     }},
    {"layer",
     [](Link* link, const QString& value) {
       const auto layer = ReadLayer(value);
       if (layer) link->filter.layers = analysis::LayerBit(*layer);
       return layer.has_value();
     },
     [](const Link& link) {
       const auto layer = OnlyLayer(link.filter);
       return layer ? ToQString(analysis::LayerName(*layer)) : QString();
     }},
    {"stream",
     [](Link* link, const QString& value) { return Take(&link->filter.stream, ReadCount(value)); },
     [](const Link& link) { return NumberText(link.filter.stream); }},
    {"least",
     [](Link* link, const QString& value) {
       const auto bytes = analysis::ParseSize(value.toStdString());
       if (bytes.ok()) link->filter.least_bytes = *bytes;
       return bytes.ok();
     },
     [](const Link& link) {
       return link.filter.least_bytes > 0 ? QString::number(link.filter.least_bytes) : QString();
     }},
    {"most",
     [](Link* link, const QString& value) {
       const auto bytes = analysis::ParseSize(value.toStdString());
       if (bytes.ok()) link->filter.most_bytes = *bytes;
       return bytes.ok();
     },
     [](const Link& link) {
       const bool any = link.filter.most_bytes == AllocationFilter().most_bytes;
       return any ? QString() : QString::number(link.filter.most_bytes);
     }},
    {"longer",
     [](Link* link, const QString& value) {
       return Take(&link->filter.least_lifetime, ReadTime(value));
     },
     [](const Link& link) {
       return link.filter.least_lifetime > 0 ? LinkTime(link.filter.least_lifetime) : QString();
     }},
    {"shorter",
     [](Link* link, const QString& value) {
       return Take(&link->filter.most_lifetime, ReadTime(value));
     },
     [](const Link& link) {
       const bool any = link.filter.most_lifetime == AllocationFilter().most_lifetime;
       return any ? QString() : LinkTime(link.filter.most_lifetime);
     }},
    {"alive",
     [](Link* link, const QString& value) {
       link->filter.alive_at_end = value == QLatin1String("end");
       return link->filter.alive_at_end;
     },
     [](const Link& link) { return link.filter.alive_at_end ? QStringLiteral("end") : QString(); }},
};

bool HasControls(const QString& text) {
  for (const QChar c : text)
    if (c.category() == QChar::Other_Control || c.category() == QChar::Separator_Line ||
        c.category() == QChar::Separator_Paragraph || c == QChar::ReplacementCharacter)
      return true;
  return false;
}

QString Shown(const QString& text) { return PlainLine(text, 40); }

QString CannotBe(const char* name, const QString& value) {
  return Tr("the link's %1 cannot be '%2'").arg(QLatin1String(name), Shown(value));
}

const LinkKey* FindKey(const QString& name) {
  for (const LinkKey& key : kKeys)
    if (name == QLatin1String(key.name)) return &key;
  return nullptr;
}

}  // namespace

QString LinkTime(std::uint64_t ns) {
  // Beyond this, a fraction of seconds is not read back exactly.
  constexpr std::uint64_t kSecond = 1'000'000'000, kExact = 1'000'000 * kSecond;
  if (ns > kExact) return QString::number(ns) + QStringLiteral("ns");
  QString text = QString::number(ns / kSecond);
  if (const std::uint64_t rest = ns % kSecond; rest > 0) {
    text += QStringLiteral(".%1").arg(rest, 9, 10, QLatin1Char('0'));
    while (text.endsWith(QLatin1Char('0'))) text.chop(1);
  }
  return text + QLatin1Char('s');
}

Link ParseLink(const QString& fragment, QStringList* problems) {
  Link link;
  if (fragment.size() > kMaxFragment) {
    *problems << Tr("the link is too long");
    return link;
  }
  for (const QString& part : fragment.split(QLatin1Char('&'), Qt::SkipEmptyParts)) {
    const qsizetype equals = part.indexOf(QLatin1Char('='));
    const QString name = equals < 0 ? part : part.left(equals);
    const QString value =
        equals < 0
            ? QString()
            : QString::fromUtf8(QByteArray::fromPercentEncoding(part.mid(equals + 1).toUtf8()));
    const LinkKey* key = FindKey(name);
    if (key == nullptr) {
      *problems << Tr("the link's '%1' is not known to this version").arg(Shown(name));
    } else if (HasControls(value) || !key->take(&link, value)) {
      *problems << CannotBe(key->name, value);
    }
  }
  return link;
}

QString LinkText(const Link& link) {
  QStringList parts;
  for (const LinkKey& key : kKeys) {
    const QString value = key.text(link);
    if (value.isEmpty()) continue;
    parts << QString::fromLatin1(key.name) + QLatin1Char('=') +
                 QString::fromLatin1(QUrl::toPercentEncoding(value, ":/,@"));
  }
  return parts.join(QLatin1Char('&'));
}

QStringList RefusedWords(const ViewState& asked, const ViewState& shown) {
  Link wanted, is;
  wanted.state = asked;
  is.state = shown;
  QStringList refused;
  for (const LinkKey& key : kKeys)
    if (const QString word = key.text(wanted); !word.isEmpty() && word != key.text(is))
      refused << CannotBe(key.name, word);
  return refused;
}

}  // namespace memprof::viewer
