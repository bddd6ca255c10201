// Runs the tests of one file, with the SIMCUDA setting of that file.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>

#include "tests/simcuda/configure.h"

namespace memprof::simcuda {
namespace {

std::map<std::string, std::string>& Configurations() {
  static auto& configurations = *new std::map<std::string, std::string>;
  return configurations;
}

class Listener : public testing::EmptyTestEventListener {
 public:
  void OnTestSuiteStart(const testing::TestSuite& suite) override {
    const auto wanted = Configurations().find(suite.GetTestInfo(0)->file());
    const char* text = wanted == Configurations().end() ? nullptr : wanted->second.c_str();
    if (configured_ && text != configured_with_) {
      std::fprintf(stderr, "%s wants another stand-in than the tests before: run it by itself\n",
                   suite.name());
      std::_Exit(1);
    }
    configured_ = true;
    configured_with_ = text;
    if (text != nullptr) setenv("SIMCUDA", text, 1);
  }

 private:
  bool configured_ = false;
  const char* configured_with_ = nullptr;
};

}  // namespace

Configure::Configure(std::string text, const char* file) {
  Configurations()[file] = std::move(text);
}

}  // namespace memprof::simcuda

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new memprof::simcuda::Listener);
  return RUN_ALL_TESTS();
}
