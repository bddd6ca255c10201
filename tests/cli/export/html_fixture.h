// Exported pages, parsed strictly.
#pragma once

#include <gtest/gtest.h>

#include "analysis/testing/log_builder.h"
#include "tests/cli/cli_test_support.h"

namespace memprof::cli::testing {

inline std::string ExportPage(const analysis::testing::LogBuilder& log) {
  const analysis::testing::TempDirectory directory;
  const Result result =
      Memprof({"export", "--to=html", "-o", "-", directory.Write("in.mprof", log.Bytes())}, ".",
              {"FORCE_COLOR=1"});
  EXPECT_EQ(result.status, 0) << result.err;
  return result.out;
}

struct Tag {
  std::string name;
  std::string attributes;
};

// name="value" any number of times; no value contains its quote.
inline bool AreQuoted(std::string_view attributes) {
  for (;;) {
    const std::size_t begin = attributes.find_first_not_of(" \n");
    if (begin == std::string_view::npos || attributes.substr(begin) == "/") return true;
    if (begin == 0) return attributes.empty();
    attributes.remove_prefix(begin);
    const std::size_t equals = attributes.find("=\"");
    if (equals == std::string_view::npos || equals == 0) return false;
    for (const char c : attributes.substr(0, equals)) {
      if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-') return false;
    }
    const std::size_t end = attributes.find('"', equals + 2);
    if (end == std::string_view::npos) return false;
    if (attributes.substr(0, end).find('<') != std::string_view::npos) return false;
    attributes.remove_prefix(end + 1);
    if (attributes == "/") return true;
  }
}

// Reads a page as strictly as an XML reader: every element is closed in order (except those that
// HTML leaves open), and every attribute is quoted. Contents of scripts and styles are skipped.
inline std::vector<Tag> ParseStrictly(const std::string& page) {
  std::vector<Tag> tags;
  std::vector<std::string> open;
  for (std::size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at)) {
    const std::size_t end = page.find('>', at);
    if (end == std::string::npos) {
      ADD_FAILURE() << "a tag is not closed";
      return tags;
    }
    const std::string inside = page.substr(at + 1, end - at - 1);
    at = end + 1;
    if (inside == "!DOCTYPE html") continue;
    if (inside[0] == '/') {
      EXPECT_FALSE(open.empty());
      if (open.empty()) return tags;
      EXPECT_EQ(inside.substr(1), open.back());
      open.pop_back();
      continue;
    }
    const std::size_t name_end = std::min(inside.find_first_of(" \n/"), inside.size());
    Tag tag = {inside.substr(0, name_end), inside.substr(name_end)};
    EXPECT_TRUE(AreQuoted(tag.attributes)) << inside;
    const bool alone = inside.back() == '/' || tag.name == "meta";
    if (!alone) open.push_back(tag.name);
    if (tag.name == "script" || tag.name == "style") at = page.find("</" + tag.name, at);
    tags.push_back(std::move(tag));
  }
  EXPECT_TRUE(open.empty()) << open.back();
  return tags;
}

}  // namespace memprof::cli::testing
