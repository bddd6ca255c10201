// Names cut to a width.
#include "viewer/geometry/elide.h"

#include <algorithm>
#include <map>
#include <vector>

namespace memprof::viewer {
namespace {

const QChar kDots(0x2026);
// The share of the width that the place of a call site may take before it is cut too.
constexpr double kPlaceShare = 0.7;
// The share of the kept letters that is from the end of the text.
constexpr double kEndShare = 0.6;
// The same for a place, whose line is at the end.
constexpr double kPlaceEndShare = 0.9;
constexpr QLatin1String kIn(", in ");
// The least letters of a package's line beside the user's: the end of a file's name, and a line.
constexpr qsizetype kFewLetters = 10;

// The most characters for which `make(letters)` fits; -1 if not even 0 do.
template <typename Make>
qsizetype MostLetters(qsizetype all, double width, const TextMeasure& measure, const Make& make) {
  qsizetype fits = -1, low = 0, high = all;
  while (low <= high) {
    const qsizetype middle = (low + high) / 2;
    if (measure(make(middle)) <= width) {
      fits = middle;
      low = middle + 1;
    } else {
      high = middle - 1;
    }
  }
  return fits;
}

// Both ends of a text; `end_share` of the kept characters are from its end.
QString KeepEnds(const QString& text, double width, double end_share, const TextMeasure& measure) {
  if (measure(text) <= width) return text;
  const auto make = [&](qsizetype letters) {
    const auto end = static_cast<qsizetype>(static_cast<double>(letters) * end_share + 0.5);
    return text.left(letters - end) + kDots + text.right(end);
  };
  const qsizetype letters = MostLetters(text.size() - 1, width, measure, make);
  return letters < 0 ? QString() : make(letters);
}

// "train.py:9" of "main (train.py:9)".
QString PlaceOf(const QString& site) {
  const qsizetype split = site.lastIndexOf(QLatin1String(" ("));
  return split > 0 && site.endsWith(QLatin1Char(')')) ? site.mid(split + 2).chopped(1) : site;
}

// A user's line and the line of a package that it called.
QString ElideSite(const QString& user, const QString& library, double width,
                  const TextMeasure& measure) {
  for (const QString& kept : {user, PlaceOf(user)}) {
    const QString front = kept + kIn;
    const QString end = kDots + PlaceOf(library).right(kFewLetters);
    if (measure(front + end) <= width)
      return front + KeepEnds(PlaceOf(library), width - measure(front), 1, measure);
  }
  return ElideName(user, width, measure);
}

// Keeps the text after its first `from` letters, with as much before it as fits. If it does not fit
// itself, its end is cut too.
QString KeepFrom(const QString& text, qsizetype from, double width, const TextMeasure& measure) {
  const auto to_end = [&](qsizetype letters) { return kDots + text.right(letters); };
  const qsizetype last = MostLetters(text.size(), width, measure, to_end);
  if (last >= text.size() - from) return last >= text.size() ? text : to_end(last);
  const auto within = [&](qsizetype letters) { return kDots + text.mid(from, letters) + kDots; };
  const qsizetype letters = MostLetters(text.size() - from, width, measure, within);
  return letters < 0 ? QString() : within(letters);
}

qsizetype CommonPrefix(const QStringList& texts, const std::vector<qsizetype>& which) {
  const QString& first = texts[which.front()];
  qsizetype common = first.size();
  for (const qsizetype i : which) {
    const auto limit = std::min(common, texts[i].size());
    common =
        std::mismatch(first.begin(), first.begin() + limit, texts[i].begin()).first - first.begin();
  }
  return common;
}

// Cuts texts again that look the same after the cut: from the first character in which they differ.
void Distinguish(const QStringList& texts, const std::vector<qsizetype>& which, double width,
                 const TextMeasure& measure, QStringList* out) {
  std::map<QString, std::vector<qsizetype>> alike;
  for (const qsizetype i : which) alike[(*out)[i]].push_back(i);
  for (const auto& [shown, group] : alike) {
    const QString& first = texts[group.front()];
    const bool differ =
        std::any_of(group.begin(), group.end(), [&](qsizetype i) { return texts[i] != first; });
    if (!differ) continue;
    const qsizetype common = CommonPrefix(texts, group);
    bool moved = false;
    for (const qsizetype i : group) {
      const QString cut = KeepFrom(texts[i], common, width, measure);
      if (cut.isEmpty()) continue;
      moved |= cut != shown;
      (*out)[i] = cut;
    }
    // Each time the texts agree in more characters, so this ends.
    if (moved) Distinguish(texts, group, width, measure, out);
  }
}

// Different names may still look alike when they are cut at different places: then a number
// distinguishes them.
void NumberTheRest(const QStringList& texts, double width, const TextMeasure& measure,
                   QStringList* out) {
  std::map<QString, QString> read, shown;  // the shown text, by name; the name, by its shown text
  for (qsizetype i = 0; i < texts.size(); ++i) {
    const auto again = read.find(texts[i]);
    if (again != read.end()) {
      (*out)[i] = again->second;
      continue;
    }
    QString cut = (*out)[i];
    for (int number = 2; shown.contains(cut) && number < 1000; ++number) {
      const QString mark = QStringLiteral("…#%1").arg(number);
      const auto make = [&](qsizetype letters) { return texts[i].left(letters) + mark; };
      const qsizetype letters = MostLetters(texts[i].size(), width, measure, make);
      if (letters < 0) break;
      cut = make(letters);
    }
    shown[cut] = texts[i];
    read[texts[i]] = (*out)[i] = cut;
  }
}

}  // namespace

QString ElideName(const QString& text, double width, const TextMeasure& measure) {
  if (measure(text) <= width) return text;
  const qsizetype in = text.indexOf(kIn);
  if (in > 0) return ElideSite(text.left(in), text.mid(in + kIn.size()), width, measure);
  const qsizetype split = text.lastIndexOf(QLatin1String(" ("));
  if (split <= 0 || !text.endsWith(QLatin1Char(')')))
    return KeepEnds(text, width, kEndShare, measure);
  QString place = text.mid(split);
  const bool too_long = measure(place) > kPlaceShare * width;
  // Python's "<module>" adds nothing to its file.
  if (place.contains(QLatin1Char(':')) && (too_long || text.startsWith(QLatin1Char('<'))))
    return KeepEnds(PlaceOf(text), width, kPlaceEndShare, measure);
  if (too_long)
    place = QLatin1Char(' ') + KeepEnds(place.mid(1), kPlaceShare * width, kPlaceEndShare, measure);
  return KeepEnds(text.left(split), width - measure(place), 0.5, measure) + place;
}

QStringList ElideApart(const QStringList& texts, double width, const TextMeasure& measure) {
  QStringList out;
  std::vector<qsizetype> all;
  for (const QString& text : texts) {
    all.push_back(out.size());
    out << ElideName(text, width, measure);
  }
  Distinguish(texts, all, width, measure, &out);
  NumberTheRest(texts, width, measure, &out);
  return out;
}

}  // namespace memprof::viewer
