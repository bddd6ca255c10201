// memprof holders: a program that answers, and programs that answer wrongly. The program is this
// test: it has the socket of its own process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "cli/holders/internal/output.h"
#include "cli/holders/internal/program.h"
#include "tests/cli/cli_test_support.h"

namespace memprof::cli::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kAnswer[] =
    R"json({"objects": 360000, "pause_ns": 140000000, "garbage_bytes": 1048576,
  "without_holder": {"bytes": 4096, "blocks": 3}, "other": [{"path": "no holder"}], "holders": [
  {"device": 0, "address": 4096, "bytes": 65536, "path": "list `a.b` (global `a`, t.py:3)",
   "root": "global `a`, t.py:3", "chain": ["A `a`", "list `a.b`"], "kind": "python"},
  {"device": 0, "address": 8192, "bytes": 65536, "path": "list `a.b` (global `a`, t.py:3)",
   "root": "global `a`, t.py:3", "chain": ["A `a`", "list `a.b`"], "kind": "python"},
  {"device": 1, "address": 4096, "bytes": 1000000, "kind": "python",
   "path": "`model.weight` (global `model`, t.py:9)", "root": "global `model`, t.py:9", "chain": []},
  {"device": 1, "address": 4096, "bytes": 1000000, "kind": "autograd",
   "path": "saved by ExpBackward0 for the graph of `x` (local `x` of train(), at t.py:104)",
   "root": "local `x` of train(), at t.py:104", "chain": []}]})json";

// Listens at the socket of process `pid`, and treats one connection.
class AnsweringSocket {
 public:
  AnsweringSocket(pid_t pid, std::function<void(int)> treat) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    const std::string text = "memprof-holders-" + std::to_string(pid);
    text.copy(name.sun_path + 1, text.size());
    fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
    if (bind(fd_, reinterpret_cast<const sockaddr*>(&name), size) != 0 || listen(fd_, 4) != 0)
      ADD_FAILURE() << "no socket";
    thread_ = std::thread([this, treat = std::move(treat)] {
      const int connection = accept(fd_, nullptr, nullptr);
      if (connection < 0) return;
      treat(connection);
      close(connection);
    });
  }
  ~AnsweringSocket() {
    shutdown(fd_, SHUT_RDWR);
    thread_.join();
    close(fd_);
  }

 private:
  int fd_;
  std::thread thread_;
};

void Send(int connection, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = send(connection, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
}

Result Ask(std::function<void(int)> treat, std::vector<std::string> options = {}) {
  const AnsweringSocket listener(getpid(), std::move(treat));
  options.insert(options.begin(), "holders");
  options.push_back(std::to_string(getpid()));
  return Memprof(options);
}

TEST(HoldersTest, AnAnswerIsJoinedByHolder) {
  absl::StatusOr<Held> held = ParseAnswer(kAnswer);
  ASSERT_TRUE(held.ok()) << held.status();
  held->how = "Process 4711 answered.";
  held->limits = {"What native code holds has no name."};
  ExpectGolden("holders.txt", HeldText(*held, 0));
  EXPECT_THAT(HeldText(*held, 1), HasSubstr("  … and 2 more (--top=0 for all)\n"));
  EXPECT_EQ(HeldJson(*held, 4711, 1)["holders"].size(), 1u);
  EXPECT_EQ(HeldJson(*held, 4711, 0)["holders"].size(), 3u);
}

TEST(HoldersTest, TheProgramIsAsked) {
  const Result result = Ask([](int connection) { Send(connection, kAnswer); }, {"--json"});
  EXPECT_EQ(result.err, "");
  ASSERT_EQ(result.status, 0);
  const auto json = nlohmann::ordered_json::parse(result.out);
  EXPECT_EQ(json["schema"], "memprof.holders/1");
  EXPECT_EQ(json["pid"], getpid());
  EXPECT_EQ(json["by"], "program");
  EXPECT_EQ(json["objects"], 360000);
  EXPECT_EQ(json["pause_ns"], 140000000);
  EXPECT_EQ(json["garbage_bytes"], 1048576);
  EXPECT_EQ(json["devices"].dump(),
            R"json([{"device":0,"bytes":131072},{"device":1,"bytes":1000000}])json");
  ASSERT_EQ(json["holders"].size(), 3u);
  EXPECT_EQ(json["holders"][2].dump(), R"json({"path":"list `a.b` (global `a`, t.py:3)",)json"
                                       R"json("root":"global `a`, t.py:3",)json"
                                       R"json("chain":["A `a`","list `a.b`"],"kind":"python",)json"
                                       R"json("bytes":131072,"blocks":2})json");
  EXPECT_EQ(json["limits"].size(), 1u);
  EXPECT_EQ(json["without_holder"].dump(), R"json({"bytes":4096,"blocks":3})json");
}

TEST(HoldersTest, ARestThatIsNotKnownIsToldAsThat) {
  const absl::StatusOr<Held> held = ParseAnswer(R"json({"holders": []})json");
  ASSERT_TRUE(held.ok()) << held.status();
  EXPECT_THAT(HeldText(*held, 0), HasSubstr("How much memory has no holder is not known.\n"));
  EXPECT_FALSE(HeldJson(*held, 1, 0).contains("without_holder"));
}

// Then the memory is read; that of this test, which runs no Python.
TEST(HoldersTest, WrongAnswersAreToldInOneLine) {
  const std::string in_vain =
      ", and its memory does not help: process " + std::to_string(getpid()) + " runs no Python\n";
  const auto expect = [&](const Result& result, const std::string& why) {
    EXPECT_EQ(result.status, 1);
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.err, "memprof: process " + std::to_string(getpid()) + " " + why + in_vain);
  };
  const std::string no_list = "answered with something that is no list of holders";
  for (const std::string text :
       {"", "{", "[]", "null", "{\"holders\": 3}", "{\"objects\": 1}", "\xff\xfe"})
    expect(Ask([&](int connection) { Send(connection, text); }), no_list);
  expect(Ask([](int connection) { Send(connection, std::string(1 << 22, '[')); }), no_list);
  const auto wait_for_end = [](int connection) {
    char byte;
    EXPECT_EQ(read(connection, &byte, 1), 0);
  };
  expect(Ask(wait_for_end, {"--timeout=1"}), "did not answer within 1 s");
  expect(Ask([](int connection) {
           const std::string some(1 << 20, ' ');
           for (int i = 0; i < 258; ++i) Send(connection, some);
         }),
         "answered with more than 256 MiB");
}

TEST(HoldersTest, WhatAProgramLeftOutIsSaid) {
  const auto held =
      ParseAnswer(R"json({"holders": [], "limits": ["Gradients are left out.", 7]})json");
  ASSERT_TRUE(held.ok());
  EXPECT_EQ(held->limits, (std::vector<std::string>{"Gradients are left out.", ""}));
  EXPECT_THAT(HeldText(*held, 0), HasSubstr("- Gradients are left out.\n"));
}

TEST(HoldersTest, AProgramThatCouldNotLookIsRead) {
  const auto held = ParseAnswer(R"json({"error": "ValueError: x"})json");
  EXPECT_EQ(held.status().message(), "failed to look: ValueError: x");
}

TEST(HoldersTest, ValuesOfWrongTypesAreLeftOut) {
  const absl::StatusOr<Held> held = ParseAnswer(R"({"objects": "many", "pause_ns": -1, "holders": [
    1, null, [[[]]], {}, {"path": 3, "bytes": 1}, {"path": "p", "bytes": 1e300, "device": -1, "chain": [1, "c"]},
    {"path": "q", "bytes": 18446744073709551615, "address": 1}, {"path": "q", "bytes": 18446744073709551615, "address": 2},
    {"path": "deep", "chain": {"a": [[[[[[[[1]]]]]]]]}}]})");
  ASSERT_TRUE(held.ok()) << held.status();
  EXPECT_EQ(held->objects, 0u);
  ASSERT_EQ(held->rows.size(), 3u);
  EXPECT_EQ(held->rows[0].path, "q");
  EXPECT_EQ(held->rows[0].bytes, ~std::uint64_t{0});
  EXPECT_EQ(held->rows[0].blocks, 2u);
  EXPECT_EQ(held->rows[2].chain, (std::vector<std::string>{"", "c"}));
}

TEST(HoldersTest, AnotherProcessWithTheNameIsNotBelieved) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const AnsweringSocket listener(getppid(), [](int connection) { Send(connection, kAnswer); });
    if (write(ready[1], "x", 1) != 1) _exit(1);
    pause();
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  const Result result = Memprof({"holders", std::to_string(getpid())});
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("does not answer itself: another process has its socket"));
}

TEST(HoldersTest, OneLineForWhatCannotBeRead) {
  const Result none = Memprof({"holders", "4194304"});  // the largest number there is, and one more
  EXPECT_EQ(none.status, 1);
  EXPECT_EQ(none.err, "memprof: there is no process 4194304\n");
  const Result no_python = Memprof({"holders", "--memory", std::to_string(getpid())});
  EXPECT_EQ(no_python.status, 1);
  EXPECT_EQ(no_python.err, "memprof: process " + std::to_string(getpid()) + " runs no Python\n");
}

TEST(HoldersTest, WrongUsage) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"holders"},
                                             {"holders", "1", "2"},
                                             {"holders", "0"},
                                             {"holders", "-1"},
                                             {"holders", "me"},
                                             {"holders", "99999999999"},
                                             {"holders", "--top=-1", "1"},
                                             {"holders", "--timeout=-1", "1"},
                                             {"holders", "--timeout=soon", "1"},
                                             {"holders", "--jsn", "1"}}) {
    const Result result = Memprof(arguments);
    EXPECT_EQ(result.status, 2) << ::testing::PrintToString(arguments);
    EXPECT_THAT(result.err, StartsWith("memprof: holders: "));
  }
}

}  // namespace
}  // namespace memprof::cli::testing
