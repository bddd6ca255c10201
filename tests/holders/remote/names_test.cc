// Paths in words, and what damaged objects are called.
#include "holders/remote/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/holders/remote/fake_python.h"

namespace memprof::holders::test {
namespace {

using ::testing::ElementsAre;

constexpr char kFile[] = "/home/user/train.py";

// The user's module has `object` as `g`; each target that is reached, in words.
std::vector<NamedPath> Named(FakePython& fake, std::uint64_t object, FakeCode frame = {},
                             const Words& locals = {}) {
  frame.file = kFile;
  const std::uint64_t code = fake.Code(frame);
  const Entries globals = object == 0 ? Entries() : fake.Named({{"g", object}});
  fake.Run({fake.Frame(code, locals)}, {{"train", fake.Module("train", kFile, globals)}});
  FakeReader reader(fake);
  const Roots roots = FindRoots(reader.memory, fake.python, reader.types).value();
  Walk walk(reader.memory, fake.python, reader.types, roots);
  walk.Run(10000);
  Namer namer(reader.memory, fake.python, reader.types, roots, walk);
  std::vector<NamedPath> named;
  for (const Walk::Id target : walk.targets())
    for (const Walk::Path& path : walk.Paths(target)) named.push_back(namer.Describe(path));
  return named;
}

std::string Line(FakePython& fake, std::uint64_t object) {
  const std::vector<NamedPath> named = Named(fake, object);
  if (named.empty()) return "nothing";
  const std::string& line = named[0].line;
  const std::size_t end = line.find(" (global `g`, train.py)");
  return end == std::string::npos ? line : line.substr(0, end);
}

std::uint64_t NewTarget(FakePython& fake) { return fake.Instance("Target", {}); }

TEST(Names, OfCollections) {
  for (const int minor : kMinors) {
    FakePython fake(minor);
    const std::uint64_t target = NewTarget(fake);
    EXPECT_EQ(Line(fake, target), "`g`");
    EXPECT_EQ(Line(fake, fake.List({0, target})), "`g[1]`");
    EXPECT_EQ(Line(fake, fake.List({0, 0, 0, 0, target})), "list `g`");
    EXPECT_EQ(Line(fake, fake.List({fake.List({0, 0, 0, 0, target})})), "list `g[0]`");
    EXPECT_EQ(Line(fake, fake.Dict({{target, fake.Text("x")}})), "dict `g.keys()`");
    EXPECT_EQ(Line(fake, fake.Dict({{fake.Text("x"), fake.Tuple({target})}})), "`g['x'][0]`");
  }
}

TEST(Names, OfKeys) {
  for (const int minor : kMinors) {
    FakePython fake(minor);
    const auto of_key = [&](std::uint64_t key) {
      return Line(fake, fake.Dict({{key, NewTarget(fake)}}));
    };
    const std::string many(160, 'k');
    const std::pair<std::string, std::string> texts[] = {
        {"x", "`g['x']`"},
        {"it's", "`g[\"it's\"]`"},
        {"'\"", "`g['\\'\"']`"},
        {"a\n\t\r\\\x01", "`g['a\\n\\t\\r\\\\\\x01']`"},
        {many.substr(0, 158), "`g['" + many.substr(0, 158) + "']`"},
        {many.substr(0, 159), "`g['" + many.substr(0, 159) + "…']`"},
        {many + many, "`g['" + many.substr(0, 159) + "…']`"}};
    for (const auto& [text, expected] : texts) EXPECT_EQ(of_key(fake.Text(text)), expected);
    for (const std::int64_t number : {std::int64_t{0}, std::int64_t{7}, std::int64_t{-7},
                                      std::int64_t{1} << 40, -(std::int64_t{1} << 59)})
      EXPECT_EQ(of_key(fake.Number(number)), "`g[" + std::to_string(number) + "]`") << minor;
    const std::uint64_t yes = fake.Number(1), no = fake.Number(0), large = fake.Number(1);
    FakePython::Set(yes + at::kType, fake.types.at("bool"));
    FakePython::Set(no + at::kType, fake.types.at("bool"));
    FakePython::Set(large + at::kSize, std::uint64_t{1} << 62);
    EXPECT_EQ(of_key(yes) + of_key(no), "`g[True]``g[False]`");
    EXPECT_EQ(of_key(large), "dict `g`");
    FakePython::Set(large + at::kSize, std::uint64_t{1} << 63);
    EXPECT_EQ(of_key(large), "dict `g`");
    EXPECT_EQ(of_key(fake.Tuple({})), "dict `g`");
    EXPECT_EQ(of_key(~std::uint64_t{7}), "dict `g`");
  }
}

// A class whose functions use an attribute is told.
TEST(Names, OfAttributesAndTheirClass) {
  for (const int minor : kMinors) {
    FakePython fake(minor);
    FakeFunction init;
    init.code.used = {"append", "kept"};
    init.code.file = kFile;
    fake.NewClass("Base", fake.Named({{"__init__", fake.Function(init)}}));
    fake.NewClass("Trainer", {}, "Base");
    const auto of = [&](const char* name, const char* type = "Trainer") {
      return Line(fake, fake.Instance(type, fake.Named({{name, fake.List({NewTarget(fake)})}})));
    };
    EXPECT_EQ(of("kept"), "`g.kept[0]` of `Trainer`") << minor;
    EXPECT_EQ(of("other"), "`g.other[0]`");
    FakeFunction callback;
    callback.defaults = {NewTarget(fake)};
    callback.code.variables = {"x"};
    callback.code.arguments = 1;
    const std::uint64_t keeper =
        fake.Instance("Trainer", fake.Named({{"kept", fake.Function(callback)}}));
    EXPECT_EQ(Line(fake, keeper), "`x`, default argument of f(), held by `g.kept`");
    init.code.file = "<string>";  // made by dataclasses
    fake.NewClass("Record", fake.Named({{"__init__", fake.Function(init)}}));
    EXPECT_EQ(of("kept", "Record"), "`g.kept[0]`");
    // The name of the class is there already.
    FakeFunction run;
    run.name = "Trainer.run";
    const std::uint64_t method = fake.Object(
        "method",
        {fake.Function(run), fake.Instance("Trainer", fake.Named({{"kept", NewTarget(fake)}}))});
    EXPECT_EQ(Line(fake, method),
              "`self.kept`, `self` of the bound method Trainer.run(), held by `g`");
  }
}

TEST(Names, OfModulesOfATorch) {
  FakePython fake(12);
  fake.NewClass("Layer");
  const std::uint64_t weights = fake.Dict(fake.Named({{"weight", NewTarget(fake)}}));
  const std::uint64_t layer = fake.Instance("Layer", fake.Named({{"_parameters", weights}}));
  const std::uint64_t layers = fake.Dict(fake.Named({{"0", layer}, {"head", layer}}));
  const std::uint64_t net = fake.Instance("Layer", fake.Named({{"_modules", layers}}));
  const std::vector<NamedPath> named = Named(fake, net);
  ASSERT_EQ(named.size(), 1u);
  EXPECT_EQ(named[0].line, "`g[0].weight` (global `g`, train.py)");
  EXPECT_EQ(named[0].rank, 0);
  EXPECT_THAT(named[0].chain, ElementsAre("Layer `g`", "Layer `g[0]`"));
  EXPECT_EQ(named[0].root, "global `g`, train.py");
}

TEST(Names, OfWhatFunctionsKeep) {
  for (const int minor : kMinors) {
    FakePython fake(minor);
    FakeFunction keeps;
    keeps.name = "make.<locals>.hook";
    keeps.code.free = {"kept"};
    keeps.closure = {fake.Object("cell", {NewTarget(fake)})};
    const std::uint64_t hook = fake.Function(keeps);
    const std::vector<NamedPath> named = Named(fake, fake.List({hook}));
    ASSERT_EQ(named.size(), 1u);
    EXPECT_EQ(named[0].line,
              "`kept`, variable of the closure make.hook(), held by `g[0]` (global `g`, train.py)");
    EXPECT_THAT(named[0].chain, ElementsAre("list `g`", "function `g[0]`"));
    // Through a bound method to its function: no words are added.
    const std::vector<NamedPath> bound = Named(fake, fake.Object("method", {hook, 0}));
    ASSERT_EQ(bound.size(), 1u);
    EXPECT_THAT(bound[0].chain, ElementsAre("method `g`"));
    FakeFunction save;
    save.name = "save";
    save.code.variables = {"sample"};
    save.code.arguments = 1;
    const std::uint64_t function = fake.Function(save);
    const auto partial = [&](std::uint64_t of, const Words& arguments) {
      return fake.Object("functools.partial", {of, fake.Tuple(arguments), 0});
    };
    EXPECT_EQ(Line(fake, partial(function, {NewTarget(fake)})),
              "`sample`, argument in a partial of save(), held by `g`");
    EXPECT_EQ(Line(fake, partial(fake.types["list"], {0, NewTarget(fake)})),
              "`args[1]`, argument in a partial of type(), held by `g`");
    EXPECT_EQ(Line(fake, partial(hook, {})),
              "`kept`, variable of the closure make.hook(), held by "
              "`make.hook`, function of a partial, held by `g`");
    const std::uint64_t cache = fake.Object(
        "functools._lru_cache_wrapper",
        {0, 0, 0, 0, 0, 0, 0, fake.Dict({{0, fake.List({NewTarget(fake)})}}), 0, function});
    const std::vector<NamedPath> cached = Named(fake, cache);
    ASSERT_EQ(cached.size(), 1u);
    EXPECT_EQ(cached[0].line, "cache of `save()[0]`, held by `g` (global `g`, train.py)");
    EXPECT_THAT(cached[0].chain, ElementsAre("_lru_cache_wrapper `g`", "cache of `save()`"));
  }
}

// In C, without a name, and methods of methods without end.
TEST(Names, OfStrangeFunctions) {
  FakePython fake(13);
  const char name[] = "print";
  const std::uint64_t description[] = {Address(name)};
  const auto self_of = [&](std::uint64_t function) {
    return Line(fake, fake.Object("method", {function, NewTarget(fake)}));
  };
  const auto expected = [](const std::string& function) {
    return "`self`, `self` of the bound method " + function + "(), held by `g`";
  };
  EXPECT_EQ(self_of(fake.Object("builtin_function_or_method", {Address(description)})),
            expected("print"));
  EXPECT_EQ(self_of(fake.Object("builtin_function_or_method", {~std::uint64_t{7}})), expected("…"));
  FakeFunction nameless;
  nameless.name = "";
  EXPECT_EQ(self_of(fake.Function(nameless)), expected("…"));
  EXPECT_EQ(self_of(fake.List({})), expected("list"));
  EXPECT_EQ(self_of(13), expected("…"));
  const std::uint64_t endless = fake.Object("method", {0, NewTarget(fake)});
  FakePython::Set(endless + at::kMethodFunction, endless);
  EXPECT_EQ(Line(fake, endless), expected("method"));
}

TEST(Names, OfLocals) {
  for (const int minor : kMinors) {
    FakePython fake(minor);
    fake.NewClass("Derived");
    FakeCode code;
    code.variables = {"self", "batch"};
    code.name = "Base.<locals>.run";
    code.line = 21;
    const auto first = [&](const std::string& name, const Words& locals) {
      code.name = name;
      return Named(fake, 0, code, locals).at(0).line;
    };
    const std::uint64_t self = fake.Instance("Derived", fake.Named({{"x", NewTarget(fake)}}));
    EXPECT_EQ(first("Base.<locals>.run", {0, NewTarget(fake)}),
              "`batch` (local `batch` of Base.run(), at train.py:21)");
    EXPECT_EQ(first("Base.run", {self}),
              "`self.x` (local `self`, a `Derived`, of Base.run(), at train.py:21)");
    EXPECT_EQ(first("Derived.run", {self}),
              "`self.x` (local `self` of Derived.run(), at train.py:21)");
    EXPECT_EQ(first("<module>", {self}), "`self.x` (global `self`, train.py)");
  }
}

TEST(Names, OfALongListAreShort) {
  FakePython fake(14);
  fake.NewClass("Node");
  std::uint64_t node = NewTarget(fake);
  for (int i = 0; i < 100; ++i) node = fake.Instance("Node", fake.Named({{"next", node}}));
  std::string expected = "`g";
  for (int i = 0; i < 11; ++i) expected += ".next";
  expected += "…";
  for (int i = 0; i < 6; ++i) expected += ".next";
  EXPECT_EQ(Line(fake, node), expected + "`");
}

}  // namespace
}  // namespace memprof::holders::test
