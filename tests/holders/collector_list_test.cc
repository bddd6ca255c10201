// Rings as the collector has them, in plain memory.
#include "holders/src/collector_list.h"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

namespace memprof::holders {
namespace {

class CollectorListTest : public ::testing::Test {
 protected:
  struct Node {
    std::uint64_t next = 0, previous = 0;  // of links
    std::uint64_t references = 0;          // where the object begins
  };
  static PyObject* ObjectOf(Node* node) { return reinterpret_cast<PyObject*>(&node->references); }

  CollectorListTest() { EXPECT_TRUE(table_.Create(100)); }
  // A ring of so many objects and its head, whose counters are `of_head`. Returns its first object.
  PyObject* Ring(int objects, std::uint64_t of_head) {
    std::vector<Node*> ring;
    for (int i = 0; i <= objects; ++i) {
      nodes_.push_back({.references = i == 0 ? of_head : 1});
      ring.push_back(&nodes_.back());
    }
    for (std::size_t i = 0; i < ring.size(); ++i) {
      Node* next = ring[(i + 1) % ring.size()];
      ring[i]->next = reinterpret_cast<std::uint64_t>(next) | (i & 1);  // a flag
      next->previous = reinterpret_cast<std::uint64_t>(ring[i]) | (i & 3);
    }
    return ObjectOf(ring[1]);
  }
  bool IsFrozen(const PyObject* first, std::size_t frozen) {
    return CollectorList::IsFrozen(first, frozen, table_, listed_end_, &patience_);
  }

  ObjectTable table_;
  std::uint32_t listed_end_ = 0;
  std::size_t patience_ = 1000;
  std::deque<Node> nodes_;
};

TEST_F(CollectorListTest, TheRingWithAsManyObjectsAsAreFrozenIsTheirs) {
  for (const int objects : {1, 2, 7}) {
    const PyObject* first = Ring(objects, 0);
    const auto frozen = static_cast<std::size_t>(objects);
    EXPECT_TRUE(IsFrozen(first, frozen));
    EXPECT_FALSE(IsFrozen(first, frozen + 1));
    EXPECT_FALSE(IsFrozen(first, frozen - 1));
  }
}

TEST_F(CollectorListTest, AHeadWithCountersIsThatOfAGeneration) {
  for (const std::size_t frozen : {2, 3, 4}) EXPECT_FALSE(IsFrozen(Ring(3, 700), frozen));
}

TEST_F(CollectorListTest, ARingWithAListedObjectIsAGenerations) {
  PyObject* first = Ring(5, 0);
  PyObject* third = CollectorList::Next(CollectorList::Next(first));
  table_.Add(third);
  EXPECT_TRUE(IsFrozen(first, 5)) << "met, but not listed";
  listed_end_ = 1;
  EXPECT_FALSE(IsFrozen(first, 5));
}

TEST_F(CollectorListTest, PatienceEnds) {
  const PyObject* first = Ring(5, 0);
  patience_ = 8;
  EXPECT_TRUE(IsFrozen(first, 5));  // five steps
  EXPECT_EQ(patience_, 3u);
  EXPECT_FALSE(IsFrozen(first, 5));
  EXPECT_EQ(patience_, 0u);
}

TEST_F(CollectorListTest, WhatIsInNoRingHasNoNext) {
  nodes_.push_back({.references = 1});
  EXPECT_EQ(CollectorList::Next(ObjectOf(&nodes_.back())), nullptr);
  EXPECT_FALSE(IsFrozen(ObjectOf(&nodes_.back()), 1));
}

TEST_F(CollectorListTest, ABrokenRingIsNone) {
  PyObject* first = Ring(3, 0);
  nodes_[2].previous = 0;
  EXPECT_FALSE(IsFrozen(first, 3));
}

}  // namespace
}  // namespace memprof::holders
