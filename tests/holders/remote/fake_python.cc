#include "tests/holders/remote/fake_python.h"

#include <algorithm>

namespace memprof::holders::test {
namespace {

constexpr std::uint64_t kList = 1 << 25, kTuple = 1 << 26, kText = 1 << 28, kDict = 1 << 29,
                        kException = 1 << 30, kClass = std::uint64_t{1} << 31;

}  // namespace

// What 3.13 and 3.14 say of themselves; other versions do not read it.
ObjectLayout LayoutOf(int minor) {
  std::uint64_t offsets[recorder::kDebugOffsetsBytes / 8] = {};
  offsets[5] = 800;                      // of _PyRuntime: the interpreters
  offsets[8] = 8;                        // of an interpreter: the next
  offsets[9] = 7000;                     // threads
  offsets[minor == 14 ? 12 : 11] = 600;  // modules
  ObjectLayout layout;
  FindObjectLayout(minor, offsets, &layout);
  return layout;
}

FakePython::FakePython(int minor, std::map<std::string, std::uint64_t> places)
    : types(std::move(places)) {
  python.layout = LayoutOf(minor);
  recorder::FindPythonLayout(std::min(minor, 12), nullptr, &python.frames);
  if (minor >= 13) {  // the chain of frames begins in the thread's state
    python.frames.by_loop = false;
    python.frames.thread_frame = 72;
  }
  if (!types.contains("type")) types["type"] = Make(1000);
  python.type = NewType("type", kClass, "", 416);
  NewType("object", 0, "", 16);
  const std::pair<const char*, std::uint64_t> flagged[] = {{"list", kList},
                                                           {"tuple", kTuple},
                                                           {"str", kText},
                                                           {"dict", kDict},
                                                           {"Exception", kException}};
  for (const auto& [name, flags] : flagged) NewType(name, flags);
  const std::pair<const char*, std::uint64_t Python::*> known[] = {
      {"cell", &Python::cell},
      {"method", &Python::method},
      {"function", &Python::function},
      {"module", &Python::module},
      {"set", &Python::set},
      {"frozenset", &Python::frozen_set},
      {"generator", &Python::generator},
      {"coroutine", &Python::coroutine},
      {"async", &Python::async_generator},
      {"frame", &Python::frame},
      {"traceback", &Python::traceback},
      {"code", &Python::code}};
  for (const auto& [name, place] : known) python.*place = NewType(name, 0, "", 200);
  for (const char* name : {"int", "bool", "bytes", "builtin_function_or_method",
                           "collections.deque", "functools.partial", "functools._lru_cache_wrapper",
                           "functools._lru_list_elem", "_thread._local"})
    NewType(name, 0);
  NewClass("Target");
}

std::uint64_t FakePython::Make(std::size_t bytes) {
  blocks_.emplace_back(bytes / 8 + 1);
  return Address(blocks_.back().data());
}

std::uint64_t FakePython::NewType(const std::string& name, std::uint64_t flags,
                                  const std::string& base, std::uint64_t basic_size) {
  std::uint64_t& type = types[name];
  if (type == 0) type = Make(1000);
  names_.push_back(name);
  Set(type, std::uint64_t{1});
  Set(type + at::kType, types.at("type"));
  Set(type + at::kTypeName, Address(names_.back().c_str()));
  Set(type + at::kTypeBasicSize, basic_size);
  Set(type + at::kTypeFlags, flags);
  const auto of_all = types.find(base.empty() ? "object" : base);
  if (of_all != types.end() && name != "object") Set(type + at::kTypeBase, of_all->second);
  return type;
}

std::uint64_t FakePython::Object(const std::string& type, const Words& words) {
  const std::uint64_t object = Make(std::max<std::size_t>(16 + 8 * words.size(), 256));
  Set(object, std::uint64_t{1});
  Set(object + at::kType, types.at(type));
  for (std::size_t i = 0; i < words.size(); ++i) Set(object + 16 + 8 * i, words[i]);
  return object;
}

std::uint64_t FakePython::Text(const std::string& ascii) {
  const recorder::PythonLayout& layout = python.frames;
  const std::uint64_t text = Make(layout.text_ascii_header + ascii.size() + 1);
  Set(text, std::uint64_t{1});
  Set(text + at::kType, types.at("str"));
  Set(text + layout.text_length, ascii.size());
  Set(text + layout.text_state, std::uint32_t{1 << 2 | 1 << 5 | 1 << 6});
  std::memcpy(reinterpret_cast<void*>(text + layout.text_ascii_header), ascii.data(), ascii.size());
  return text;
}

std::uint64_t FakePython::Number(std::int64_t value) {
  const auto most = static_cast<std::uint64_t>(value < 0 ? -value : value);
  const std::uint64_t digits = most == 0 ? 0 : most >> 30 == 0 ? 1 : 2;
  std::uint64_t head = value < 0 ? ~digits + 1 : digits;
  if (python.layout.minor >= 12) head = digits << 3 | (most == 0 ? 1 : value < 0 ? 2 : 0);
  const std::uint64_t low = most & ((1 << 30) - 1);
  return Object("int", {head, low | most >> 30 << 32});
}

std::uint64_t FakePython::Tuple(const Words& items, const std::string& type) {
  const std::uint64_t place = python.layout.tuple_items;
  const std::uint64_t tuple = Object(type, Words(place / 8 + items.size()));
  Set(tuple + at::kSize, items.size());
  for (std::size_t i = 0; i < items.size(); ++i) Set(tuple + place + 8 * i, items[i]);
  return tuple;
}

std::uint64_t FakePython::List(const Words& items) {
  const std::uint64_t place = Make(8 * items.size());
  for (std::size_t i = 0; i < items.size(); ++i) Set(place + 8 * i, items[i]);
  return Object("list", {items.size(), place});
}

std::uint64_t FakePython::KeysOf(const Entries& entries, Keys kind, int log_size) {
  const std::uint64_t size = std::uint64_t{1} << log_size;
  const std::uint64_t width = log_size <= 7 ? 1 : log_size <= 15 ? 2 : 4;
  const bool old = python.layout.minor <= 10;
  const std::uint64_t header = old ? 40 : 32;
  const bool hashes = old || kind == Keys::kGeneral;
  const std::uint64_t entry_size = hashes ? 24 : 16;
  const std::uint64_t keys = Make(header + size * width + entries.size() * entry_size);
  Set(keys, std::uint64_t{1});
  std::memset(reinterpret_cast<void*>(keys + header), 0xee, size * width);  // indices
  if (old) {
    Set(keys + 8, size);
    Set(keys + 32, entries.size());
  } else {
    const int log_index = log_size + (width == 1 ? 0 : width == 2 ? 1 : 2);
    Set(keys + 8, static_cast<std::uint8_t>(log_size));
    Set(keys + 9, static_cast<std::uint8_t>(log_index));
    Set(keys + 10, static_cast<std::uint8_t>(kind));
    Set(keys + 24, entries.size());
  }
  std::uint64_t entry = keys + header + size * width;
  for (const auto& [key, value] : entries) {
    if (hashes) Set(entry, std::uint64_t{0x1234567});
    Set(entry + entry_size - 16, key);
    if (kind != Keys::kSplit) Set(entry + entry_size - 8, value);
    entry += entry_size;
  }
  return keys;
}

std::uint64_t FakePython::Dict(const Entries& entries, Keys kind, int log_size) {
  const std::uint64_t dict =
      Object("dict", {entries.size(), 0x7e, KeysOf(entries, kind, log_size)});
  if (kind != Keys::kSplit) return dict;
  // From 3.13 on a word about the values comes before them.
  const std::uint64_t first = python.layout.minor >= 13 ? 8 : 0;
  const std::uint64_t values = Make(first + 8 * entries.size());
  if (first != 0) Set(values, std::uint64_t{0x01000808});
  for (std::size_t i = 0; i < entries.size(); ++i) Set(values + first + 8 * i, entries[i].second);
  Set(dict + at::kDictValues, values);
  return dict;
}

Entries FakePython::Named(const std::vector<std::pair<std::string, std::uint64_t>>& names) {
  Entries entries;
  for (const auto& [name, value] : names) entries.emplace_back(Text(name), value);
  return entries;
}

std::uint64_t FakePython::Names(const std::vector<std::string>& names) {
  Words texts;
  for (const std::string& name : names) texts.push_back(Text(name));
  return Tuple(texts);
}

std::uint64_t FakePython::Code(const FakeCode& described) {
  const std::uint64_t code = Object("code");
  const ObjectLayout& layout = python.layout;
  Set(code + layout.code_arguments, described.arguments);
  Set(code + python.frames.code_first_line, described.line);
  Set(code + python.frames.code_file, Text(described.file));
  Set(code + python.frames.code_name, Text(described.name));
  Set(code + python.frames.code_line_table, Object("bytes", {0, 0, 0}));
  std::vector<std::string> names = described.variables;
  if (layout.minor >= 11) {  // all in one
    names.insert(names.end(), described.cells.begin(), described.cells.end());
    names.insert(names.end(), described.free.begin(), described.free.end());
  } else {
    Set(code + layout.code_cells, Names(described.cells));
    Set(code + layout.code_free, Names(described.free));
  }
  Set(code + layout.code_names, Names(names));
  Set(code + layout.code_attributes, Names(described.used));
  return code;
}

std::uint64_t FakePython::Function(const FakeFunction& described) {
  const std::uint64_t function = Object("function");
  const ObjectLayout& layout = python.layout;
  Set(function + layout.function_code, Code(described.code));
  Set(function + layout.function_qualname, Text(described.name));
  if (!described.closure.empty()) Set(function + layout.function_closure, Tuple(described.closure));
  if (!described.defaults.empty())
    Set(function + layout.function_defaults, Tuple(described.defaults));
  Set(function + layout.function_kwdefaults, Dict(described.keyword_defaults));
  Set(function + layout.function_dict, Dict(described.attributes));
  return function;
}

std::uint64_t FakePython::NewClass(const std::string& name, const Entries& names,
                                   const std::string& base) {
  const std::uint64_t type = NewType(name, kHeapType, base, 32);
  Set(type + at::kTypeDictOffset, std::uint64_t{16});
  Set(type + at::kTypeDict, Dict(names));
  return type;
}

std::uint64_t FakePython::Instance(const std::string& type, const Entries& attributes) {
  return Object(type, {Dict(attributes)});
}

std::uint64_t FakePython::Frame(std::uint64_t code, const Words& values, std::uint64_t previous) {
  const std::uint64_t frame = Object("frame", Words(40));
  const std::uint64_t place = python.layout.minor <= 10 ? 200 - 8 : python.layout.frame_locals;
  Set(frame + python.frames.frame_code, code);
  Set(frame + python.frames.frame_previous, previous);
  for (std::size_t i = 0; i < values.size(); ++i) Set(frame + place + 8 * i, values[i]);
  return frame;
}

std::uint64_t FakePython::Module(const std::string& name, const std::string& file,
                                 const Entries& names) {
  Entries all = Named({{"__name__", Text(name)}});
  if (!file.empty()) all.emplace_back(Text("__file__"), Text(file));
  all.insert(all.end(), names.begin(), names.end());
  return Object("module", {Dict(all)});
}

void FakePython::Run(const Words& frames,
                     const std::vector<std::pair<std::string, std::uint64_t>>& modules) {
  const ObjectLayout& layout = python.layout;
  const std::uint64_t interpreter = Make(8000);
  if (python.runtime == 0) python.runtime = Make(1000);
  Set(python.runtime + layout.runtime_interpreters, interpreter);
  Set(interpreter + layout.interpreter_modules, Dict(Named(modules)));
  std::uint64_t place = interpreter + layout.interpreter_threads;
  for (const std::uint64_t frame : frames) {
    const std::uint64_t thread = Make(400);
    Set(place, thread);
    Set(thread + layout.thread_interpreter, interpreter);
    if (python.frames.by_loop) {
      const std::uint64_t loop = Make(64);
      Set(loop + python.frames.loop_frame, frame);
      Set(thread + python.frames.thread_loop, loop);
    } else {
      Set(thread + python.frames.thread_frame, frame);
    }
    place = thread + layout.thread_next;
  }
}

}  // namespace memprof::holders::test
