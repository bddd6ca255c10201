// An exported pprof profile, read back.
#pragma once

#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/cli/formats/profile.pb.h"
#include "tests/support/random_log.h"

namespace memprof::cli::testing {

namespace pprof = formats::pprof;

using Values = std::vector<std::int64_t>;

class Profile {
 public:
  explicit Profile(const std::string& packed) {
    google::protobuf::io::ArrayInputStream in(packed.data(), static_cast<int>(packed.size()));
    google::protobuf::io::GzipInputStream unpacked(&in,
                                                   google::protobuf::io::GzipInputStream::GZIP);
    EXPECT_TRUE(profile_.ParseFromZeroCopyStream(&unpacked));
    for (const pprof::Location& location : profile_.location()) {
      EXPECT_NE(location.id(), 0u);
      EXPECT_TRUE(locations_.emplace(location.id(), &location).second);
    }
    for (const pprof::Function& function : profile_.function()) {
      EXPECT_NE(function.id(), 0u);
      EXPECT_TRUE(functions_.emplace(function.id(), &function).second);
    }
  }
  const pprof::Profile& raw() const { return profile_; }
  std::string String(std::int64_t index) const {
    EXPECT_GE(index, 0);
    EXPECT_LT(index, profile_.string_table_size());
    return profile_.string_table(static_cast<int>(index));
  }
  // "function file:line", innermost first; unknown ids fail the test.
  std::vector<std::string> Stack(const pprof::Sample& sample) const {
    std::vector<std::string> stack;
    for (const std::uint64_t id : sample.location_id()) {
      for (const pprof::Line& line : locations_.at(id)->line()) {
        const pprof::Function& function = *functions_.at(line.function_id());
        stack.push_back(String(function.name()) + " " + String(function.filename()) + ":" +
                        std::to_string(line.line()));
      }
    }
    return stack;
  }
  std::map<std::string, std::string> Labels(const pprof::Sample& sample) const {
    std::map<std::string, std::string> labels;
    for (const pprof::Label& label : sample.label()) {
      EXPECT_TRUE(labels.emplace(String(label.key()), String(label.str())).second);
    }
    return labels;
  }
  // Only the samples with this label.
  Values Sum(const std::string& key = "", const std::string& value = "") const {
    Values sum(6);
    for (const pprof::Sample& sample : profile_.sample()) {
      auto labels = Labels(sample);
      if (!key.empty() && labels[key] != value) continue;
      EXPECT_EQ(sample.value_size(), 6);
      for (int i = 0; i < 6; ++i) sum[i] += sample.value(i);
    }
    return sum;
  }

 private:
  pprof::Profile profile_;
  std::map<std::uint64_t, const pprof::Location*> locations_;
  std::map<std::uint64_t, const pprof::Function*> functions_;
};

}  // namespace memprof::cli::testing
