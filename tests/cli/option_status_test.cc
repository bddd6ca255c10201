// Options and their values: what is refused, and with which status.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/cli_test_support.h"
#include "tests/cli/status_fixture.h"

namespace memprof::cli::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// These need more than one log.
const char* const kOtherVerbs[] = {"run",    "doctor", "diff",   "fleet",  "footprint", "holders",
                                   "import", "mcp",    "attach", "detach", "serve",     "view",
                                   "watch"};

TEST(StatusTest, UnknownVerbs) {
  ExpectError(Memprof({}), 2);
  const Result near = Memprof({"leak", "x.mprof"});
  ExpectError(near, 2);
  EXPECT_THAT(near.err, HasSubstr("did you mean 'memprof leaks'?"));
  const Result far = Memprof({"crystal", "x.mprof"});
  ExpectError(far, 2);
  EXPECT_THAT(far.err, HasSubstr("there is no verb 'crystal'"));
  ExpectError(Memprof({"help", "nonsense"}), 2);
}

TEST(StatusTest, WrongOptions) {
  for (const std::string verb : kReadingVerbs) {
    ExpectError(Memprof({verb, "--no-such-option", "x.mprof"}), 2);
    ExpectError(Memprof({verb}), 2);
  }
  const Result near = Memprof({"report", "--jsn", "x.mprof"});
  EXPECT_THAT(near.err, HasSubstr("did you mean '--json'?"));
  ExpectError(Memprof({"report", "--top", "many", "x.mprof"}), 2);
  ExpectError(Memprof({"report", "--top=-1", "x.mprof"}), 2);
  ExpectError(Memprof({"report", "--json=yes", "x.mprof"}), 2);
  ExpectError(Memprof({"leaks", "--fail-on=always", "x.mprof"}), 2);
  ExpectError(Memprof({"dump", "--op=aloc", "x.mprof"}), 2);
  ExpectError(Memprof({"dump", "--address=here", "x.mprof"}), 2);
  ExpectError(Memprof({"dump", "--limit"}), 2);
  ExpectError(Memprof({"fragmentation", "--step=1", "--at-end", "x.mprof"}), 2);
  ExpectError(Memprof({"export", "x.mprof"}), 2);
  ExpectError(Memprof({"export", "--to", "xlsx", "-o", "-", "x.mprof"}), 2);
}

TEST(StatusTest, WrongValuesOfEveryOption) {
  const Logs logs;
  const std::vector<std::string> wrong[] = {
      {"report", "--top="},
      {"report", "--top=1e3"},
      {"report", "--top=99999999999999999999"},
      {"leaks", "--top=-1"},
      {"leaks", "--frames=-1"},
      {"leaks", "--frames=few"},
      {"leaks", "--fail-on"},
      {"leaks", "--fail-on=live_at_exit"},
      {"leaks", "--fail-on=Suspected"},
      {"peak", "--top=-2"},
      {"peak", "--device=gpu0"},
      {"peak", "--device=-1"},
      {"peak", "--step=-1"},
      {"peak", "--step=last"},
      {"watch", "--alert-above=1GiB"},
      {"watch", "--alert=x", "--alert-above=much"},
      {"watch", "--alert=x", "--alert-after=-1"},
      {"watch", "--alert=x", "--interval=0.01"},
      {"watch", "--metrics=tcp:0.0.0.0:9464"},
      {"watch", "--metrics=unix:m", "--metrics-sites=101"},
      {"source", "--at=noon"},
      {"source", "--source-map="},
      {"source", "--device=-1"},
      {"source", "--top=-1"},
      {"steps", "--top=-1"},
      {"steps", "--source=guess"},
      {"categories", "--top=-1"},
      {"categories", "--device=-1"},
      {"categories", "--at=now"},
      {"categories", "--at=step="},
      {"categories", "--at=step=-2"},
      {"categories", "--at=step=1x"},
      {"fragmentation", "--device=-1"},
      {"fragmentation", "--device=0x0"},
      {"fragmentation", "--step=-1"},
      {"fragmentation", "--top=-1"},
      {"fragmentation", "--at-end=yes"},
      {"dump", "--layer=blocks"},
      {"dump", "--limit=-1"},
      {"dump", "--limit=1 "},
      {"dump", "--from-step=two"},
      {"dump", "--from-step=3", "--to-step=2"},
      {"dump", "--address=0x"},
      {"dump", "--address=0xfg"},
      {"dump", "--address=0x10000000000000000"},
      {"dump", "--symbols=all"},
      {"export", "--to=parquet", "-o", "-"},
      {"export", "--table=allocs", "-o", "-"},
      {"export", "--force=1", "-o", "-"},
      {"export", "-x", "-o", "-"},
      {"verify", "--json=1"},
      {"top", "--interval=0"},
      {"top", "--interval=soon"},
      {"top", "--sort=size"},
  };
  for (std::vector<std::string> arguments : wrong) {
    SCOPED_TRACE(arguments[0] + " " + arguments[1]);
    if (arguments.back() != "--fail-on") arguments.push_back("train.mprof");
    const Result result = Memprof(arguments, logs.path());
    ExpectError(result, 2);
    EXPECT_THAT(result.err, HasSubstr("(see 'memprof " + arguments[0] + " --help')"));
  }
}

TEST(StatusTest, HelpOfEveryVerbGoesToStandardOutput) {
  std::vector<std::string> verbs(std::begin(kReadingVerbs), std::end(kReadingVerbs));
  verbs.insert(verbs.end(), std::begin(kOtherVerbs), std::end(kOtherVerbs));
  const Result all = Memprof({"help"});
  for (const std::string& verb : verbs) {
    SCOPED_TRACE(verb);
    const Result help = Memprof({verb, "--help"}), same = Memprof({"help", verb});
    EXPECT_EQ(help.status, 0);
    EXPECT_EQ(help.err, "");
    EXPECT_THAT(help.out, StartsWith("Usage: memprof " + verb));
    EXPECT_THAT(help.out, HasSubstr("Examples:"));
    EXPECT_EQ(help.out, same.out);
    EXPECT_EQ(help.out, Memprof({verb, "-h"}).out);
    EXPECT_THAT(all.out, HasSubstr("\n  " + verb));
  }
  EXPECT_EQ(all.out, Memprof({"--help"}).out);
}

}  // namespace
}  // namespace memprof::cli::testing
