// A log as links are understood in it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "viewer/models/link_target.h"
#include "viewer/models/load_log.h"

namespace memprof::viewer::testing {

inline LinkSession LoadForLinks(const std::string& path) {
  auto session = LoadLogs({path}, [](double) {}, {});
  EXPECT_TRUE(session.ok()) << session.status();
  LinkSession in;
  in.session = *session;
  in.symbols = std::make_shared<analysis::Symbols>(*session);
  in.bounds = {in.session->run().start_time, in.session->events().last_time()};
  return in;
}

}  // namespace memprof::viewer::testing
