// The command line: what it accepts and refuses, and the messages.
#include "demo_trainer/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "demo_trainer/error.h"
#include "demo_trainer/leaks/leaks.h"

namespace memprof::demo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string ErrorOf(const std::vector<std::string>& arguments) {
  try {
    ParseOptions(arguments);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(OptionsTest, DefaultsAreThoseOfTheHelp) {
  const Options options = ParseOptions({});
  EXPECT_EQ(options.steps, 50);
  EXPECT_EQ(options.batch, 8);
  EXPECT_EQ(options.model.layers, 4);
  EXPECT_EQ(options.model.dim, 128);
  EXPECT_EQ(options.model.context, 128);
  EXPECT_EQ(options.allocator, AllocatorKind::kCaching);
  EXPECT_EQ(options.loss_scale, 1.0f);
  EXPECT_EQ(options.eval_every, 0);
  for (const char* text : {"--steps N         optimizer steps (50)", "(128)", "(caching)"}) {
    EXPECT_THAT(HelpText(), HasSubstr(text));
  }
}

constexpr const char* kEveryOption[] = {"--layers",
                                        "3",
                                        "--dim=96",
                                        "--heads",
                                        "6",
                                        "--context",
                                        "64",
                                        "--batch",
                                        "12",
                                        "--steps",
                                        "7",
                                        "--seed",
                                        "5",
                                        "--lr",
                                        "0.01",
                                        "--clip",
                                        "2.5",
                                        "--text",
                                        "poem.txt",
                                        "--dtype",
                                        "bf16",
                                        "--grad-accum",
                                        "2",
                                        "--checkpointing",
                                        "--inplace",
                                        "--prefetch",
                                        "--allocator",
                                        "async",
                                        "--max-split",
                                        "64MiB",
                                        "--devices",
                                        "2",
                                        "--ranks",
                                        "3",
                                        "--leak",
                                        "history,eval",
                                        "--leak-after",
                                        "4",
                                        "--snapshot",
                                        "1,3",
                                        "--print-every",
                                        "2",
                                        "--empty-cache",
                                        "--stats",
                                        "--quiet"};

TEST(OptionsTest, ReadsEveryOption) {
  const Options options = ParseOptions({std::begin(kEveryOption), std::end(kEveryOption)});
  EXPECT_EQ(options.model.layers, 3);
  EXPECT_EQ(options.model.dim, 96);
  EXPECT_EQ(options.model.heads, 6);
  EXPECT_EQ(options.model.context, 64);
  EXPECT_EQ(options.batch, 12);
  EXPECT_EQ(options.ShardBatch(), 2);
  EXPECT_EQ(options.steps, 7);
  EXPECT_EQ(options.seed, 5u);
  EXPECT_FLOAT_EQ(options.lr, 0.01f);
  EXPECT_FLOAT_EQ(options.clip, 2.5f);
  EXPECT_EQ(options.text, "poem.txt");
  EXPECT_EQ(options.model.dtype, DType::kBFloat16);
  EXPECT_EQ(options.loss_scale, 65536.0f);
  EXPECT_EQ(options.grad_accum, 2);
  EXPECT_TRUE(options.model.checkpointing && options.model.inplace && options.prefetch);
  EXPECT_EQ(options.allocator, AllocatorKind::kAsync);
  EXPECT_EQ(options.max_split_bytes, 64u << 20);
  EXPECT_EQ(options.devices, 2);
  EXPECT_EQ(options.ranks, 3);
  EXPECT_THAT(options.leaks, ElementsAre("history", "eval"));
  EXPECT_EQ(options.leak_after, 4);
  EXPECT_EQ(options.eval_every, 5) << "the leak eval needs evaluations";
  EXPECT_THAT(options.snapshots, ElementsAre(1, 3));
  EXPECT_EQ(options.print_every, 2);
  EXPECT_TRUE(options.empty_cache && options.stats && options.quiet);
}

TEST(OptionsTest, RefusesNonsenseInOneLine) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"--frobnicate"}, "unknown option '--frobnicate'; --help shows the options"},
      {{"text.txt"}, "unknown option 'text.txt'; --help shows the options"},
      {{"--steps"}, "--steps needs a value"},
      {{"--steps", "ten"}, "--steps takes a whole number, not 'ten'"},
      {{"--steps", "5x"}, "--steps takes a whole number, not '5x'"},
      {{"--steps", "99999999999999999999"},
       "--steps takes a whole number, not '99999999999999999999'"},
      {{"--layers", "1001"}, "--layers must be between 1 and 1000, not 1001"},
      {{"--layers", "0"}, "--layers must be between 1 and 1000, not 0"},
      {{"--lr", "fast"}, "--lr takes a number that is not negative, not 'fast'"},
      {{"--lr", "-1"}, "--lr takes a number that is not negative, not '-1'"},
      {{"--lr", "nan"}, "--lr takes a number that is not negative, not 'nan'"},
      {{"--dtype", "fp64"}, "--dtype takes one of bf16, fp32; not 'fp64'"},
      {{"--allocator", "best"}, "--allocator takes one of async, caching, cuda; not 'best'"},
      {{"--leak", "memory"}, "--leak does not know 'memory'; --leak list shows the kinds"},
      {{"--dim", "10"}, "--dim 10 is not divisible by --heads 4"},
      {{"--devices", "3"}, "--batch 8 cannot be shared out evenly to 3 devices x 1 ranks"},
      {{"--max-split", "64MB"}, "--max-split takes a size such as 64MiB, not '64MB'"},
  };
  for (const auto& [arguments, message] : cases) {
    EXPECT_EQ(ErrorOf(arguments), message);
  }
}

TEST(OptionsTest, RefusesWhatEachOptionCannotBe) {
  const char* const whole[] = {"--layers", "--dim",        "--heads",    "--context",
                               "--batch",  "--grad-accum", "--steps",    "--eval-every",
                               "--seed",   "--devices",    "--ranks",    "--print-every",
                               "--rank",   "--leak-after", "--snapshot", "--rank-fd"};
  for (const std::string option : whole) {
    for (const std::string text : {"x", "1.5", "1e3", " 1", "0x10", "+1", "1 "}) {
      EXPECT_EQ(ErrorOf({option, text}), option + " takes a whole number, not '" + text + "'");
    }
    EXPECT_THAT(ErrorOf({option + "=-1"}), testing::MatchesRegex(option + " must be between .*"));
  }
  for (const std::string option : {"--lr", "--clip", "--loss-scale"}) {
    for (const std::string text : {"x", "1x", "-0.5", "inf", "nan", "1e99", "-"}) {
      EXPECT_EQ(ErrorOf({option, text}),
                option + " takes a number that is not negative, not '" + text + "'");
    }
  }
  for (const std::string text :
       {"x", "-1MiB", "0", "0KiB", "1TiB", "1mib", "1e20", "nan", "1 MiB"}) {
    EXPECT_EQ(ErrorOf({"--max-split", text}),
              "--max-split takes a size such as 64MiB, not '" + text + "'");
  }
}

TEST(OptionsTest, LimitsAreInclusive) {
  const std::tuple<const char*, const char*, const char*> limits[] = {
      {"--layers", "1", "1000"},           {"--grad-accum", "1", "10000"},
      {"--steps", "0", "1000000000"},      {"--print-every", "1", "1000000000"},
      {"--eval-every", "0", "1000000000"}, {"--seed", "0", "9223372036854775807"}};
  for (const auto& [option, least, most] : limits) {
    EXPECT_EQ(ErrorOf({option, least}), "accepted") << option;
    EXPECT_EQ(ErrorOf({option, most}), "accepted") << option;
    EXPECT_NE(ErrorOf({option, std::string(most) + "0"}), "accepted") << option;
  }
  EXPECT_EQ(ErrorOf({"--print-every", "0"}),
            "--print-every must be between 1 and 1000000000, not 0");
}

TEST(OptionsTest, EveryOptionThatTakesAValueNeedsOne) {
  for (const std::string option :
       {"--layers", "--lr", "--dtype", "--text", "--leak", "--snapshot", "--max-split"}) {
    EXPECT_EQ(ErrorOf({option}), option + " needs a value");
    EXPECT_EQ(ErrorOf({option + "="}), option + " needs a value");
    EXPECT_EQ(ErrorOf({option, ""}), option + " needs a value");
  }
}

TEST(OptionsTest, ListsHaveNoEmptyParts) {
  EXPECT_EQ(ErrorOf({"--snapshot", "1,,2"}), "--snapshot takes a whole number, not ''");
  EXPECT_EQ(ErrorOf({"--leak", "hook,,eval"}),
            "--leak does not know ''; --leak list shows the kinds");
}

TEST(OptionsTest, TheHelpHasEveryOptionAndNoOther) {
  std::istringstream text(HelpText());
  int options = 0;
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with("  --")) continue;
    const std::string option = line.substr(2, line.find(' ', 2) - 2);
    EXPECT_THAT(ErrorOf({option}), testing::AnyOf("accepted", option + " needs a value")) << line;
    EXPECT_LE(line.size(), 100u);
    ++options;
  }
  EXPECT_EQ(options, 29) << "22 with a value, 7 without";
}

TEST(OptionsTest, HelpWinsOverNonsense) {
  EXPECT_TRUE(ParseOptions({"--dim", "10", "--help"}).help);
  EXPECT_TRUE(ParseOptions({"-h"}).help);
}

TEST(OptionsTest, TheLastOneCounts) {
  const Options options =
      ParseOptions({"--steps", "3", "--steps=4", "--leak", "hook", "--leak=eval"});
  EXPECT_EQ(options.steps, 4);
  EXPECT_THAT(options.leaks, ElementsAre("hook", "eval")) << "repeated options accumulate";
}

TEST(OptionsTest, DTypeDecidesTheLossScaleUnlessGiven) {
  EXPECT_EQ(ParseOptions({"--dtype", "bf16"}).loss_scale, 65536.0f);
  EXPECT_EQ(ParseOptions({"--dtype", "bf16", "--loss-scale", "4"}).loss_scale, 4.0f);
  EXPECT_EQ(ParseOptions({"--loss-scale", "4"}).loss_scale, 4.0f);
}

TEST(OptionsTest, LeakEvalKeepsTheUsersInterval) {
  EXPECT_EQ(ParseOptions({"--leak", "eval", "--eval-every", "2"}).eval_every, 2);
}

TEST(OptionsTest, LeakTableFollowsTheOtherOptions) {
  const auto rate = [](const char* kind, const std::vector<std::string>& extra) {
    std::vector<std::string> arguments = {"--leak", kind};
    arguments.insert(arguments.end(), extra.begin(), extra.end());
    return FindLeak(kind)->bytes_per_step(ParseOptions(arguments));
  };
  EXPECT_EQ(rate("hook", {}), 8.0 * 128 * 4 * 128 * 4);
  EXPECT_EQ(rate("hook", {"--dtype", "bf16"}), rate("hook", {}) / 2);
  EXPECT_EQ(rate("hook", {"--grad-accum", "3"}), rate("hook", {}) * 3);
  EXPECT_EQ(rate("hook", {"--devices", "2"}), rate("hook", {})) << "two halves";
  EXPECT_EQ(rate("hook", {"--ranks", "2"}), rate("hook", {}) / 2) << "of one process";
  EXPECT_EQ(rate("extension", {"--devices", "2"}), 2.0 * kExtensionBytes);
  EXPECT_EQ(rate("error-path", {}), kAuditWorkspaceBytes / 4.0);
  EXPECT_EQ(rate("eval", {"--eval-every", "10"}), rate("eval", {}) / 2);
  EXPECT_EQ(rate("eval", {"--devices", "2"}), rate("eval", {}) / 2) << "the first one evaluates";
  EXPECT_EQ(rate("pinned", {"--grad-accum", "2"}), 2.0 * kPinnedBytes);
  EXPECT_EQ(rate("cycle", {}), 8.0 * 128 * 4);
  EXPECT_EQ(FindLeak("none"), nullptr);
}

TEST(OptionsTest, SizesHaveBinaryUnits) {
  EXPECT_EQ(ParseSize("--x", "123"), 123u);
  EXPECT_EQ(ParseSize("--x", "1.5KiB"), 1536u);
  EXPECT_EQ(ParseSize("--x", "2GiB"), size_t{2} << 30);
  EXPECT_THROW(ParseSize("--x", "0"), UsageError);
  EXPECT_THROW(ParseSize("--x", "MiB"), UsageError);
}

TEST(OptionsTest, LeakTableNamesEveryKind) {
  const std::string table = LeakTable(ParseOptions({"--leak", "list"}));
  EXPECT_GE(LeakKinds().size(), 6u);
  for (const LeakKind& kind : LeakKinds()) {
    EXPECT_THAT(table, HasSubstr(kind.name));
    EXPECT_THAT(table, HasSubstr(kind.function));
    EXPECT_THAT(table, HasSubstr(kind.file));
  }
  // 8 windows x 128 bytes x 256 logits x 4 bytes, and the loss.
  EXPECT_THAT(table, HasSubstr("history         1048580"));
  // One of these each 5 steps: without evaluations, nobody would see what they keep.
  EXPECT_THAT(table, HasSubstr("eval             209715  "));
}

}  // namespace
}  // namespace memprof::demo
