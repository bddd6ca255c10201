// Two call trees in one: as text, and against a plain sum over the stacks.
#include "viewer/models/diff_tree.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "analysis/testing/log_builder.h"
#include "tests/support/load_log.h"
#include "tests/viewer/compare_models.h"
#include "viewer/geometry/names.h"

namespace memprof::viewer {
namespace {

using analysis::CallStacks;
using analysis::Layer;
using analysis::testing::LoadLog;
using analysis::testing::LogBuilder;
using testing::CompareModels;

// "main (m.cc:1)", … outermost first, and its bytes.
using Stacks = std::vector<std::pair<std::vector<std::string>, std::uint64_t>>;

std::shared_ptr<const CallStacks> Load(const Stacks& stacks) {
  LogBuilder log;
  std::uint64_t address = 0x1000;
  for (const auto& [frames, bytes] : stacks)
    log.Alloc(Layer::kLinear, address += 0x100000, bytes, {.stack = log.Stack(frames)});
  const auto session = LoadLog(log);
  analysis::Symbols symbols(session);
  return std::make_shared<const CallStacks>(*session, symbols, analysis::FindSites(*session, {}));
}

// A node a line: "  Linear 100 > 300 w300 +0.67 new".
std::string Print(const DiffPicture& picture) {
  std::string text;
  std::vector<std::size_t> depths;
  for (std::size_t i = 0; i < picture.costs.size(); ++i) {
    const analysis::FlameNode& node = picture.flame.nodes[i];
    const DiffCost& cost = picture.costs[i];
    depths.push_back(node.parent < 0 ? 0 : depths[static_cast<std::size_t>(node.parent)] + 1);
    char share[16];
    std::snprintf(share, sizeof(share), "%+.2f", cost.share());
    text += std::string(2 * depths.back(), ' ') + node.function + " " +
            std::to_string(cost.before.bytes) + " > " + std::to_string(cost.after.bytes) + " w" +
            std::to_string(node.bytes) + " " + share + (cost.fresh() ? " new" : "") +
            (cost.gone() ? " gone" : "") + "\n";
  }
  return text;
}

const Stacks kBefore = {{{"main (m.cc:1)", "Train (t.cc:5)", "Linear (l.cc:9)"}, 100},
                        {{"main (m.cc:1)", "Train (t.cc:6)", "Linear (l.cc:9)"}, 50},
                        {{"main (m.cc:1)", "Load (d.cc:3)"}, 200}};
const Stacks kAfter = {{{"main (m.cc:2)", "Train (t.cc:7)", "Linear (l.cc:9)"}, 300},
                       {{"main (m.cc:2)", "Train (t.cc:7)", "Keep (k.cc:1)"}, 40},
                       {{"main (m.cc:2)", "Train (t.cc:8)"}, 7}};

TEST(DiffTree, BothSidesInOnePicture) {
  const DiffStacks stacks(*Load(kBefore), *Load(kAfter));
  EXPECT_EQ(Print(PictureOf(stacks, false)),
            "all 350 > 347 w547 -0.01\n"
            "  main 350 > 347 w547 -0.01\n"
            "    Train 150 > 347 w347 +0.57\n"
            "      Linear 150 > 300 w300 +0.50\n"
            "      Keep 0 > 40 w40 +1.00 new\n"
            "    Load 200 > 0 w200 -1.00 gone\n");
  EXPECT_EQ(Print(PictureOf(stacks, true)),
            "all 350 > 347 w547 -0.01\n"
            "  Linear 150 > 300 w300 +0.50\n"
            "    Train 150 > 300 w300 +0.50\n"
            "      main 150 > 300 w300 +0.50\n"
            "  Load 200 > 0 w200 -1.00 gone\n"
            "    main 200 > 0 w200 -1.00 gone\n"
            "  Keep 0 > 40 w40 +1.00 new\n"
            "    Train 0 > 40 w40 +1.00 new\n"
            "      main 0 > 40 w40 +1.00 new\n"
            "  Train 0 > 7 w7 +1.00 new\n"
            "    main 0 > 7 w7 +1.00 new\n");
  // The place is that of the run after, where it has one.
  EXPECT_EQ(PictureOf(stacks, false).flame.nodes[3].line, 9);
  EXPECT_EQ(PictureOf(stacks, false).flame.nodes[2].line, 7);
}

TEST(DiffTree, SmallNodesAppearWithZoom) {
  const DiffStacks stacks(*Load(kBefore), *Load(kAfter));
  const DiffPicture coarse = PictureOf(stacks, false, 0.1);
  EXPECT_EQ(coarse.flame.nodes.size(), 5u) << "without Keep: " << Print(coarse);
  EXPECT_FALSE(coarse.flame.whole);
  const std::vector<std::string> zoom = {"main", "Train"};
  const DiffPicture zoomed = PictureOf(stacks, false, 0.1, zoom);
  EXPECT_EQ(zoomed.flame.nodes.size(), 6u) << Print(zoomed);
  EXPECT_TRUE(zoomed.flame.whole);
  EXPECT_EQ(PictureOf(DiffStacks(*Load({}), *Load({})), false).flame.nodes.size(), 1u);
}

// By the path of functions, "/all/main/Train": bytes before and after, and the width.
struct Sums {
  std::uint64_t before = 0, after = 0, width = 0;
  bool operator==(const Sums&) const = default;
};

std::map<std::string, Sums> PlainSums(const Stacks& before, const Stacks& after, bool bottom_up) {
  std::map<std::string, Sums> whole, sums;  // of whole paths; of all beginnings
  for (const bool is_after : {false, true})
    for (const auto& [frames, bytes] : is_after ? after : before) {
      std::string path = "/all";
      for (std::size_t i = 0; i < frames.size(); ++i) {
        const std::string& frame = frames[bottom_up ? frames.size() - 1 - i : i];
        path += "/" + frame.substr(0, frame.find(' '));
      }
      (is_after ? whole[path].after : whole[path].before) += bytes;
    }
  for (const auto& [path, sum] : whole)
    for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
      Sums& at = sums[path.substr(0, end)];
      at.before += sum.before;
      at.after += sum.after;
      at.width += std::max(sum.before, sum.after);
      if (end == std::string::npos) break;
    }
  return sums;
}

TEST(DiffTree, AgainstPlainSums) {
  std::mt19937 random(5);
  const auto stacks = [&] {
    Stacks some;
    for (int i = 0; i < 60; ++i) {
      std::vector<std::string> frames;
      for (std::size_t depth = 1 + random() % 5; depth > 0; --depth)
        frames.push_back(std::string(1, static_cast<char>('a' + random() % 3)) +
                         " (x.cc:" + std::to_string(1 + random() % 2) + ")");
      some.emplace_back(frames, 1 + random() % 1000);
    }
    return some;
  };
  for (int round = 0; round < 20; ++round) {
    const Stacks before = stacks(), after = stacks();
    const DiffStacks both(*Load(before), *Load(after));
    for (const bool bottom_up : {false, true}) {
      const DiffPicture picture = PictureOf(both, bottom_up);
      std::map<std::string, Sums> found;
      std::vector<std::string> paths;
      for (std::size_t i = 0; i < picture.costs.size(); ++i) {
        const analysis::FlameNode& node = picture.flame.nodes[i];
        const std::string& above =
            node.parent < 0 ? std::string() : paths[static_cast<std::size_t>(node.parent)];
        paths.push_back(above + "/" + node.function);
        const auto [at, fresh] = found.try_emplace(
            paths.back(),
            Sums{picture.costs[i].before.bytes, picture.costs[i].after.bytes, node.bytes});
        EXPECT_TRUE(fresh) << paths.back() << " is there twice";
      }
      EXPECT_EQ(found, PlainSums(before, after, bottom_up));
    }
  }
}

// From the sites outward, each leaf is a call site of the table, also where its line has moved.
TEST_F(CompareModels, TheLeavesAreTheRowsOfTheTable) {
  DiffQuestion question;
  question.before = Source(CompareModels::Load(4, true, 3));
  question.after = Source(CompareModels::Load(9));
  const auto data = Compare(question, {}, std::stop_token());
  const DiffTrees trees = TreesOf(*data, CallStacks::Depth::kFromSite, std::stop_token());
  const DiffPicture picture = PictureOf(*trees.stacks, true);
  std::map<std::string, std::int64_t> leaves, rows;
  for (const int child : picture.flame.nodes[0].children) {
    const auto at = static_cast<std::size_t>(child);
    if (picture.costs[at].change() != 0)
      leaves[picture.flame.nodes[at].function] += picture.costs[at].change();
  }
  for (const DiffRow& row : data->rows)
    if (row.change() != 0)
      rows[ShortPlace(data->report.alignment.places[row.place].site).toStdString()] += row.change();
  EXPECT_FALSE(rows.empty());
  EXPECT_EQ(leaves, rows);
}

// The sums of the picture are those of the table of call sites.
TEST_F(CompareModels, ThePictureAddsUpToTheTable) {
  const auto sums_agree = [](const DiffQuestion& question) {
    const auto data = Compare(question, {}, std::stop_token());
    std::int64_t before = 0, change = 0, blocks = 0;
    for (const analysis::DiffSite& site : data->report.sites) {
      if (data->only != analysis::StackAlignment::kNone && site.place != data->only) continue;
      before += static_cast<std::int64_t>(site.before);
      change += static_cast<std::int64_t>(site.after) - static_cast<std::int64_t>(site.before);
      blocks += static_cast<std::int64_t>(site.after_count - site.before_count);
    }
    const DiffTrees trees = TreesOf(*data, CallStacks::Depth::kWhole, std::stop_token());
    const DiffCost all = PictureOf(*trees.stacks, false).costs[0];
    EXPECT_EQ(all.change(), change);
    EXPECT_EQ(static_cast<std::int64_t>(all.after.blocks - all.before.blocks), blocks);
    EXPECT_GE(static_cast<std::int64_t>(all.before.bytes), before) << "the table leaves out equals";
    return all;
  };
  DiffQuestion question;
  question.before = Source(CompareModels::Load(4, true, 3));
  question.after = Source(CompareModels::Load(9));
  EXPECT_GT(sums_agree(question).change(), 0);
  question.at = analysis::DiffMoment::kEnd;
  sums_agree(question);
  question.filter.text = "LossHistory";
  EXPECT_EQ(sums_agree(question).change(), 5 * static_cast<std::int64_t>(testing::kLeakBytes));
  question.filter = {};
  question.filter.site = Compare(question, {}, std::stop_token())->rows[0].after_stack;
  const DiffCost site = sums_agree(question);
  EXPECT_NE(site.change(), 0);
  EXPECT_EQ(site.after.bytes, Compare(question, {}, std::stop_token())->rows[0].after)
      << "of this site alone";
  question.filter = {};
  question.moments = true;
  question.before = question.after;
  question.from = question.after.session->steps()[2].begin;
  question.to = question.after.session->steps()[8].begin;
  EXPECT_EQ(sums_agree(question).change(), 6 * static_cast<std::int64_t>(testing::kLeakBytes));
  std::stop_source stop;
  stop.request_stop();
  const auto data = Compare(question, {}, std::stop_token());
  EXPECT_EQ(TreesOf(*data, CallStacks::Depth::kWhole, stop.get_token()).stacks, nullptr);
}

}  // namespace
}  // namespace memprof::viewer
