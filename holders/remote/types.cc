// Reads type objects. Nothing that they say is believed without a check.
#include "holders/remote/types.h"

#include <algorithm>

#include "holders/remote/dict.h"

namespace memprof::holders {
namespace {

constexpr std::uint64_t kInlineValues = 1 << 2, kManagedDict = 1 << 4, kList = 1 << 25,
                        kTuple = 1 << 26, kText = 1 << 28, kDict = 1 << 29, kException = 1 << 30,
                        kClass = std::uint64_t{1} << 31, kMostTupleItems = 1 << 16;
constexpr int kMostBases = 128;
constexpr std::uint64_t kLeastSize = 16, kMostSize = 1 << 20;
constexpr std::size_t kMostName = 512, kMostTypes = 1 << 20, kMostSlots = 4096, kMostText = 4096;

std::string WithoutModule(const std::string& name) { return name.substr(name.rfind('.') + 1); }

bool MayBeObject(std::uint64_t address) { return address >= 4096 && address % 8 == 0; }

void AppendUtf8(std::uint32_t point, std::string* text) {
  if (point < 0x80) {
    text->push_back(static_cast<char>(point));
    return;
  }
  if (point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) point = 0xfffd;
  const int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
  text->push_back(static_cast<char>((0xff00 >> (more + 1) & 0xff) | point >> 6 * more));
  for (int i = more - 1; i >= 0; --i)
    text->push_back(static_cast<char>(0x80 | (point >> 6 * i & 0x3f)));
}

}  // namespace

const Type* Types::Of(std::uint64_t address) {
  if (!MayBeObject(address)) return nullptr;
  std::uint64_t head[2];
  if (!memory_.Read(address, head, sizeof head)) return nullptr;
  if (static_cast<std::uint32_t>(head[0]) == 0 || !MayBeObject(head[1])) return nullptr;
  const auto known = types_.find(head[1]);
  if (known != types_.end()) return known->second.get();
  if (types_.size() > kMostTypes) return nullptr;
  return (types_[head[1]] = Read(head[1])).get();
}

std::vector<std::uint64_t> Types::Bases(std::uint64_t type) {
  std::vector<std::uint64_t> bases;
  for (; MayBeObject(type) && bases.size() < kMostBases; type = memory_.Word(type + at::kTypeBase))
    bases.push_back(type);
  return bases;
}

Shape Types::ShapeOf(std::uint64_t flags, const std::vector<std::uint64_t>& bases) {
  if ((flags & kDict) != 0) return Shape::kDict;
  if ((flags & kList) != 0) return Shape::kList;
  if ((flags & kTuple) != 0) return Shape::kTuple;
  if ((flags & kClass) != 0) return Shape::kClass;
  if ((flags & kException) != 0) return Shape::kException;
  const struct {
    std::uint64_t type;
    Shape shape;
  } known[] = {{python_.set, Shape::kSet},
               {python_.frozen_set, Shape::kSet},
               {python_.cell, Shape::kCell},
               {python_.method, Shape::kMethod},
               {python_.function, Shape::kFunction},
               {python_.generator, Shape::kGenerator},
               {python_.coroutine, Shape::kGenerator},
               {python_.async_generator, Shape::kGenerator},
               {python_.frame, Shape::kFrame},
               {python_.traceback, Shape::kTraceback},
               {python_.module, Shape::kModule}};
  for (const std::uint64_t base : bases)
    for (const auto& [type, shape] : known)
      if (base == type) return shape;
  const struct {
    const char* type;
    Shape shape;
  } named[] = {{"collections.deque", Shape::kDeque},
               {"functools.partial", Shape::kPartial},
               {"functools._lru_cache_wrapper", Shape::kCache},
               {"_thread._local", Shape::kThreadLocal}};
  for (const std::uint64_t base : bases) {
    const std::string name = memory_.CString(memory_.Word(base + at::kTypeName), kMostName);
    for (const auto& [type, shape] : named)
      if (name == type) return shape;
  }
  return Shape::kPlain;
}

// Members whose values are objects: __slots__, and those of types in C.
void Types::ReadSlots(const std::vector<std::uint64_t>& bases, Type* type) {
  struct Member {
    std::uint64_t name;
    std::int32_t kind, padding;
    std::uint64_t offset, flags, text;
  };
  constexpr std::int32_t kObject = 6, kObjectOrError = 16;
  for (const std::uint64_t base : bases) {
    const std::uint64_t members = memory_.Word(base + at::kTypeMembers);
    Member member;
    for (std::uint64_t i = 0; members != 0 && i < kMostSlots; ++i) {
      if (!memory_.Read(members + i * sizeof member, &member, sizeof member) || member.name == 0)
        break;
      if (member.kind != kObject && member.kind != kObjectOrError) continue;
      if (member.offset < kLeastSize || member.offset > type->basic_size - 8 ||
          member.offset % 8 != 0)
        continue;
      type->slots.push_back({member.name, member.offset});
    }
  }
}

// A named tuple has the names of its fields in the class.
void Types::ReadFields(std::uint64_t dict, Type* type) {
  DictReader entries(memory_, python_.layout, dict);
  for (DictEntry entry; entries.Next(&entry);) {
    if (Text(entry.key) != "_fields") continue;
    for (std::uint64_t i = 0; i < Count(entry.value); ++i)
      type->fields.push_back(Item(entry.value, i));
    return;
  }
}

std::unique_ptr<Type> Types::Read(std::uint64_t address) {
  // A type is an object whose type is derived from `type`.
  const std::vector<std::uint64_t> meta = Bases(memory_.Word(address + at::kType));
  if (std::find(meta.begin(), meta.end(), python_.type) == meta.end()) return nullptr;
  const std::vector<std::uint64_t> bases = Bases(address);
  const std::string name = memory_.CString(memory_.Word(address + at::kTypeName), kMostName);
  const auto flags = memory_.Word(address + at::kTypeFlags);
  auto type = std::make_unique<Type>();
  type->address = address;
  type->basic_size = memory_.Word(address + at::kTypeBasicSize);
  type->item_size = memory_.Word(address + at::kTypeItemSize);
  if (name.empty() || type->basic_size < kLeastSize || type->basic_size > kMostSize ||
      type->item_size > kMostSize)
    return nullptr;
  type->name = WithoutModule(name);
  type->heap = (flags & kHeapType) != 0;
  type->shape = ShapeOf(flags, bases);
  // deque is made like a class from 3.12 on.
  type->exact = !type->heap || name == "collections.deque";
  type->dict_offset = static_cast<std::int64_t>(memory_.Word(address + at::kTypeDictOffset));
  if (python_.layout.minor >= 11) type->managed_dict = (flags & kManagedDict) != 0;
  if (python_.layout.minor >= 13) type->inline_values = (flags & kInlineValues) != 0;
  if (type->heap) type->cached_keys = memory_.Word(address + python_.layout.type_cached_keys);
  for (const std::uint64_t base : bases) {
    const std::string base_name = memory_.CString(memory_.Word(base + at::kTypeName), kMostName);
    if (std::find(targets_.begin(), targets_.end(), base_name) != targets_.end())
      type->target = true;
  }
  // Slots of these are what their shape says already.
  if (type->shape != Shape::kPartial && type->shape != Shape::kModule &&
      type->shape != Shape::kFunction && type->shape != Shape::kMethod &&
      type->shape != Shape::kFrame && type->shape != Shape::kTraceback &&
      type->shape != Shape::kClass)
    ReadSlots(bases, type.get());
  if (type->shape == Shape::kTuple && type->heap)
    ReadFields(memory_.Word(address + at::kTypeDict), type.get());
  type->leaf = !type->target && !type->managed_dict && type->dict_offset == 0 &&
               type->slots.empty() && !type->heap && type->shape == Shape::kPlain;
  return type;
}

bool Types::IsText(std::uint64_t address) {
  const std::uint64_t type = memory_.Word(address + at::kType);
  return MayBeObject(address) && MayBeObject(type) &&
         (memory_.Word(type + at::kTypeFlags) & kText) != 0;
}

std::uint64_t Types::Count(std::uint64_t tuple) {
  const Type* type = Of(tuple);
  return type != nullptr && type->shape == Shape::kTuple
             ? std::min(memory_.Word(tuple + at::kSize), kMostTupleItems)
             : 0;
}

std::uint64_t Types::Item(std::uint64_t tuple, std::uint64_t index) {
  return index < Count(tuple) ? memory_.Word(tuple + python_.layout.tuple_items + 8 * index) : 0;
}

std::string Types::Text(std::uint64_t address) {
  std::string text;
  if (!IsText(address)) return text;
  const recorder::PythonLayout& layout = python_.frames;
  const std::uint64_t length =
      std::min<std::uint64_t>(memory_.Word(address + layout.text_length), kMostText);
  // Bits: 2 interned, 3 width, 1 compact, 1 ASCII.
  const auto state = memory_.Load<std::uint32_t>(address + layout.text_state);
  const std::uint32_t width = state >> 2 & 7;
  const bool compact = (state >> 5 & 1) != 0, ascii = (state >> 6 & 1) != 0;
  if (!compact || (width != 1 && width != 2 && width != 4)) return text;
  const std::uint64_t begin =
      address + (ascii ? layout.text_ascii_header : layout.text_compact_header);
  for (std::uint64_t i = 0; i < length; ++i) {
    std::uint32_t point = 0;
    if (!memory_.Read(begin + i * width, &point, width)) break;
    AppendUtf8(point, &text);
  }
  return text;
}

}  // namespace memprof::holders
