// A log server and a mirror, with a line between them that can be cut.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <limits>
#include <random>

#include "analysis/load/load.h"
#include "analysis/remote/mirror.h"
#include "analysis/remote/server.h"
#include "analysis/symbols/symbols.h"
#include "tests/support/load_log.h"
#include "tests/support/read_file.h"

namespace memprof::analysis::testing {

inline constexpr std::uint64_t kNoCut = std::numeric_limits<std::uint64_t>::max();

inline std::string Content(const std::string& path) { return memprof::testing::ReadFile(path); }

// The mirror's end of connections, which lets the first bytes of each through.
class Line {
 public:
  explicit Line(const std::string& copy)
      : mirror(copy, names, [this] { return room; }), random_(7) {}

  // A new connection to the log's machine.
  void Connect(const std::string& log, std::uint64_t bytes = kNoCut) {
    left_ = bytes;
    status = absl::OkStatus();
    mirror.Begin();
    const auto position = ParsePosition(PositionText(mirror.Position()));
    ASSERT_TRUE(position.ok());
    Pass(std::string("Welcome!\n") + kServeGreeting + "9.9\n");
    server = std::make_unique<LogServer>(
        log, *position, [this](const std::string& frames) { return Pass(frames); });
  }
  // Whether all that is new arrived.
  bool Update() {
    const absl::Status served = server->Update();
    EXPECT_TRUE(served.ok() || absl::IsCancelled(served)) << served;
    EXPECT_TRUE(status.ok()) << status;
    return served.ok() && status.ok();
  }
  bool Pass(const std::string& bytes) {
    std::string_view rest =
        std::string_view(bytes).substr(0, std::min<std::uint64_t>(left_, bytes.size()));
    const bool whole = rest.size() == bytes.size();
    left_ -= rest.size();
    passed += rest.size();
    while (!rest.empty() && status.ok()) {
      const std::size_t piece = std::min<std::size_t>(rest.size(), 1 + random_() % 9000);
      status = mirror.Take(rest.substr(0, piece));
      rest.remove_prefix(piece);
    }
    return whole && status.ok();
  }

  std::shared_ptr<const Session> Load() {
    elsewhere_ = {.names = names, .growing = mirror.growing()};
    LoadOptions options;
    options.find_steps = false;
    options.elsewhere = [this](const std::string&) { return &elsewhere_; };
    const auto session = LoadLogs({mirror.file()}, options);
    EXPECT_TRUE(session.ok()) << session.status();
    return session.ok() ? *session : nullptr;
  }

  const std::shared_ptr<NamesElsewhere> names = std::make_shared<NamesElsewhere>();
  std::uint64_t room = 1 << 30, passed = 0;
  absl::Status status;
  LogMirror mirror;
  std::unique_ptr<LogServer> server;

 private:
  std::uint64_t left_ = kNoCut;
  std::mt19937 random_;
  Elsewhere elsewhere_;
};

// Events, stacks with their names, and what is odd.
inline void ExpectSameSession(const std::shared_ptr<const Session>& some,
                              const std::shared_ptr<const Session>& other) {
  ASSERT_TRUE(some != nullptr && other != nullptr);
  EXPECT_EQ(some->run().complete, other->run().complete);
  EXPECT_EQ(some->run().growing, other->run().growing);
  EXPECT_EQ(some->run().end_time, other->run().end_time);
  ASSERT_EQ(some->events().size(), other->events().size());
  for (std::size_t i = 0; i < some->events().size(); ++i) {
    ASSERT_EQ(some->events().time(i), other->events().time(i));
    ASSERT_EQ(some->events().address(i), other->events().address(i));
    ASSERT_EQ(some->events().stack(i), other->events().stack(i));
  }
  EXPECT_EQ(some->allocations().size(), other->allocations().size());
  ASSERT_EQ(some->anomalies().size(), other->anomalies().size());
  for (std::size_t i = 0; i < some->anomalies().size(); ++i)
    EXPECT_EQ(some->anomalies()[i].count, other->anomalies()[i].count);
  Symbols of_some(some), of_other(other);
  ASSERT_EQ(some->frame_count(), other->frame_count());
  for (std::uint32_t i = 0; i < some->frame_count(); ++i) {
    const auto& frames = of_some.Resolve(FrameId(i));
    const auto& others = of_other.Resolve(FrameId(i));
    ASSERT_EQ(frames.size(), others.size());
    for (std::size_t k = 0; k < frames.size(); ++k) {
      EXPECT_EQ(frames[k].function, others[k].function);
      EXPECT_EQ(frames[k].file, others[k].file);
      EXPECT_EQ(frames[k].line, others[k].line);
      EXPECT_EQ(frames[k].module, others[k].module);
      EXPECT_EQ(frames[k].inlined, others[k].inlined);
      EXPECT_EQ(frames[k].symbolised, others[k].symbolised);
    }
  }
}

}  // namespace memprof::analysis::testing
