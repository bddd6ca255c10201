// Reads the query language of the table of tensors.
#include "analysis/filter/tensor_query.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "analysis/base/quantity.h"
#include "analysis/base/text.h"

namespace memprof::analysis {
namespace {

using Unit = Quantity::Kind;

struct FieldName {
  std::string_view name;
  TensorField field;
  Unit unit;
};

constexpr std::array<FieldName, 14> kFieldNames = {{
    {"name", TensorField::kName, Unit::kNumber},
    {"dtype", TensorField::kDtype, Unit::kNumber},
    {"shape", TensorField::kShape, Unit::kNumber},
    {"category", TensorField::kCategory, Unit::kNumber},
    {"layer", TensorField::kLayer, Unit::kNumber},
    {"bytes", TensorField::kBytes, Unit::kSize},
    {"requested", TensorField::kRequested, Unit::kSize},
    {"born", TensorField::kBornStep, Unit::kNumber},
    {"freed", TensorField::kFreedStep, Unit::kNumber},
    {"lifetime", TensorField::kLifetime, Unit::kTime},
    {"stream", TensorField::kStream, Unit::kNumber},
    {"device", TensorField::kDevice, Unit::kNumber},
    {"process", TensorField::kProcess, Unit::kNumber},
    {"site", TensorField::kSite, Unit::kNumber},
}};

absl::string_view Absl(std::string_view text) { return {text.data(), text.size()}; }

absl::Status Wrong(const std::string& message) { return absl::InvalidArgumentError(message); }

std::string Example(const FieldName& field) {
  if (field.unit == Unit::kSize) return "a size such as 4096 or 1.5MiB";
  if (field.unit == Unit::kTime) return "a time such as 250ms or 2s";
  if (field.field == TensorField::kBornStep || field.field == TensorField::kFreedStep)
    return "a step such as 10, a range such as 10..20, or a time such as 2s";
  return "a number such as 0, or a range such as 0..3";
}

// One term, cut into its parts.
struct Term {
  std::string text;     // without quotes
  bool quoted = false;  // its first character was a quote: a word, whatever it holds
  std::size_t operator_at = std::string::npos;  // of the first operator outside quotes
};

absl::StatusOr<std::vector<Term>> Split(std::string_view text) {
  std::vector<Term> terms;
  std::size_t at = 0;
  while (at < text.size()) {
    if (absl::ascii_isspace(static_cast<unsigned char>(text[at]))) {
      ++at;
      continue;
    }
    Term term;
    bool inside = false;
    const std::size_t begin = at;
    for (; at < text.size(); ++at) {
      const char c = text[at];
      if (!inside && absl::ascii_isspace(static_cast<unsigned char>(c))) break;
      if (c == '"') {
        if (at == begin || (at == begin + 1 && text[begin] == '-')) term.quoted = true;
        inside = !inside;
        continue;
      }
      const bool is_operator = c == ':' || c == '=' || c == '<' || c == '>' || c == '!';
      if (!inside && is_operator && term.operator_at == std::string::npos)
        term.operator_at = term.text.size();
      term.text += c;
    }
    if (inside) return Wrong("a quotation mark is missing its second half");
    terms.push_back(std::move(term));
  }
  return terms;
}

std::vector<std::string> Alternatives(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    if (comma > begin) parts.emplace_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return parts;
}

// "8×128" and "8*128" as shapes are shown: "8x128".
std::string ShapeWord(const std::string& text) {
  return absl::StrReplaceAll(text, {{"\xc3\x97", "x"}, {"*", "x"}});
}

// The numbers after an operator become ranges of one unit.
class RangeReader {
 public:
  explicit RangeReader(const FieldName& field) : field_(field) {}

  absl::StatusOr<TensorCondition> Read(std::string_view op, const std::string& value) {
    TensorCondition condition;
    condition.kind = TensorCondition::Kind::kNumber;
    for (const std::string& part : Alternatives(value)) {
      NumberRange range;
      const std::size_t dots = part.find("..");
      if (dots != std::string::npos) {
        if (op != ":" && op != "=" && op != "!=")
          return Wrong(absl::StrCat("a range needs no sign of comparison: write ",
                                    Absl(field_.name), ":", part));
        if (!Bound(part.substr(0, dots), &range.low) || !Bound(part.substr(dots + 2), &range.high))
          return NoNumber(part);
        if (range.low > range.high)
          return Wrong(
              absl::StrCat("the range ", part, " is empty: the smaller number comes first"));
      } else {
        std::uint64_t number = 0;
        if (part.empty() || !Bound(part, &number)) return NoNumber(part);
        if (!Compare(op, number, &range)) return NothingIs(op, part);
      }
      condition.ranges.push_back(range);
    }
    if (condition.ranges.empty()) return NoNumber("");
    condition.field = Field();
    return condition;
  }

 private:
  bool Bound(const std::string& text, std::uint64_t* bound) {
    if (text.empty()) return true;  // open
    const bool steps =
        field_.field == TensorField::kBornStep || field_.field == TensorField::kFreedStep;
    const bool named = steps && text.ends_with("steps");
    const std::optional<Quantity> number =
        ParseQuantity(named ? std::string_view(text).substr(0, text.size() - 5) : text);
    if (!number) return false;
    if (steps) (number->kind == Unit::kTime ? by_time_ : by_step_) = true;
    if (by_time_ && by_step_) return false;  // not a step and a time in one term
    const bool fits = number->kind == Unit::kNumber || number->kind == field_.unit || by_time_;
    if (!fits ||
        (field_.unit == Unit::kTime && number->kind == Unit::kNumber && number->value != 0))
      return false;
    *bound = number->value;
    return true;
  }
  static bool Compare(std::string_view op, std::uint64_t number, NumberRange* range) {
    if (op == ">") {
      if (number == range->high) return false;
      range->low = number + 1;
    } else if (op == ">=") {
      range->low = number;
    } else if (op == "<") {
      if (number == 0) return false;
      range->high = number - 1;
    } else if (op == "<=") {
      range->high = number;
    } else {
      range->low = range->high = number;
    }
    return true;
  }
  TensorField Field() const {
    if (!by_time_) return field_.field;
    return field_.field == TensorField::kBornStep ? TensorField::kBorn : TensorField::kFreed;
  }
  absl::Status NoNumber(const std::string& text) const {
    return Wrong(absl::StrCat(Absl(field_.name), ": \"", text, "\" is not ", Example(field_)));
  }
  absl::Status NothingIs(std::string_view op, const std::string& text) const {
    return Wrong(absl::StrCat("nothing is ", Absl(field_.name), Absl(op), text));
  }

  const FieldName& field_;
  bool by_time_ = false, by_step_ = false;
};

absl::StatusOr<TensorCondition> ReadTexts(const FieldName& field, std::string_view op,
                                          const std::string& value) {
  if (op.find_first_of("<>") != std::string_view::npos)
    return Wrong(
        absl::StrCat(Absl(field.name), " is a text: write ", Absl(field.name), ":", value));
  TensorCondition condition;
  condition.field = field.field;
  condition.exact = op != ":";
  condition.texts = Alternatives(value);
  if (condition.texts.empty())
    return Wrong(absl::StrCat(Absl(field.name), Absl(op), " needs a text after it"));
  for (std::string& text : condition.texts) {
    if (field.field == TensorField::kShape) text = ShapeWord(text);
    if (field.field == TensorField::kCategory) std::replace(text.begin(), text.end(), '_', ' ');
  }
  return condition;
}

absl::StatusOr<TensorCondition> ReadTerm(const Term& term) {
  std::string text = Lower(term.text);
  std::size_t at = term.operator_at;
  bool negated = false;
  if (text.size() > 1 && text[0] == '-') {
    negated = true;
    text.erase(0, 1);
    if (at != std::string::npos) --at;
  }
  TensorCondition word;
  word.negated = negated;
  const bool qualified = at != std::string::npos && text.substr(at, 2) == "::";
  if (term.quoted || at == std::string::npos || qualified) {
    const bool flag = !term.quoted && (text == "alive" || text == "freed");
    word.kind = flag ? TensorCondition::Kind::kAlive : TensorCondition::Kind::kAnywhere;
    if (flag) word.negated = negated != (text == "freed");
    if (!flag) word.texts = {text};
    return word;
  }
  const std::string name = text.substr(0, at);
  const auto field = std::find_if(kFieldNames.begin(), kFieldNames.end(),
                                  [&](const FieldName& known) { return known.name == name; });
  if (field == kFieldNames.end()) {
    std::string names;
    for (const FieldName& known : kFieldNames)
      absl::StrAppend(&names, names.empty() ? "" : ", ", Absl(known.name));
    return Wrong(absl::StrCat("\"", name, "\" is no field; there are ", names));
  }
  std::string op = text.substr(at, 1);
  if (text.substr(at + 1, 1) == "=" && op != ":" && op != "=") op += "=";
  if (op == "!") return Wrong(absl::StrCat("write ", name, "!=, or - before the term"));
  const std::string value = text.substr(at + op.size());
  absl::StatusOr<TensorCondition> condition = IsTextField(field->field)
                                                  ? ReadTexts(*field, op, value)
                                                  : RangeReader(*field).Read(op, value);
  if (condition.ok()) condition->negated = negated != (op == "!=");
  return condition;
}

}  // namespace

std::string_view TensorFieldName(TensorField field) {
  if (field == TensorField::kBorn) field = TensorField::kBornStep;
  if (field == TensorField::kFreed) field = TensorField::kFreedStep;
  for (const FieldName& known : kFieldNames)
    if (known.field == field) return known.name;
  return "";
}

bool IsTextField(TensorField field) {
  return field <= TensorField::kLayer || field == TensorField::kSite;
}

absl::StatusOr<TensorQuery> ParseTensorQuery(std::string_view text) {
  absl::StatusOr<std::vector<Term>> terms = Split(text);
  if (!terms.ok()) return terms.status();
  TensorQuery query;
  for (const Term& term : *terms) {
    absl::StatusOr<TensorCondition> condition = ReadTerm(term);
    if (!condition.ok()) return condition.status();
    query.conditions.push_back(*std::move(condition));
  }
  return query;
}

std::string QuoteForQuery(std::string_view text) {
  std::string plain;
  bool special = text.empty();
  for (const char c : text) {
    if (c == '"') continue;  // cannot be quoted; a part of the text still matches
    special |= absl::ascii_isspace(static_cast<unsigned char>(c)) != 0;
    plain += c;
  }
  return special ? absl::StrCat("\"", plain, "\"") : plain;
}

}  // namespace memprof::analysis
