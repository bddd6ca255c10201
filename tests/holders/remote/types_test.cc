// Types of objects, and text, of each version.
#include "holders/remote/types.h"

#include <gtest/gtest.h>

#include "tests/holders/remote/fake_python.h"

namespace memprof::holders::test {
namespace {

TEST(Types, ShapesOfObjects) {
  const std::pair<const char*, Shape> known[] = {{"list", Shape::kList},
                                                 {"tuple", Shape::kTuple},
                                                 {"dict", Shape::kDict},
                                                 {"str", Shape::kPlain},
                                                 {"int", Shape::kPlain},
                                                 {"type", Shape::kClass},
                                                 {"Exception", Shape::kException},
                                                 {"set", Shape::kSet},
                                                 {"frozenset", Shape::kSet},
                                                 {"cell", Shape::kCell},
                                                 {"method", Shape::kMethod},
                                                 {"function", Shape::kFunction},
                                                 {"module", Shape::kModule},
                                                 {"generator", Shape::kGenerator},
                                                 {"coroutine", Shape::kGenerator},
                                                 {"async", Shape::kGenerator},
                                                 {"frame", Shape::kFrame},
                                                 {"traceback", Shape::kTraceback},
                                                 {"code", Shape::kPlain},
                                                 {"collections.deque", Shape::kDeque},
                                                 {"functools.partial", Shape::kPartial},
                                                 {"functools._lru_cache_wrapper", Shape::kCache},
                                                 {"_thread._local", Shape::kThreadLocal}};
  FakePython fake(12);
  std::vector<std::uint64_t> objects, derived;
  for (const auto& [name, shape] : known) {
    objects.push_back(fake.Object(name));
    const std::string class_name = std::string("Derived of ") + name;
    const std::uint64_t flags =
        *reinterpret_cast<std::uint64_t*>(fake.types.at(name) + at::kTypeFlags);
    fake.NewType(class_name, flags | kHeapType, name);
    derived.push_back(fake.Object(class_name));
  }
  FakeReader reader(fake);
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const Type* type = reader.types.Of(objects[i]);
    ASSERT_NE(type, nullptr) << known[i].first;
    EXPECT_EQ(type->shape, known[i].second) << known[i].first;
    EXPECT_TRUE(type->exact);
    EXPECT_FALSE(type->heap);
    const Type* of_class = reader.types.Of(derived[i]);
    ASSERT_NE(of_class, nullptr) << known[i].first;
    EXPECT_EQ(of_class->shape, known[i].second) << known[i].first;
    EXPECT_TRUE(of_class->heap);
    EXPECT_FALSE(of_class->exact);
    EXPECT_FALSE(of_class->leaf);
  }
  EXPECT_EQ(reader.types.Of(objects[19])->name, "deque");  // without its module
  EXPECT_TRUE(reader.types.Of(objects[4])->leaf);
}

TEST(Types, TargetsAreFoundByTheNameOfABase) {
  FakePython fake(13);
  fake.NewClass("torch.Tensor", {}, "Target");
  fake.NewClass("Parameter", {}, "torch.Tensor");
  const std::uint64_t parameter = fake.Instance("Parameter", {}), list = fake.List({});
  FakeReader reader(fake);
  EXPECT_TRUE(reader.types.Of(parameter)->target);
  EXPECT_FALSE(reader.types.Of(list)->target);
  FakeReader other(fake, {"Tensor"});
  EXPECT_FALSE(other.types.Of(parameter)->target);
}

struct FakeMember {
  std::uint64_t name;
  std::int32_t kind, padding = 0;
  std::uint64_t offset, flags = 0, text = 0;
};

TEST(Types, SlotsAreMembersThatAreObjects) {
  FakePython fake(11);
  const char names[][8] = {"first", "number", "far", "odd", "second", "head"};
  const FakeMember of_base[] = {{Address(names[0]), 16, 0, 16}, {Address(names[1]), 1, 0, 24},
                                {Address(names[2]), 6, 0, 64},  {Address(names[3]), 6, 0, 28},
                                {Address(names[5]), 6, 0, 8},   {0, 0, 0, 0}};
  const FakeMember of_derived[] = {{Address(names[4]), 6, 0, 40}, {0, 0, 0, 0}};
  FakePython::Set(fake.NewType("Base", kHeapType, "", 48) + at::kTypeMembers, Address(of_base));
  FakePython::Set(fake.NewType("Derived", kHeapType, "Base", 48) + at::kTypeMembers,
                  Address(of_derived));
  FakePython::Set(fake.types["functools.partial"] + at::kTypeMembers, Address(of_derived));
  const std::uint64_t object = fake.Object("Derived", {0x11, 0x22, 0x33, 0x44});
  const std::uint64_t partial = fake.Object("functools.partial");
  FakeReader reader(fake);
  EXPECT_TRUE(reader.types.Of(partial)->slots.empty());  // its shape says them
  const Type* type = reader.types.Of(object);
  ASSERT_NE(type, nullptr);
  ASSERT_EQ(type->slots.size(), 2u);
  EXPECT_EQ(type->slots[0].name, Address(names[4]));
  EXPECT_EQ(type->slots[0].offset, 40u);
  EXPECT_EQ(type->slots[1].name, Address(names[0]));
  EXPECT_EQ(type->slots[1].offset, 16u);
}

TEST(Types, NamedTuplesHaveFields) {
  for (const int minor : kMinors) {
    FakePython fake(minor);
    const std::uint64_t names = fake.Tuple({fake.Text("x"), fake.Text("y")});
    const std::uint64_t type = fake.NewClass("Point", fake.Named({{"_fields", names}}), "tuple");
    FakePython::Set(type + at::kTypeFlags, kHeapType | std::uint64_t{1} << 26);
    const std::uint64_t point = fake.Tuple({0x10, 0x20}, "Point");
    FakeReader reader(fake);
    ASSERT_NE(reader.types.Of(point), nullptr);
    std::vector<std::string> fields;
    for (const std::uint64_t field : reader.types.Of(point)->fields)
      fields.push_back(reader.types.Text(field));
    EXPECT_EQ(fields, (std::vector<std::string>{"x", "y"})) << minor;
  }
}

TEST(Types, ItemsOfTuples) {
  for (const int minor : kMinors) {
    FakePython fake(minor);
    const std::uint64_t tuple = fake.Tuple({0x10, 0x20}), list = fake.List({0x10});
    const std::uint64_t huge = fake.Tuple({0x10});
    FakePython::Set(huge + at::kSize, ~std::uint64_t{0});
    FakeReader reader(fake);
    EXPECT_EQ(reader.types.Count(tuple), 2u);
    EXPECT_EQ(reader.types.Item(tuple, 1), 0x20u);
    EXPECT_EQ(reader.types.Item(tuple, 2), 0u);
    EXPECT_EQ(reader.types.Count(list), 0u);
    EXPECT_EQ(reader.types.Count(0), 0u);
    EXPECT_EQ(reader.types.Count(huge), 1u << 16);
    EXPECT_EQ(reader.types.Item(huge, 0), 0x10u);
  }
}

// Each width, with and without the length of its UTF-8 in the head.
TEST(Types, TextOfEachWidth) {
  for (const int minor : kMinors) {
    FakePython fake(minor);
    const recorder::PythonLayout& layout = fake.python.frames;
    const std::uint64_t narrow = fake.Text("a"), loose = fake.Text("a"), torn = fake.Text("a");
    const auto make = [&](std::uint64_t text, std::uint32_t width, auto points) {
      FakePython::Set(text + layout.text_state, width << 2 | 1u << 5);
      FakePython::Set(text + layout.text_length, points.size());
      const std::uint64_t begin = text + layout.text_compact_header;
      std::memcpy(reinterpret_cast<void*>(begin), points.data(), points.size() * sizeof(points[0]));
    };
    const std::uint64_t big = fake.Object("str", Words(20));
    make(big, 1, std::vector<std::uint8_t>{'a', 0xe9});
    const std::uint64_t big2 = fake.Object("str", Words(20)), big4 = fake.Object("str", Words(20));
    make(big2, 2, std::vector<std::uint16_t>{'a', 0x2026, 0xd800});
    make(big4, 4, std::vector<std::uint32_t>{0x1f600, 0x110000, 'z'});
    FakePython::Set(loose + layout.text_state, std::uint32_t{1 << 2});  // not compact
    FakePython::Set(torn + layout.text_state, std::uint32_t{3 << 2 | 1 << 5});
    FakeReader reader(fake);
    EXPECT_EQ(reader.types.Text(narrow), "a");
    EXPECT_EQ(reader.types.Text(big), "aé");
    EXPECT_EQ(reader.types.Text(big2), "a…\xef\xbf\xbd");  // half of a pair
    EXPECT_EQ(reader.types.Text(big4), "😀\xef\xbf\xbdz");
    EXPECT_EQ(reader.types.Text(loose) + reader.types.Text(torn), "");
    EXPECT_EQ(reader.types.Text(fake.List({})) + reader.types.Text(0) + reader.types.Text(13), "");
  }
}

TEST(Types, LongTextIsCut) {
  FakePython fake(12);
  const std::uint64_t text = fake.Text(std::string(5000, 'x'));
  FakePython::Set(text + fake.python.frames.text_length, std::uint64_t{1} << 63);
  FakeReader reader(fake);
  EXPECT_EQ(reader.types.Text(text), std::string(4096, 'x'));
}

TEST(Types, WhatIsNoSoundTypeIsNone) {
  FakePython fake(12);
  std::vector<std::uint64_t> objects = {0, 8, 4097, std::uint64_t{1} << 63, ~std::uint64_t{7}};
  const auto damaged = [&](std::uint64_t place, std::uint64_t word) {
    const std::string name = "Bad" + std::to_string(objects.size());
    FakePython::Set(fake.NewType(name) + place, word);
    objects.push_back(fake.Object(name));
  };
  damaged(at::kType, 0);
  damaged(at::kType, fake.types.at("object"));  // no type is of this type
  damaged(at::kTypeName, 0);
  damaged(at::kTypeBasicSize, 8);
  damaged(at::kTypeBasicSize, std::uint64_t{1} << 63);
  damaged(at::kTypeItemSize, ~std::uint64_t{0});
  objects.push_back(fake.Object("list"));
  FakePython::Set(objects.back(), std::uint64_t{0});  // freed
  objects.push_back(fake.Object("list"));
  FakePython::Set(objects.back() + at::kType, std::uint64_t{20});
  FakeReader reader(fake);
  for (std::size_t i = 0; i < objects.size(); ++i)
    EXPECT_EQ(reader.types.Of(objects[i]), nullptr) << i;
}

TEST(Types, BasesThatLoopAndMembersWithoutEnd) {
  FakePython fake(12);
  const std::uint64_t first = fake.NewType("First"), second = fake.NewType("Second");
  FakePython::Set(first + at::kTypeBase, second);
  FakePython::Set(second + at::kTypeBase, first);
  const std::vector<FakeMember> members(20000, {Address("slot"), 6, 0, 16});
  FakePython::Set(first + at::kTypeMembers, Address(members.data()));
  const std::uint64_t own = fake.Make(512);  // its type is itself, and no type
  FakePython::Set(own, std::uint64_t{1});
  FakePython::Set(own + at::kType, own);
  const std::uint64_t object = fake.Object("First");
  FakeReader reader(fake);
  EXPECT_LE(reader.types.Bases(first).size(), 128u);
  ASSERT_NE(reader.types.Of(object), nullptr);
  EXPECT_LE(reader.types.Of(object)->slots.size(), 128u * 4096);
  EXPECT_EQ(reader.types.Of(own), nullptr);
}

}  // namespace
}  // namespace memprof::holders::test
