// One step at a time; each extends an expression, or begins another one that the ones before it
// keep alive.
#include "holders/remote/names.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "holders/remote/dict.h"

namespace memprof::holders {
namespace {

constexpr char kAnyEntry[] = "[…]", kAnyOfSet[] = "{…}", kAnyKey[] = ".keys()[…]", kUnknown[] = "…";
constexpr std::size_t kMostKeyText = 160, kMostMethods = 16;

std::string ShortFile(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string Qualified(std::string name) { return absl::StrReplaceAll(name, {{"<locals>.", ""}}); }

bool IsContainer(const std::string& type) {
  for (const char* each :
       {"list", "dict", "set", "frozenset", "deque", "OrderedDict", "defaultdict"})
    if (type == each) return true;
  return false;
}

// "`x`, variable of the closure f()", but "cache of `f()`".
std::string Joined(const std::string& what, const std::string& expression) {
  if (absl::EndsWith(what, " of")) return absl::StrCat(what, " `", expression, "`");
  return absl::StrCat("`", expression, what.empty() ? "`" : "`, ", what);
}

// Of an edge that says all by its kind; "" = no word of a user's.
const char* Suffix(EdgeKind kind) {
  switch (kind) {
    case EdgeKind::kDictKey:
      return kAnyKey;
    case EdgeKind::kSetEntry:
      return kAnyOfSet;
    case EdgeKind::kTraceback:
      return ".__traceback__";
    case EdgeKind::kContext:
      return ".__context__";
    case EdgeKind::kCause:
      return ".__cause__";
    case EdgeKind::kArguments:
      return ".args";
    case EdgeKind::kBase:
      return ".__base__";
    case EdgeKind::kClass:
      return ".__class__";
    case EdgeKind::kHooks:
      return "._backward_hooks";
    default:
      return "";
  }
}

// Namespaces within a torch.nn.Module, whose entries are used as attributes.
bool IsModulePart(const std::string& name) {
  return name == "_parameters" || name == "_buffers" || name == "_modules";
}

// As repr() of Python does, shortened.
std::string Quoted(const std::string& text) {
  const char quote = absl::StrContains(text, '\'') && !absl::StrContains(text, '"') ? '"' : '\'';
  std::string quoted(1, quote);
  for (const char c : text) {
    if (c == quote || c == '\\')
      quoted += {'\\', c};
    else if (c == '\n' || c == '\r' || c == '\t')
      quoted += {'\\', c == '\n' ? 'n' : c == '\r' ? 'r' : 't'};
    else if (absl::ascii_iscntrl(static_cast<unsigned char>(c)))
      absl::StrAppend(&quoted, "\\x", absl::Hex(c, absl::kZeroPad2));
    else
      quoted.push_back(c);
  }
  quoted.push_back(quote);
  for (std::size_t at = 0, points = 0; at < quoted.size(); ++at)
    if ((quoted[at] & 0xc0) != 0x80 && points++ == kMostKeyText)
      return absl::StrCat(quoted.substr(0, at), kUnknown, "'");
  return quoted;
}

bool IsNumber(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
}

}  // namespace

struct Namer::Text {
  std::string root, what, expression;
  std::vector<std::string> parts, chain;
  bool of_module = false;   // ends in a parameter or buffer of a torch.nn.Module
  std::string module_part;  // the attribute that has just been left out
  std::string owner;        // the class that assigns the last attribute

  void Extend(const std::string& more) {
    expression += more;
    of_module = false;
  }
  void BeginPart(std::string new_what, const std::string& new_expression) {
    if (!expression.empty()) parts.push_back(Joined(what, expression));
    what = std::move(new_what);
    expression = new_expression;
    owner.clear();
    of_module = false;
  }
  // The path is now at an object of `type`.
  void Reach(const std::string& type) {
    const std::string part = Joined(what, expression);
    if (!chain.empty() && absl::EndsWith(chain.back(), part)) return;
    chain.push_back(absl::EndsWith(what, " of") ? part : absl::StrCat(type, " ", part));
  }
  // `container`: list, dict, ... if the last object is an element of one.
  std::string Line(const std::string& container) const {
    std::string shown = expression, line;
    for (const char* any : {kAnyEntry, kAnyOfSet}) {
      if (container.empty() || !absl::EndsWith(expression, any)) continue;
      shown.resize(shown.size() - std::char_traits<char>::length(any));
      line = absl::StrCat(container, " ");
    }
    absl::StrAppend(&line, Joined(what, shown));
    if (!owner.empty() && !absl::StrContains(line, owner))
      absl::StrAppend(&line, " of `", owner, "`");
    for (auto part = parts.rbegin(); part != parts.rend(); ++part)
      absl::StrAppend(&line, ", held by ", *part);
    return absl::StrCat(line, " (", root, ")");
  }
};

const Type* Namer::TypeAt(const Walk::Path& path, std::size_t object) {
  return types_.Of(walk_.address(path.objects[object]));
}

std::string Namer::NameOf(const Walk::Way& way) {
  std::string name =
      way.kind == EdgeKind::kSlot ? memory_.CString(way.detail, 256) : types_.Text(way.detail);
  return name.empty() ? kUnknown : name;
}

// Whether a function of the class uses the attribute: in such a one, a look finds the assignment.
bool Namer::IsAssigned(std::uint64_t type, const Walk::Way& attribute) {
  const auto [known, added] = assigned_.emplace(std::pair(type, attribute.detail), false);
  if (!added) return known->second;
  const std::string name = NameOf(attribute);
  const ObjectLayout& layout = python_.layout;
  for (const std::uint64_t base : types_.Bases(type)) {
    DictReader entries(memory_, layout, memory_.Word(base + at::kTypeDict));
    for (DictEntry entry; entries.Next(&entry) && !known->second;) {
      const Type* found = types_.Of(entry.value);
      if (found == nullptr || found->shape != Shape::kFunction) continue;
      const std::uint64_t code = memory_.Word(entry.value + layout.function_code);
      if (!files_.contains(types_.Text(memory_.Word(code + python_.frames.code_file)))) continue;
      const std::uint64_t used = memory_.Word(code + layout.code_attributes);
      for (std::uint64_t i = 0; i < types_.Count(used); ++i)
        known->second = known->second || types_.Text(types_.Item(used, i)) == name;
    }
  }
  return known->second;
}

// Of a function, another callable or a generator.
std::string Namer::FunctionOf(std::uint64_t object) {
  const Type* type = types_.Of(object);
  for (std::size_t i = 0; i < kMostMethods && type != nullptr && type->shape == Shape::kMethod;
       ++i) {
    object = memory_.Word(object + at::kMethodFunction);
    type = types_.Of(object);
  }
  if (type == nullptr) return kUnknown;
  std::string name = type->name;
  if (name == "builtin_function_or_method")
    name = memory_.CString(memory_.Word(memory_.Word(object + at::kBuiltinMethod)), 256);
  if (type->shape == Shape::kFunction)
    name = types_.Text(memory_.Word(object + python_.layout.function_qualname));
  if (type->shape == Shape::kGenerator)
    name = types_.Text(memory_.Word(object + python_.layout.generator_qualname));
  return name.empty() ? kUnknown : Qualified(name);
}

// An int of at most 60 bits; "" for others.
std::string Namer::Number(std::uint64_t object) {
  constexpr std::uint64_t kDigits = 24;
  const std::uint64_t size = memory_.Word(object + at::kSize);
  bool negative = size >> 63 != 0;
  std::uint64_t digits = negative ? 0 - size : size;
  if (python_.layout.minor >= 12) {  // sign in two bits, one of another meaning, digits
    digits = size >> 3;
    negative = (size & 3) == 2;
  }
  if (digits > 2) return "";
  std::int64_t value = 0;
  for (std::uint64_t i = 0; i < digits; ++i)
    value |= std::int64_t{memory_.Load<std::uint32_t>(object + kDigits + 4 * i)} << 30 * i;
  return absl::StrCat(negative ? -value : value);
}

std::string Namer::Key(std::uint64_t key) {
  const Type* type = types_.Of(key);
  if (type == nullptr || !type->exact) return kAnyEntry;
  if (type->name == "bool") return Number(key) == "0" ? "[False]" : "[True]";
  if (type->name == "int") {
    const std::string number = Number(key);
    return number.empty() ? kAnyEntry : absl::StrCat("[", number, "]");
  }
  if (type->name != "str") return kAnyEntry;
  return absl::StrCat("[", Quoted(types_.Text(key)), "]");
}

void Namer::Begin(const Walk::Path& path, Text* text) {
  const std::string name = NameOf(path.steps[0]);
  text->expression = name;
  if (path.root >= roots_.frames.size()) {
    const Module& module = roots_.modules[path.root - roots_.frames.size()];
    text->root = absl::StrCat("global `", name, "`, ",
                              module.file.empty() ? module.name : ShortFile(module.file));
    return;
  }
  const Frame& frame = roots_.frames[path.root];
  if (frame.function == "<module>") {
    text->root = absl::StrCat("global `", name, "`, ", ShortFile(frame.file));
    return;
  }
  const Type* type = TypeAt(path, 0);
  const bool of_base = name == "self" && type != nullptr &&
                       !absl::StartsWith(frame.function, absl::StrCat(type->name, "."));
  text->root = absl::StrCat(
      "local `", name, "`", of_base ? absl::StrCat(", a `", type->name, "`,") : "", " of ",
      Qualified(frame.function), "(), at ", ShortFile(frame.file), ":", frame.line);
}

// Parameters, buffers and modules of a torch.nn.Module are in dictionaries, and used as attributes.
void Namer::Attribute(const Walk::Path& path, std::size_t step, Text* text) {
  const std::string name = NameOf(path.steps[step]);
  const Type* type = TypeAt(path, step);
  if (IsModulePart(name) && step + 1 < path.steps.size() && type != nullptr &&
      type->shape == Shape::kDict) {
    text->module_part = name;
  } else {
    text->Extend("." + name);
    const Type* owner = types_.Of(walk_.address(path.steps[step].from));
    text->owner =
        owner != nullptr && IsAssigned(owner->address, path.steps[step]) ? owner->name : "";
  }
}

void Namer::Entry(const Walk::Way& way, const std::string& module_part, Text* text) {
  if (!module_part.empty() && way.detail != 0) {
    const std::string name = NameOf(way);
    text->Extend(IsNumber(name) ? absl::StrCat("[", name, "]") : "." + name);
    text->of_module = module_part != "_modules";
    return;
  }
  text->Extend(way.kind == EdgeKind::kKey ? Key(way.detail) : kAnyEntry);
}

void Namer::Step(const Walk::Path& path, std::size_t step, Text* text) {
  const Walk::Way& way = path.steps[step];
  const std::uint64_t from = walk_.address(way.from);
  if (step == path.gap) text->Extend(kUnknown);
  const std::string part = std::move(text->module_part);
  text->module_part.clear();
  switch (way.kind) {
    case EdgeKind::kAttribute:
    case EdgeKind::kSlot:
      return Attribute(path, step, text);
    case EdgeKind::kName:
    case EdgeKind::kField:
      return text->Extend("." + NameOf(way));
    case EdgeKind::kKey:
    case EdgeKind::kEntry:
      return Entry(way, part, text);
    case EdgeKind::kIndex:
      return text->Extend(absl::StrCat("[", way.detail, "]"));
    case EdgeKind::kClosure:
      return text->BeginPart(absl::StrCat("variable of the closure ", FunctionOf(from), "()"),
                             NameOf(way));
    case EdgeKind::kDefault:
      return text->BeginPart(absl::StrCat("default argument of ", FunctionOf(from), "()"),
                             NameOf(way));
    case EdgeKind::kArgument:
    case EdgeKind::kUnnamedArgument:
      return text->BeginPart(
          absl::StrCat("argument in a partial of ",
                       FunctionOf(memory_.Word(from + at::kPartialFunction)), "()"),
          way.kind == EdgeKind::kArgument ? NameOf(way) : absl::StrCat("args[", way.detail, "]"));
    case EdgeKind::kFunction:
      return text->BeginPart("function of a partial",
                             FunctionOf(memory_.Word(from + at::kPartialFunction)));
    case EdgeKind::kCached:
      return text->BeginPart("cache of",
                             FunctionOf(memory_.Word(from + at::kCacheFunction)) + "()");
    case EdgeKind::kSelf:
      return text->BeginPart(absl::StrCat("`self` of the bound method ", FunctionOf(from), "()"),
                             "self");
    case EdgeKind::kLocal:
      return text->BeginPart(LocalOf(from), NameOf(way));
    default:
      return text->Extend(Suffix(way.kind));
  }
}

// Of which generator or frame a variable is.
std::string Namer::LocalOf(std::uint64_t object) {
  const Type* type = types_.Of(object);
  if (type == nullptr || type->shape != Shape::kFrame)
    return absl::StrCat("local of the ", type == nullptr ? "generator" : type->name, " ",
                        FunctionOf(object), "()");
  const std::uint64_t frame =
      python_.layout.minor <= 10 ? object : memory_.Word(object + at::kFrameOfObject);
  const Frame found = DescribeFrame(memory_, python_, types_, frame);
  return absl::StrCat("local of ", Qualified(found.function), "(), at ", ShortFile(found.file), ":",
                      found.line);
}

NamedPath Namer::Describe(const Walk::Path& path) {
  Text text;
  Begin(path, &text);
  const std::size_t last = path.steps.size() - 1;
  std::string container;
  for (std::size_t step = 0; step <= last; ++step) {
    if (step > 0) Step(path, step, &text);
    if (step == last) break;
    const Type* type = TypeAt(path, step);
    const std::string name = type == nullptr ? "object" : type->name;
    container = IsContainer(name) ? name : "";
    const bool word =
        type == nullptr || (type->shape != Shape::kCell && type->shape != Shape::kTraceback);
    if (word && text.module_part.empty()) text.Reach(name);
  }
  NamedPath named;
  named.line = text.Line(container);
  named.root = text.root;
  named.chain = std::move(text.chain);
  named.rank = text.of_module ? 0 : absl::EndsWith(text.expression, kAnyKey) ? 2 : 1;
  return named;
}

}  // namespace memprof::holders
