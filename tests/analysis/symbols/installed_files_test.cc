// Packages that are installed in any folder.
#include "analysis/symbols/internal/installed_files.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>

#include "tests/analysis/symbols/site_choice_fixture.h"
#include "tests/support/temp_file.h"

namespace memprof::analysis {
namespace {

using testing::SitesOf;
using testing::TempDirectory;

class InstalledFilesTest : public ::testing::Test {
 protected:
  InstalledFilesTest() {
    std::filesystem::create_directory(directory_.File("fusedops-1.0.dist-info"));
    directory_.Write("fusedops-1.0.dist-info/RECORD",
                     "../../bin/fuse,sha256=a,1\n"
                     "fusedops-1.0.dist-info/METADATA,sha256=b,2\n"
                     "fusedops/__init__.py,sha256=c,3\n"
                     "six.py,sha256=d,4\n");
  }
  std::string PackageOf(const std::string& file) {
    const std::string path = directory_.File(file);
    const std::size_t at = files_.PackageAt(path);
    return at == 0 ? "" : path.substr(at);
  }
  TempDirectory directory_;
  InstalledFiles files_;
};

TEST_F(InstalledFilesTest, WhatAnInstallerListsIsAPackage) {
  EXPECT_EQ(PackageOf("fusedops/ops/matmul.py"), "fusedops/ops/matmul.py");
  EXPECT_EQ(PackageOf("six.py"), "six.py");
}

TEST_F(InstalledFilesTest, WhatLiesBesideItIsTheUsers) {
  for (const char* file : {"train.py", "mine/net.py", "fusedops.py", "bin/fuse"})
    EXPECT_EQ(PackageOf(file), "") << file;
  EXPECT_EQ(files_.PackageAt("fusedops/ops.py"), 0u) << "of no known folder";
  EXPECT_EQ(files_.PackageAt("<string>"), 0u);
  EXPECT_EQ(files_.PackageAt("/nowhere/at/all/fusedops/ops.py"), 0u);
}

TEST_F(InstalledFilesTest, AListOfAnySizeIsNotRead) {
  std::filesystem::create_directory(directory_.File("huge-1.dist-info"));
  directory_.Write("huge-1.dist-info/RECORD", "huge/__init__.py,sha256=a,1\n");
  std::filesystem::resize_file(directory_.File("huge-1.dist-info/RECORD"), std::uintmax_t{1} << 40);
  EXPECT_EQ(PackageOf("huge/ops.py"), "");
  EXPECT_EQ(PackageOf("six.py"), "six.py");
}

TEST_F(InstalledFilesTest, TheUsersLineComesBeforeThatOfSuchAPackage) {
  const std::string folder = directory_.File("");
  EXPECT_EQ(SitesOf({{"main (" + folder + "train.py:5)", "f (" + folder + "fusedops/ops.py:3)"}}),
            (std::vector<std::string>{"main (train.py:5), in f (fusedops/ops.py:3)"}));
}

TEST_F(InstalledFilesTest, AFrameworkIsOneInAnyFolder) {
  std::filesystem::create_directory(directory_.File("torch-2.dist-info"));
  directory_.Write("torch-2.dist-info/RECORD", "torch/__init__.py,sha256=a,1\n");
  const std::string folder = directory_.File("");
  EXPECT_EQ(SitesOf({{"main (" + folder + "train.py:5)", "f (" + folder + "torch/optim/a.py:3)"}}),
            std::vector<std::string>{"main (train.py:5)"});
}

}  // namespace
}  // namespace memprof::analysis
