// One function for each shape of object.
#include "holders/remote/references.h"

#include <algorithm>

#include "holders/remote/dict.h"

namespace memprof::holders {
namespace {

constexpr std::uint64_t kMostEntries = std::uint64_t{1} << 28;
constexpr std::uint64_t kTracebackNext = 16, kTracebackFrame = 24;

}  // namespace

void References::Of(std::uint64_t object, const Type& type, VisitEdge visit) {
  OfShape(object, type, visit);
  if (type.shape == Shape::kClass || type.shape == Shape::kModule) return;
  Attributes(object, type, visit);
  for (const Type::Slot& slot : type.slots)
    if (const std::uint64_t value = memory_.Word(object + slot.offset); value != 0)
      visit({EdgeKind::kSlot, slot.name, value});
  if (type.heap) visit({EdgeKind::kClass, 0, type.address});
  if (type.target) OfTensor(object, type, visit);
}

void References::OfShape(std::uint64_t object, const Type& type, VisitEdge visit) {
  switch (type.shape) {
    case Shape::kPlain:
    case Shape::kModule:
      return;
    case Shape::kDict:
      return OfDict(object, visit);
    case Shape::kList:
      return OfItems(memory_.Word(object + at::kListItems), memory_.Word(object + at::kSize), type,
                     type.exact, visit);
    case Shape::kTuple:
      return OfItems(object + python_.layout.tuple_items, memory_.Word(object + at::kSize), type,
                     type.exact, visit);
    case Shape::kSet:
      return OfSet(object, visit);
    case Shape::kDeque:
      return OfDeque(object, visit);
    case Shape::kCell:
      return visit({EdgeKind::kContent, 0, memory_.Word(object + at::kCellContent)});
    case Shape::kMethod:
      visit({EdgeKind::kSelf, 0, memory_.Word(object + at::kMethodSelf)});
      return visit({EdgeKind::kContent, 0, memory_.Word(object + at::kMethodFunction)});
    case Shape::kFunction:
      return OfFunction(object, visit);
    case Shape::kPartial:
      return OfPartial(object, visit);
    case Shape::kCache:
      return OfCache(object, visit);
    case Shape::kThreadLocal:
      return OfThreadLocal(object, visit);
    case Shape::kGenerator:
      return OfGenerator(object, visit);
    case Shape::kFrame: {
      if (python_.layout.minor <= 10)
        return OfFrame(object, memory_.Word(object + python_.frames.frame_code), visit);
      const std::uint64_t frame = memory_.Word(object + at::kFrameOfObject);
      return OfFrame(frame, memory_.Word(frame + python_.frames.frame_code) & ~at::kTags, visit);
    }
    case Shape::kTraceback:
      visit({EdgeKind::kContent, 0, memory_.Word(object + kTracebackFrame)});
      return visit({EdgeKind::kContent, 0, memory_.Word(object + kTracebackNext)});
    case Shape::kException:
      return OfException(object, visit);
    case Shape::kClass:
      return OfClass(object, visit);
  }
}

void References::OfDict(std::uint64_t object, VisitEdge visit) {
  const bool small = memory_.Word(object + at::kDictUsed) <= kMostKeys;
  DictReader entries(memory_, python_.layout, object);
  for (DictEntry entry; entries.Next(&entry);) {
    visit({small ? EdgeKind::kKey : EdgeKind::kEntry, entry.key, entry.value});
    visit({EdgeKind::kDictKey, 0, entry.key});
  }
}

void References::OfNamespace(std::uint64_t dict, VisitEdge visit) {
  DictReader entries(memory_, python_.layout, dict);
  for (DictEntry entry; entries.Next(&entry);) visit({EdgeKind::kName, entry.key, entry.value});
}

void References::OfItems(std::uint64_t items, std::uint64_t count, const Type& type, bool indices,
                         VisitEdge visit) {
  if (count > kMostEntries) return;
  constexpr std::uint64_t kSome = 512;
  std::uint64_t some[kSome];
  for (std::uint64_t i = 0; i < count; i += kSome) {
    const std::uint64_t part = std::min(kSome, count - i);
    if (!memory_.Read(items + 8 * i, some, 8 * part)) return;
    for (std::uint64_t j = 0; j < part; ++j) {
      Edge edge = {EdgeKind::kEntry, 0, some[j]};
      if (i + j < type.fields.size()) {
        edge.kind = EdgeKind::kField;
        edge.detail = type.fields[i + j];
      } else if (indices && count <= kMostItems) {
        edge.kind = EdgeKind::kIndex;
        edge.detail = i + j;
      }
      visit(edge);
    }
  }
}

// A table of objects and hashes. In place of what was removed is an object that refers to nothing.
void References::OfSet(std::uint64_t object, VisitEdge visit) {
  const std::uint64_t slots = memory_.Word(object + at::kSetMask) + 1;
  const std::uint64_t table = memory_.Word(object + at::kSetTable);
  if (slots > kMostEntries || memory_.Word(object + at::kSetUsed) == 0) return;
  for (std::uint64_t i = 0; i < slots; ++i) {
    std::uint64_t slot[2];
    if (!memory_.Read(table + 16 * i, slot, sizeof slot)) return;
    if (slot[0] != 0) visit({EdgeKind::kSetEntry, 0, slot[0]});
  }
}

// Linked blocks of 64.
void References::OfDeque(std::uint64_t object, VisitEdge visit) {
  constexpr std::uint64_t kInBlock = 64;
  const std::uint64_t count = memory_.Word(object + at::kSize);
  std::uint64_t block = memory_.Word(object + at::kDequeLeft);
  std::uint64_t index = memory_.Word(object + at::kDequeFirst);
  if (count > kMostEntries || index >= kInBlock) return;
  std::uint64_t words[kInBlock + 2];  // left link, entries, right link
  for (std::uint64_t seen = 0; seen < count; index = 0, block = words[kInBlock + 1]) {
    if (!memory_.Read(block, words, sizeof words)) return;
    for (; index < kInBlock && seen < count; ++index, ++seen)
      visit({EdgeKind::kEntry, 0, words[1 + index]});
  }
}

void References::OfFunction(std::uint64_t object, VisitEdge visit) {
  const ObjectLayout& layout = python_.layout;
  const std::uint64_t code = memory_.Word(object + layout.function_code);
  const std::uint64_t cells = memory_.Word(object + layout.function_closure);
  const std::uint64_t defaults = memory_.Word(object + layout.function_defaults);
  const std::uint64_t names = memory_.Word(code + layout.code_names);
  const std::uint64_t count = types_.Count(cells);
  // Free variables come last among all names; to 3.10 they are apart.
  const std::uint64_t free = layout.code_free != 0 ? memory_.Word(code + layout.code_free) : names;
  const std::uint64_t first =
      layout.code_free != 0 ? 0 : types_.Count(free) - std::min(types_.Count(free), count);
  for (std::uint64_t i = 0; i < count; ++i)
    visit({EdgeKind::kClosure, types_.Item(free, first + i), types_.Item(cells, i)});
  // Defaults are those of the last of the positional arguments.
  const auto arguments = memory_.Load<std::uint32_t>(code + layout.code_arguments);
  const std::uint64_t given = types_.Count(defaults);
  for (std::uint64_t i = 0; i < given && given <= arguments; ++i)
    visit(
        {EdgeKind::kDefault, types_.Item(names, arguments - given + i), types_.Item(defaults, i)});
  DictEntry entry;
  for (DictReader more(memory_, layout, memory_.Word(object + layout.function_kwdefaults));
       more.Next(&entry);)
    visit({EdgeKind::kDefault, entry.key, entry.value});
  OfNamespace(memory_.Word(object + layout.function_dict), visit);
}

// What is put in for arguments, which have names if the function is one in Python.
void References::OfPartial(std::uint64_t object, VisitEdge visit) {
  const ObjectLayout& layout = python_.layout;
  std::uint64_t function = memory_.Word(object + at::kPartialFunction), first = 0;
  visit({EdgeKind::kFunction, 0, function});
  const Type* type = types_.Of(function);
  if (type != nullptr && type->shape == Shape::kMethod) {
    first = 1;  // after `self`
    function = memory_.Word(function + at::kMethodFunction);
    type = types_.Of(function);
  }
  const bool python = type != nullptr && type->shape == Shape::kFunction;
  const std::uint64_t code = python ? memory_.Word(function + layout.function_code) : 0;
  const std::uint64_t names = memory_.Word(code + layout.code_names);
  const auto named = memory_.Load<std::uint32_t>(code + layout.code_arguments);
  const std::uint64_t arguments = memory_.Word(object + at::kPartialArguments);
  for (std::uint64_t i = 0; i < types_.Count(arguments); ++i) {
    const std::uint64_t name = first + i < named ? types_.Item(names, first + i) : 0;
    visit({name != 0 ? EdgeKind::kArgument : EdgeKind::kUnnamedArgument, name != 0 ? name : i,
           types_.Item(arguments, i)});
  }
  DictEntry entry;
  for (DictReader more(memory_, layout, memory_.Word(object + at::kPartialKeywords));
       more.Next(&entry);)
    visit({EdgeKind::kArgument, entry.key, entry.value});
}

// One of limited size has links of a list, which have the results.
void References::OfCache(std::uint64_t object, VisitEdge visit) {
  DictEntry entry;
  for (DictReader results(memory_, python_.layout, memory_.Word(object + at::kCacheResults));
       results.Next(&entry);) {
    const Type* type = types_.Of(entry.value);
    const bool link = type != nullptr && type->name == "_lru_list_elem";
    visit(
        {EdgeKind::kCached, 0, link ? memory_.Word(entry.value + at::kResultOfLink) : entry.value});
    visit({EdgeKind::kCached, 0, entry.key});
  }
}

// A dictionary of the namespaces of threads.
void References::OfThreadLocal(std::uint64_t object, VisitEdge visit) {
  DictEntry entry;
  for (DictReader threads(memory_, python_.layout,
                          memory_.Word(object + python_.layout.thread_local_dicts));
       threads.Next(&entry);) {
    const Type* type = types_.Of(entry.value);
    if (type != nullptr && type->shape == Shape::kDict) OfNamespace(entry.value, visit);
  }
}

void References::OfFrame(std::uint64_t frame, std::uint64_t code, VisitEdge visit) {
  if (memory_.Word(code + at::kType) != python_.code) return;
  const ObjectLayout& layout = python_.layout;
  std::uint64_t place = frame + layout.frame_locals;
  if (layout.minor <= 10)  // the object ends with an array of one variable
    place = frame + memory_.Word(python_.frame + at::kTypeBasicSize) - 8;
  for (const std::uint64_t where : {layout.code_names, layout.code_cells, layout.code_free}) {
    if (where == 0) break;
    const std::uint64_t names = memory_.Word(code + where);
    const std::uint64_t count = types_.Count(names);
    for (std::uint64_t i = 0; i < count; ++i, place += 8)
      if (const std::uint64_t value = memory_.Word(place) & ~at::kTags; value != 0)
        visit({EdgeKind::kLocal, types_.Item(names, i), value});
  }
}

void References::OfGenerator(std::uint64_t object, VisitEdge visit) {
  const ObjectLayout& layout = python_.layout;
  std::uint64_t frame = object + layout.generator_frame;
  if (layout.minor <= 10) {
    frame = memory_.Word(frame);
  } else if (memory_.Load<std::int8_t>(object + layout.generator_state) > 0) {
    return;  // has ended, or its frame was cleared
  }
  OfFrame(frame, memory_.Word(frame + python_.frames.frame_code) & ~at::kTags, visit);
}

void References::OfException(std::uint64_t object, VisitEdge visit) {
  constexpr std::uint64_t kArguments = 24;
  const std::uint64_t traceback = object + python_.layout.exception_traceback;
  visit({EdgeKind::kArguments, 0, memory_.Word(object + kArguments)});
  visit({EdgeKind::kTraceback, 0, memory_.Word(traceback)});
  visit({EdgeKind::kCause, 0, memory_.Word(traceback + 16)});  // often its context too
  visit({EdgeKind::kContext, 0, memory_.Word(traceback + 8)});
}

// Dictionaries of hooks are fields without a name, after the pointer to the tensor in C++.
void References::OfTensor(std::uint64_t object, const Type& type, VisitEdge visit) {
  constexpr std::uint64_t kHook = 24, kLast = 40;
  for (std::uint64_t place = kHook; place <= kLast && place + 8 <= type.basic_size; place += 8) {
    const std::uint64_t value = memory_.Word(object + place);
    const Type* found = types_.Of(value);
    if (found != nullptr && found->shape == Shape::kDict) visit({EdgeKind::kHooks, 0, value});
  }
}

// Those in C have nothing of the program.
void References::OfClass(std::uint64_t object, VisitEdge visit) {
  if ((memory_.Word(object + at::kTypeFlags) & kHeapType) == 0) return;
  OfNamespace(memory_.Word(object + at::kTypeDict), visit);
  visit({EdgeKind::kBase, 0, memory_.Word(object + at::kTypeBase)});
}

void References::Attributes(std::uint64_t object, const Type& type, VisitEdge visit) {
  const ObjectLayout& layout = python_.layout;
  std::uint64_t values = 0, dict = 0;
  if (type.managed_dict) {
    dict = memory_.Word(object - 24);
    if (layout.minor == 11) {
      values = memory_.Word(object - 32);
    } else if (layout.minor == 12 && (dict & 1) != 0) {
      values = dict + 1;
    } else if (dict == 0 && type.inline_values) {
      values = object + type.basic_size;  // zeros, if it had a dictionary
    }
  } else if (type.dict_offset > 0) {
    dict = memory_.Word(object + static_cast<std::uint64_t>(type.dict_offset));
  } else if (type.dict_offset < 0) {  // from the end of an object of variable size
    const std::uint64_t items = memory_.Word(object + at::kSize);
    const std::uint64_t count = items >> 63 != 0 ? 0 - items : items;
    if (count > kMostEntries) return;
    const std::uint64_t size = (type.basic_size + count * type.item_size + 7) / 8 * 8;
    dict = memory_.Word(object + size + static_cast<std::uint64_t>(type.dict_offset));
  }
  DictReader entries = values == 0 ? DictReader(memory_, layout, dict)
                                   : DictReader(memory_, layout, type.cached_keys, values);
  for (DictEntry entry; entries.Next(&entry);)
    visit({EdgeKind::kAttribute, entry.key, entry.value});
}

}  // namespace memprof::holders
