// The release of a PyTorch, from files that a package may have.
#include "libmemprof/src/torch/release.h"

#include <gtest/gtest.h>
#include <limits.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temp_file.h"

namespace memprof::recorder {
namespace {

class TorchReleaseTest : public ::testing::Test {
 protected:
  TorchReleaseTest() { std::filesystem::create_directories(folder_.File("torch/lib")); }
  // "" if nothing was read.
  std::string Release(std::size_t bytes = 64) {
    std::string release(bytes, 'x');
    const std::string library = folder_.File("torch/lib/libc10_cuda.so");
    if (!ReadTorchRelease(library.c_str(), release.data(), bytes)) return "";
    return release.c_str();
  }
  std::string Of(const std::string& text, std::size_t bytes = 64) {
    std::ofstream(folder_.File("torch/version.py")) << text;
    return Release(bytes);
  }
  analysis::testing::TempDirectory folder_;
};

TEST_F(TorchReleaseTest, IsWhatThePackageNamesItself) {
  EXPECT_EQ(Release(), "") << "no file";
  EXPECT_EQ(Of("from typing import Optional\n\n__all__ = ['__version__', 'debug']\n"
               "__version__ = '2.15.0+cu132'\ndebug = False\n"),
            "2.15.0+cu132");
  EXPECT_EQ(Of("__version__ = '2.1.0'"), "2.1.0") << "the first line";
}

TEST_F(TorchReleaseTest, OtherTextsHaveNone) {
  for (const char* text : {"", "x__version__ = '2.1.0'", "__version__ = ''", "__version__ = '2.1",
                           "__version__ = '2\n.1'", "__version__ = \"2.1\""})
    EXPECT_EQ(Of(text), "") << text;
  EXPECT_EQ(Of("__version__ = '" + std::string(4000, '1') + "'"), "");
  EXPECT_EQ(Of("__version__ = '2.15'", 4), "") << "no space";
  EXPECT_EQ(Of("__version__ = '2.15'", 5), "2.15");
}

TEST_F(TorchReleaseTest, PathsWithoutTwoFoldersHaveNone) {
  char release[64];
  for (const char* path : {"", "libc10_cuda.so", "/libc10_cuda.so", "lib/libc10_cuda.so"})
    EXPECT_FALSE(ReadTorchRelease(path, release, sizeof release)) << path;
  const std::string deep = "/" + std::string(PATH_MAX - 14, 'a') + "/lib/x.so";
  EXPECT_FALSE(ReadTorchRelease(deep.c_str(), release, sizeof release));
}

TEST_F(TorchReleaseTest, APipeDoesNotBlock) {
  ASSERT_EQ(mkfifo(folder_.File("torch/version.py").c_str(), 0600), 0);
  EXPECT_EQ(Release(), "");
}

}  // namespace
}  // namespace memprof::recorder
