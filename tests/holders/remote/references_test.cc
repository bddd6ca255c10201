// What an object of each shape refers to, in each version.
#include "holders/remote/references.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/holders/remote/fake_python.h"

namespace memprof::holders {

bool operator==(const Edge& a, const Edge& b) {
  return a.kind == b.kind && a.detail == b.detail && a.to == b.to;
}
void PrintTo(const Edge& edge, std::ostream* out) {
  *out << static_cast<int>(edge.kind) << "(" << edge.detail << ") -> " << edge.to;
}

namespace test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kA = 0xa0, kB = 0xb0, kC = 0xc0;  // nobody follows these

// A class edge comes last, of instances of classes.
Edge ClassOf(const FakePython& fake, const char* type) {
  return {EdgeKind::kClass, 0, fake.types.at(type)};
}

TEST(References, OfListsAndTuples) {
  for (const int minor : kMinors) {
    FakePython fake(minor);
    const std::uint64_t list = fake.List({kA, kB}), tuple = fake.Tuple({kA, 0, kC});
    Words many;
    for (std::uint64_t i = 0; i < 1500; ++i) many.push_back(0x1000 + 8 * i);
    const std::uint64_t long_list = fake.List(many), pair = fake.Tuple(many);
    FakeReader reader(fake);
    EXPECT_THAT(reader.Of(list),
                ElementsAre(Edge{EdgeKind::kIndex, 0, kA}, Edge{EdgeKind::kIndex, 1, kB}));
    EXPECT_THAT(reader.Of(tuple),
                ElementsAre(Edge{EdgeKind::kIndex, 0, kA}, Edge{EdgeKind::kIndex, 1, 0},
                            Edge{EdgeKind::kIndex, 2, kC}));
    for (const std::uint64_t object : {long_list, pair}) {
      const std::vector<Edge> edges = reader.Of(object);
      ASSERT_EQ(edges.size(), many.size());
      for (std::size_t i = 0; i < many.size(); ++i)
        ASSERT_EQ(edges[i], (Edge{EdgeKind::kEntry, 0, many[i]}));
    }
  }
}

TEST(References, OfNamedTuples) {
  FakePython fake(12);
  const std::uint64_t x = fake.Text("x"), fields = fake.Tuple({x});
  const std::uint64_t type = fake.NewClass("Point", fake.Named({{"_fields", fields}}), "tuple");
  FakePython::Set(type + at::kTypeFlags, kHeapType | std::uint64_t{1} << 26);
  FakePython::Set(type + at::kTypeDictOffset, std::uint64_t{0});
  const std::uint64_t point = fake.Tuple({kA, kB}, "Point");
  FakeReader reader(fake);
  EXPECT_THAT(reader.Of(point), ElementsAre(Edge{EdgeKind::kField, x, kA},
                                            Edge{EdgeKind::kEntry, 0, kB}, ClassOf(fake, "Point")));
}

TEST(References, OfDictionaries) {
  for (const int minor : kMinors) {
    FakePython fake(minor);
    Entries many;
    for (std::uint64_t i = 0; i < 17; ++i) many.emplace_back(0x1000 + 8 * i, kA);
    const std::uint64_t small = fake.Dict({{kA, kB}}), large = fake.Dict(many);
    FakeReader reader(fake);
    EXPECT_THAT(reader.Of(small),
                ElementsAre(Edge{EdgeKind::kKey, kA, kB}, Edge{EdgeKind::kDictKey, 0, kA}));
    const std::vector<Edge> edges = reader.Of(large);
    ASSERT_EQ(edges.size(), 34u);
    EXPECT_EQ(edges[32], (Edge{EdgeKind::kEntry, many[16].first, kA}));
  }
}

TEST(References, OfSets) {
  FakePython fake(12);
  std::uint64_t table[16] = {kA, 1, 0, 0, kB, 2, 0, 0, kC, 3};
  const std::uint64_t set = fake.Object("set", {3, 3, 7, Address(table)});
  const std::uint64_t empty = fake.Object("frozenset", {0, 0, 7, Address(table)});
  const std::uint64_t huge = fake.Object("set", {3, 3, ~std::uint64_t{0} >> 1, Address(table)});
  const std::uint64_t nowhere = fake.Object("set", {3, 3, 7, std::uint64_t{1} << 60});
  FakeReader reader(fake);
  EXPECT_THAT(reader.Of(set),
              ElementsAre(Edge{EdgeKind::kSetEntry, 0, kA}, Edge{EdgeKind::kSetEntry, 0, kB},
                          Edge{EdgeKind::kSetEntry, 0, kC}));
  for (const std::uint64_t each : {empty, huge, nowhere}) EXPECT_THAT(reader.Of(each), IsEmpty());
}

// Blocks of 64 between two links; the first entry may be anywhere in the first.
TEST(References, OfDeques) {
  FakePython fake(12);
  std::uint64_t blocks[3][66] = {};
  for (std::size_t block = 0; block < 3; ++block) {
    blocks[block][65] = Address(blocks[(block + 1) % 3]);  // the last leads to the first
    for (std::size_t i = 0; i < 64; ++i) blocks[block][1 + i] = 0x10000 + 1000 * block + 8 * i;
  }
  const auto deque = [&](std::uint64_t count, std::uint64_t left, std::uint64_t first) {
    return fake.Object("collections.deque", {count, left, 0, first});
  };
  const std::uint64_t whole = deque(130, Address(blocks[0]), 50);
  const std::uint64_t around = deque(1000, Address(blocks[0]), 0);
  const std::uint64_t strange[] = {deque(~std::uint64_t{0}, Address(blocks[0]), 0),
                                   deque(5, Address(blocks[0]), 64), deque(5, 0, 0)};
  FakeReader reader(fake);
  const std::vector<Edge> edges = reader.Of(whole);
  ASSERT_EQ(edges.size(), 130u);
  for (std::size_t i = 0; i < 130; ++i)
    EXPECT_EQ(edges[i].to, blocks[(50 + i) / 64][1 + (50 + i) % 64]);
  EXPECT_EQ(reader.Of(around).size(), 1000u);  // no more than it says
  for (const std::uint64_t each : strange) EXPECT_THAT(reader.Of(each), IsEmpty());
}

TEST(References, OfFunctions) {
  for (const int minor : kMinors) {
    FakePython fake(minor);
    FakeFunction described;
    described.code.variables = {"a", "b", "x"};
    described.code.arguments = 2;
    described.code.cells = {"inner"};
    described.code.free = {"kept"};
    described.closure = {kA};
    described.defaults = {kB};
    described.keyword_defaults = fake.Named({{"c", kC}});
    described.attributes = fake.Named({{"note", kC}});
    const std::uint64_t function = fake.Function(described);
    const std::uint64_t code =
        *reinterpret_cast<std::uint64_t*>(function + fake.python.layout.function_code);
    FakeReader reader(fake);
    std::vector<std::pair<EdgeKind, std::string>> told;
    Words to;
    for (const Edge& edge : reader.Of(function)) {
      told.emplace_back(edge.kind, reader.types.Text(edge.detail));
      to.push_back(edge.to);
    }
    EXPECT_THAT(
        told, ElementsAre(std::pair(EdgeKind::kClosure, "kept"), std::pair(EdgeKind::kDefault, "b"),
                          std::pair(EdgeKind::kDefault, "c"), std::pair(EdgeKind::kName, "note")))
        << minor;
    EXPECT_THAT(to, ElementsAre(kA, kB, kC, kC));
    // More defaults than arguments: torn.
    FakePython::Set(code + fake.python.layout.code_arguments, std::uint32_t{0});
    FakeReader torn(fake);
    EXPECT_EQ(torn.Of(function).size(), 3u);
  }
}

// Of a function with names, beyond its arguments, of a method, and of a class.
TEST(References, OfPartials) {
  for (const int minor : kMinors) {
    FakePython fake(minor);
    FakeFunction described;
    described.code.variables = {"a", "b", "local"};
    described.code.arguments = 2;
    const std::uint64_t function = fake.Function(described);
    const std::uint64_t method = fake.Object("method", {function, kA});
    const std::uint64_t keywords = fake.Dict(fake.Named({{"more", kC}}));
    const std::uint64_t three = fake.Tuple({kA, kB, kC}), type = fake.types.at("list");
    const std::uint64_t of_function = fake.Object("functools.partial", {function, three, keywords});
    const std::uint64_t of_method = fake.Object("functools.partial", {method, three, 0});
    const std::uint64_t of_class = fake.Object("functools.partial", {type, three, 0});
    const std::uint64_t torn = fake.Object("functools.partial", {13, type, ~std::uint64_t{7}});
    FakeReader reader(fake);
    const auto told = [&](std::uint64_t partial) {
      std::vector<std::string> lines;
      for (const Edge& edge : reader.Of(partial)) {
        if (edge.kind == EdgeKind::kArgument)
          lines.push_back(reader.types.Text(edge.detail) + std::to_string(edge.to));
        else if (edge.kind == EdgeKind::kUnnamedArgument)
          lines.push_back("[" + std::to_string(edge.detail) + "]" + std::to_string(edge.to));
        else
          lines.push_back(edge.kind == EdgeKind::kFunction ? "function" : "?");
      }
      return lines;
    };
    EXPECT_THAT(told(of_function), ElementsAre("function", "a160", "b176", "[2]192", "more192"));
    EXPECT_THAT(told(of_method), ElementsAre("function", "b160", "[1]176", "[2]192"));
    EXPECT_THAT(told(of_class), ElementsAre("function", "[0]160", "[1]176", "[2]192"));
    EXPECT_THAT(told(torn), ElementsAre("function"));
  }
}

// What a limited cache keeps is in links of a list.
TEST(References, OfCaches) {
  FakePython fake(13);
  const std::uint64_t link = fake.Object("functools._lru_list_elem", {0, 0, 0, kA, kB});
  const std::uint64_t results = fake.Dict({{kA, link}, {kC, kB}});
  const std::uint64_t cache =
      fake.Object("functools._lru_cache_wrapper", {0, 0, 0, 0, 0, 0, 0, results});
  FakeReader reader(fake);
  EXPECT_THAT(reader.Of(cache),
              ElementsAre(Edge{EdgeKind::kCached, 0, kB}, Edge{EdgeKind::kCached, 0, kA},
                          Edge{EdgeKind::kCached, 0, kB}, Edge{EdgeKind::kCached, 0, kC}));
}

TEST(References, OfThreadLocals) {
  for (const int minor : kMinors) {
    FakePython fake(minor);
    const std::uint64_t name = fake.Text("x"), one = fake.Dict({{name, kA}}),
                        other = fake.Dict({{name, kB}});
    const std::uint64_t none = fake.Object("Target", {1, 0, fake.KeysOf({{name, kC}})});
    const std::uint64_t threads = fake.Dict({{kC, one}, {kC + 8, other}, {kC + 16, none}});
    const std::uint64_t local = fake.Object("_thread._local");
    FakePython::Set(local + (minor >= 13 ? 40 : 48), threads);
    FakeReader reader(fake);
    EXPECT_THAT(reader.Of(local),
                ElementsAre(Edge{EdgeKind::kName, name, kA}, Edge{EdgeKind::kName, name, kB}));
  }
}

TEST(References, OfGenerators) {
  for (const int minor : kMinors) {
    FakePython fake(minor);
    const ObjectLayout& layout = fake.python.layout;
    FakeCode code;
    code.variables = {"a", "b"};
    const std::uint64_t tag = minor == 14 ? 1 : 0;  // of references in frames
    const std::uint64_t frame = fake.Frame(fake.Code(code) | tag, {kA | tag, 0});
    const std::uint64_t generator = fake.Object("generator", Words(60)),
                        ended = fake.Object("generator", Words(60));
    for (const std::uint64_t each : {generator, ended}) {
      if (minor <= 10) {
        FakePython::Set(each + layout.generator_frame, each == ended ? 0 : frame);
        continue;
      }
      std::memcpy(reinterpret_cast<void*>(each + layout.generator_frame),
                  reinterpret_cast<void*>(frame), 160);
      FakePython::Set<std::int8_t>(each + layout.generator_state, each == ended ? 1 : -1);
    }
    FakeReader reader(fake);
    const std::vector<Edge> edges = reader.Of(generator);
    ASSERT_EQ(edges.size(), 1u) << minor;
    EXPECT_EQ(edges[0].kind, EdgeKind::kLocal);
    EXPECT_EQ(reader.types.Text(edges[0].detail), "a");
    EXPECT_EQ(edges[0].to, kA);
    EXPECT_THAT(reader.Of(ended), IsEmpty()) << minor;
  }
}

// To 3.10 cells have names of their own, and come after the other variables.
TEST(References, OfFrames) {
  for (const int minor : kMinors) {
    FakePython fake(minor);
    FakeCode code;
    code.variables = {"a"};
    code.cells = {"b"};
    code.free = {"c"};
    const std::uint64_t frame = fake.Frame(fake.Code(code), {kA, kB, kC});
    const std::uint64_t object = minor <= 10 ? frame : fake.Object("frame", {0, frame});
    const std::uint64_t traceback = fake.Object("traceback", {kA, object});
    FakeReader reader(fake);
    std::string told;
    for (const Edge& edge : reader.Of(object))
      told += reader.types.Text(edge.detail) + "=" + std::to_string(edge.to) + " ";
    EXPECT_EQ(told, "a=160 b=176 c=192 ") << minor;
    EXPECT_THAT(reader.Of(traceback),
                ElementsAre(Edge{EdgeKind::kContent, 0, object}, Edge{EdgeKind::kContent, 0, kA}));
  }
}

TEST(References, OfExceptionsCellsAndMethods) {
  for (const int minor : kMinors) {
    FakePython fake(minor);
    const std::uint64_t cell = fake.Object("cell", {kA}), method = fake.Object("method", {kA, kB});
    const Words fields = minor <= 10 ? Words{0, 1, 2, 3, 4} : Words{0, 1, 9, 2, 3, 4};  // notes
    const std::uint64_t error = fake.Object("Exception", fields);
    FakeReader reader(fake);
    EXPECT_THAT(reader.Of(cell), ElementsAre(Edge{EdgeKind::kContent, 0, kA}));
    EXPECT_THAT(reader.Of(method),
                ElementsAre(Edge{EdgeKind::kSelf, 0, kB}, Edge{EdgeKind::kContent, 0, kA}));
    EXPECT_THAT(reader.Of(error),
                ElementsAre(Edge{EdgeKind::kArguments, 0, 1}, Edge{EdgeKind::kTraceback, 0, 2},
                            Edge{EdgeKind::kCause, 0, 4}, Edge{EdgeKind::kContext, 0, 3}));
  }
}

TEST(References, OfClasses) {
  FakePython fake(12);
  const std::uint64_t name = fake.Text("shared");
  const std::uint64_t type = fake.NewClass("Derived", {{name, kA}}, "Target");
  FakeReader reader(fake);
  EXPECT_THAT(reader.Of(type), ElementsAre(Edge{EdgeKind::kName, name, kA},
                                           Edge{EdgeKind::kBase, 0, fake.types.at("Target")}));
  EXPECT_THAT(reader.Of(fake.types.at("list")), IsEmpty());  // of C
}

// A dictionary at a place, at a place from the end, before the object, or values without one.
TEST(References, OfInstances) {
  for (const int minor : kMinors) {
    FakePython fake(minor);
    constexpr std::uint64_t kInline = 1 << 2, kManaged = 1 << 4;
    const std::uint64_t name = fake.Text("x");
    const std::uint64_t dict = fake.Dict({{name, kA}});
    const Edge expected = {EdgeKind::kAttribute, name, kA};
    const std::uint64_t from_end = fake.NewType("FromEnd", kHeapType, "", 24);
    FakePython::Set(from_end + at::kTypeItemSize, std::uint64_t{4});
    FakePython::Set(from_end + at::kTypeDictOffset, std::int64_t{-8});
    const std::uint64_t plain = fake.Instance("Target", {{name, kA}});
    // 24 bytes, 3 items of 4 (-3: a negative number of 3 digits): 40 with the rounding.
    const std::uint64_t last = fake.Object("FromEnd", {~std::uint64_t{2}, 0, dict});
    const std::uint64_t keys = fake.KeysOf({{name, 0}}, Keys::kSplit, 3);
    const std::uint64_t managed = fake.NewType("Managed", kHeapType | kManaged | kInline, "", 16);
    FakePython::Set(managed + fake.python.layout.type_cached_keys, keys);
    const std::uint64_t with = fake.Object("Managed") + 64, without = fake.Object("Managed") + 64;
    for (const std::uint64_t each : {with, without}) {
      FakePython::Set(each, std::uint64_t{1});
      FakePython::Set(each + at::kType, managed);
    }
    FakePython::Set(with - 24, dict);
    const std::uint64_t values = fake.Make(16);
    FakePython::Set(values, kA);
    if (minor == 11) FakePython::Set(without - 32, values);
    if (minor == 12) FakePython::Set(without - 24, values - 1);
    if (minor >= 13) FakePython::Set(without + 16 + 8, kA);
    FakeReader reader(fake);
    EXPECT_THAT(reader.Of(plain), ElementsAre(expected, ClassOf(fake, "Target")));
    EXPECT_THAT(reader.Of(last), ElementsAre(expected, ClassOf(fake, "FromEnd"))) << minor;
    if (minor <= 10) continue;
    EXPECT_THAT(reader.Of(with), ElementsAre(expected, ClassOf(fake, "Managed"))) << minor;
    EXPECT_THAT(reader.Of(without), ElementsAre(expected, ClassOf(fake, "Managed"))) << minor;
  }
}

TEST(References, CountsThatCannotBe) {
  FakePython fake(12);
  FakePython::Set(fake.NewType("FromEnd") + at::kTypeDictOffset, std::int64_t{-8});
  const std::uint64_t nowhere = std::uint64_t{1} << 55, list = fake.List({kA, kB});
  std::vector<std::uint64_t> objects = {
      fake.Object("list", {std::uint64_t{1} << 63, nowhere}),
      fake.Object("list", {3, nowhere}),
      fake.Object("list", {std::uint64_t{1} << 27, list}),
      fake.Object("generator", Words(30)),
      fake.Object("function", Words(12, nowhere)),
      fake.Object("frame", {0, nowhere}),
      fake.Object("FromEnd", {std::uint64_t{1} << 63}),
      fake.Object("functools._lru_cache_wrapper", Words(12, nowhere)),
      fake.Object("_thread._local", Words(12, nowhere))};
  FakeReader reader(fake);
  for (const std::uint64_t object : objects) EXPECT_LT(reader.Of(object).size(), 1u << 22);
  EXPECT_THAT(reader.Of(objects[0]), IsEmpty());
  EXPECT_THAT(reader.Of(objects[1]), IsEmpty());
}

}  // namespace
}  // namespace test
}  // namespace memprof::holders
