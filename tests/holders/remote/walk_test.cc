// The search, on random graphs against a twin, on long lists, and within its bounds.
#include "holders/remote/walk.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tests/holders/remote/fake_python.h"

namespace memprof::holders::test {
namespace {

// Objects that refer to each other at random, and names for some of them.
class RandomGraph {
 public:
  RandomGraph(int minor, unsigned seed, std::size_t count) : fake(minor), random_(seed) {
    fake.NewClass("Plain");
    const char* const kinds[] = {"list", "tuple", "dict", "Target", "Plain"};
    for (std::size_t i = 0; i < count; ++i) {
      kinds_.push_back(kinds[random_() % 5]);
      nodes.push_back(fake.Object(kinds_.back(), Words(20)));
    }
    for (std::size_t i = 0; i < count; ++i) Fill(i);
    for (const char* type : {"Target", "Plain"}) edges[fake.types[type]] = {fake.types["object"]};
    for (const char* file : {"/home/train.py", "/venv/site-packages/torch.py"})
      AddRoots(file, file[1] == 'h');
  }

  Words Some(std::size_t most) {
    Words some(random_() % (most + 1));
    for (std::uint64_t& each : some) each = nodes[random_() % nodes.size()];
    return some;
  }

  FakePython fake;
  Words nodes;
  std::map<std::uint64_t, Words> edges;
  Roots roots;
  std::vector<Words> of_root;  // what its names refer to: frames, then modules

 private:
  void Fill(std::size_t i) {
    const std::uint64_t node = nodes[i];
    const Words to = Some(i % 7 == 0 ? 8 : 2);
    Entries entries;
    for (const std::uint64_t each : to) entries.emplace_back(fake.Text("k"), each);
    const std::uint64_t list = fake.List(to), dict = fake.Dict(entries);
    const auto word = [](std::uint64_t place) { return *reinterpret_cast<std::uint64_t*>(place); };
    if (kinds_[i] == "list") {
      FakePython::Set(node + at::kSize, to.size());
      FakePython::Set(node + at::kListItems, word(list + at::kListItems));
    } else if (kinds_[i] == "tuple") {
      FakePython::Set(node + at::kSize, to.size());
      for (std::size_t j = 0; j < to.size(); ++j)
        FakePython::Set(node + fake.python.layout.tuple_items + 8 * j, to[j]);
    } else if (kinds_[i] == "dict") {
      FakePython::Set(node + at::kDictUsed, to.size());
      FakePython::Set(node + at::kDictKeys, word(dict + at::kDictKeys));
    } else {
      FakePython::Set(node + 16, dict);
    }
    edges[node] = to;
    if (kinds_[i] == "Target" || kinds_[i] == "Plain") edges[node].push_back(fake.types[kinds_[i]]);
  }

  void AddRoots(const std::string& file, bool of_user) {
    const Words globals = Some(3), locals = Some(2);
    Entries names;
    for (const std::uint64_t each : globals) names.emplace_back(fake.Text("g"), each);
    FakeCode code;
    code.variables.assign(locals.size(), "x");
    const std::uint64_t compiled = fake.Code(code);
    roots.modules.push_back({"m", file, fake.Dict(names), of_user});
    roots.frames.push_back({fake.Frame(compiled, locals), compiled, "f", file, 1, of_user});
    of_root.insert(of_root.begin() + static_cast<std::ptrdiff_t>(roots.frames.size() - 1), locals);
    of_root.push_back(globals);
  }

  std::mt19937 random_;
  std::vector<std::string> kinds_;
};

// The shortest distance of each object, from the user's roots, of others from those of libraries;
// by going over all edges until nothing changes.
std::map<std::uint64_t, std::size_t> Distances(RandomGraph& graph) {
  std::map<std::uint64_t, std::size_t> found;
  for (const bool of_user : {true, false}) {
    std::map<std::uint64_t, std::size_t> mine;
    for (std::size_t root = 0; root < graph.of_root.size(); ++root) {
      const std::size_t frames = graph.roots.frames.size();
      const bool user = root < frames ? graph.roots.frames[root].of_user
                                      : graph.roots.modules[root - frames].of_user;
      if (user != of_user) continue;
      for (const std::uint64_t each : graph.of_root[root])
        if (!found.contains(each)) mine[each] = 1;
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [node, to] : graph.edges) {
        if (!mine.contains(node)) continue;
        for (const std::uint64_t each : to) {
          if (found.contains(each)) continue;
          const auto [place, added] = mine.emplace(each, mine[node] + 1);
          changed = changed || added || place->second > mine[node] + 1;
          place->second = std::min(place->second, mine[node] + 1);
        }
      }
    }
    found.insert(mine.begin(), mine.end());
  }
  return found;
}

void CheckPath(RandomGraph& graph, const Walk& walk, const Walk::Path& path) {
  ASSERT_EQ(path.steps.size(), path.objects.size());
  std::set<Walk::Id> seen;
  for (std::size_t i = 0; i < path.objects.size(); ++i) {
    EXPECT_TRUE(seen.insert(path.objects[i]).second);
    const Walk::Id from = path.steps[i].from;
    const Words& to =
        i == 0 ? graph.of_root.at(path.root) : graph.edges[walk.address(path.steps[i].from)];
    EXPECT_NE(std::find(to.begin(), to.end(), walk.address(path.objects[i])), to.end());
    EXPECT_EQ(from == (i == 0 ? path.root : path.objects[i - 1]), i == 0 || i != path.gap);
  }
}

TEST(Walk, ReachesWhatATwinReachesByShortestPaths) {
  std::size_t others = 0;
  for (const int minor : {9, 11, 14}) {
    for (unsigned seed = 0; seed < 15; ++seed) {
      RandomGraph graph(minor, seed, 20 + 20 * seed);
      FakeReader reader(graph.fake);
      Walk walk(reader.memory, graph.fake.python, reader.types, graph.roots);
      walk.Run(100000);
      auto distances = Distances(graph);
      std::set<std::uint64_t> expected;
      for (const auto& [node, distance] : distances) expected.insert(node);
      const Words reached = walk.Addresses();
      EXPECT_EQ(std::set<std::uint64_t>(reached.begin(), reached.end()), expected);
      EXPECT_EQ(reached.size(), expected.size());
      EXPECT_EQ(walk.objects(), expected.size());
      EXPECT_FALSE(walk.cut());
      for (const Walk::Id target : walk.targets()) {
        const std::vector<Walk::Path> paths = walk.Paths(target);
        ASSERT_FALSE(paths.empty());
        EXPECT_EQ(paths[0].steps.size(),
                  std::min<std::size_t>(distances[walk.address(target)], 18));
        EXPECT_LE(paths.size(), Walk::kMostWays);
        others += paths.size() - 1;
        for (const Walk::Path& path : paths) {
          EXPECT_EQ(path.objects.back(), target);
          CheckPath(graph, walk, path);
        }
      }
    }
  }
  EXPECT_GT(others, 100u);
}

// A global of a program, to which all this belongs.
struct OneRoot {
  explicit OneRoot(FakePython& fake, std::uint64_t object) : reader(fake) {
    roots.modules.push_back(
        {"__main__", "/home/train.py", fake.Dict(fake.Named({{"g", object}})), true});
  }
  FakeReader reader;
  Roots roots;
};

TEST(Walk, LeavesOutTheMiddleOfALongPath) {
  FakePython fake(12);
  const std::uint64_t target = fake.Instance("Target", {});
  std::vector<std::uint64_t> lists = {fake.List({target})};
  while (lists.size() < 3000) lists.push_back(fake.List({lists.back()}));
  for (const std::size_t length : {1, 17, 18, 19, 100, 3000}) {
    OneRoot root(fake, lists[length - 1]);
    Walk walk(root.reader.memory, fake.python, root.reader.types, root.roots);
    walk.Run(1 << 20);
    ASSERT_EQ(walk.targets().size(), 1u);
    const Walk::Path path = walk.Paths(walk.targets()[0]).at(0);
    EXPECT_EQ(path.steps.size(), std::min<std::size_t>(length + 1, 18));
    EXPECT_EQ(path.gap, length + 1 > 18 ? 12u : 0u);
    EXPECT_EQ(walk.address(path.objects[0]), lists[length - 1]);
    EXPECT_EQ(walk.address(path.objects.back()), target);
    if (path.gap == 0) continue;
    EXPECT_EQ(walk.address(path.steps[12].from), lists[5]);
  }
}

TEST(Walk, EndsAtItsBounds) {
  FakePython fake(12);
  Words many;
  for (int i = 0; i < 500; ++i) many.push_back(fake.Instance("Target", {}));
  const std::uint64_t all = fake.List(many);
  const std::uint64_t same = fake.List(Words(5000, many[0]));  // many edges, few objects
  for (const std::uint64_t object : {all, same}) {
    OneRoot root(fake, object);
    Walk walk(root.reader.memory, fake.python, root.reader.types, root.roots);
    walk.Run(100);
    EXPECT_TRUE(walk.cut());
    EXPECT_LE(walk.objects(), 100u);
    EXPECT_GT(walk.targets().size(), 0u);
    for (const Walk::Id target : walk.targets())
      EXPECT_LE(walk.Paths(target).size(), Walk::kMostWays);
  }
  OneRoot root(fake, all);
  Memory memory(getpid(), Mine(), 500);  // the work of a hostile process ends
  Types types(memory, fake.python, {"Target"});
  Walk walk(memory, fake.python, types, root.roots);
  walk.Run(100000);
  EXPECT_TRUE(walk.cut());
}

// Modules are not gone through, nor wild addresses, nor what refers to nothing.
TEST(Walk, DoesNotGoThroughModules) {
  FakePython fake(12);
  const std::uint64_t target = fake.Instance("Target", {});
  const std::uint64_t module = fake.Module("lib", "/lib.py", fake.Named({{"x", target}}));
  OneRoot root(fake, fake.List({module, 0, 13, ~std::uint64_t{7}, std::uint64_t{1} << 50,
                                fake.Text("text"), fake.Number(7)}));
  Walk walk(root.reader.memory, fake.python, root.reader.types, root.roots);
  walk.Run(1000);
  EXPECT_TRUE(walk.targets().empty());
  EXPECT_EQ(walk.objects(), 2u);  // the list and the module
}

// A way to a target that begins with the target itself is none.
TEST(Walk, OfACycleThereIsOneWay) {
  FakePython fake(12);
  const std::uint64_t target = fake.Instance("Target", {});
  const std::uint64_t back = fake.List({target, target});
  FakePython::Set(target + 16, fake.Dict(fake.Named({{"self", target}, {"back", back}})));
  OneRoot root(fake, target);
  Walk walk(root.reader.memory, fake.python, root.reader.types, root.roots);
  walk.Run(1000);
  ASSERT_EQ(walk.targets().size(), 1u);
  EXPECT_EQ(walk.Paths(walk.targets()[0]).size(), 1u);
}

}  // namespace
}  // namespace memprof::holders::test
