// The checks of driver, CUDA libraries and PyTorch, on machines made of files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/doctor/internal/libraries.h"
#include "tests/cli/doctor/fake_machine.h"

namespace memprof::cli::doctor::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;

constexpr std::int32_t kX86 = 0x0303;

// A cache of the loader. `arm` marks all entries as such.
std::string Cache(const std::vector<std::pair<std::string, std::string>>& libraries,
                  std::int32_t flags = kX86) {
  std::string header = "glibc-ld.so.cache1.1", entries, strings;
  const auto put = [](std::string* to, std::uint32_t value) {
    to->append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  const std::size_t begin = 48 + 24 * libraries.size();
  for (const auto& [name, path] : libraries) {
    put(&entries, static_cast<std::uint32_t>(flags));
    put(&entries, static_cast<std::uint32_t>(begin + strings.size()));
    strings += name + '\0';
    put(&entries, static_cast<std::uint32_t>(begin + strings.size()));
    strings += path + '\0';
    for (int i = 0; i < 3; ++i) put(&entries, 0);
  }
  put(&header, static_cast<std::uint32_t>(libraries.size()));
  header.resize(48);
  return header + entries + strings;
}

TEST(LoaderCache, IsReadAlsoBehindThatOfAnOlderFormat) {
  const std::string cache = Cache({{"liba.so.1", "/x/liba.so.1"}, {"libb.so", "/y/libb.so"}});
  EXPECT_THAT(ReadLoaderCache(cache, false),
              ElementsAre(Pair("liba.so.1", "/x/liba.so.1"), Pair("libb.so", "/y/libb.so")));
  EXPECT_EQ(ReadLoaderCache("ld.so-1.7.0" + std::string(21, '\0') + cache, false).size(), 2u);
  EXPECT_THAT(ReadLoaderCache(cache, true), IsEmpty()) << "for another processor";
  EXPECT_EQ(ReadLoaderCache(Cache({{"a", "/a"}}, 0x0a03), true).size(), 1u);
  EXPECT_THAT(ReadLoaderCache("", false), IsEmpty());
}

TEST(LoaderCache, DamageIsLeftOut) {
  const std::string cache = Cache({{"liba.so.1", "/x/liba.so.1"}, {"libb.so", "/y/libb.so"}});
  for (std::size_t i = 0; i < cache.size(); ++i) {
    std::string damaged = cache;
    damaged[i] = static_cast<char>(~damaged[i]);
    EXPECT_LE(ReadLoaderCache(damaged, false).size(), 5u);
    EXPECT_LE(ReadLoaderCache(cache.substr(0, i), false).size(), 2u);
  }
}

TEST(DoctorTest, TheDriver) {
  FakeMachine machine;
  const std::string library = "/usr/lib/x86_64-linux-gnu/libcuda.so.1";
  EXPECT_EQ(machine.Says("NVIDIA driver"), "ok: 570.86.15, " + library);
  machine.Write("/proc/driver/nvidia/version",
                "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19\n");
  EXPECT_THAT(machine.Says("NVIDIA driver"),
              StartsWith("note: " + library +
                         " is of version 570.86.15, the kernel module of 535."
                         "104.05"));
  machine.Remove(library);
  EXPECT_THAT(machine.Says("NVIDIA driver"), StartsWith("note: kernel module 535.104.05, but no"));
  machine.Remove("/proc/driver");
  EXPECT_THAT(machine.Says("NVIDIA driver"), AllOf(StartsWith("note: none"), HasSubstr("--sim")));
  machine.Write("/usr/lib/wsl/lib/libcuda.so.1", "");
  EXPECT_THAT(machine.Says("NVIDIA driver"), HasSubstr("LD_LIBRARY_PATH=/usr/lib/wsl/lib"));
  machine.Write("/etc/ld.so.cache", Cache({{"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"}}));
  EXPECT_EQ(machine.Says("NVIDIA driver"), "ok: /usr/lib/wsl/lib/libcuda.so.1");
  machine->environment["LD_LIBRARY_PATH"] = "/none:/opt/memprof/lib/memprof/simcuda";
  EXPECT_THAT(machine.Says("NVIDIA driver"), StartsWith("ok: the stand-in, /opt/memprof"));
  machine.Write("/usr/local/cuda/lib64/stubs/libcuda.so.1", "a stub");
  machine->environment["LD_LIBRARY_PATH"] = "/usr/local/cuda/lib64/stubs";
  EXPECT_THAT(machine.Says("NVIDIA driver"), HasSubstr("is a stub for linking"));
}

TEST(DoctorTest, ADriverThatIsNewerThanTheModuleOnPurpose) {
  FakeMachine machine;
  machine.Write("/usr/local/cuda-13/compat/libcuda.so.580.1.2", "newer");
  machine.Link("/usr/local/cuda-13/compat/libcuda.so.1", "libcuda.so.580.1.2");
  machine->environment["LD_LIBRARY_PATH"] = "/usr/local/cuda-13/compat";
  EXPECT_THAT(machine.Says("NVIDIA driver"), StartsWith("ok: 580.1.2, /usr/local/cuda-13/compat"));
}

TEST(DoctorTest, DeviceNodes) {
  FakeMachine machine;
  EXPECT_EQ(machine.Says("GPU devices"), "ok: /dev/nvidia-uvm, /dev/nvidia0, /dev/nvidiactl");
  for (int i = 1; i < 8; ++i) machine.Write("/dev/nvidia" + std::to_string(i), "");
  EXPECT_THAT(machine.Says("GPU devices"), HasSubstr(" and 6 more"));
  machine.Remove("/dev/nvidia-uvm");
  EXPECT_THAT(machine.Says("GPU devices"), HasSubstr("but no /dev/nvidia-uvm"));
  machine.Remove("/dev");
  EXPECT_THAT(machine.Says("GPU devices"), StartsWith("note: none in /dev"));
  machine.Write("/dev/dxg", "");
  machine.Write("/dev/nvidia-caps", "");
  EXPECT_EQ(machine.Says("GPU devices"), "ok: /dev/dxg");
}

TEST(DoctorTest, RuntimesAndCupti) {
  FakeMachine machine;
  EXPECT_EQ(machine.Says("CUDA runtimes"),
            std::string("ok: /usr/local/cuda-12.4/targets/x86_64-linux/lib/libcudart.so.12, ") +
                kSite + "/nvidia/cuda_runtime/lib/libcudart.so.12");
  EXPECT_EQ(machine.Says("CUPTI"), "ok: /usr/local/cuda-12.4/extras/CUPTI/lib64/libcupti.so.12");
  machine.Write("/proc/driver/nvidia/params", "Mobile: 0\nRmProfilingAdminOnly: 1\n");
  EXPECT_THAT(machine.Says("CUPTI"), AllOf(StartsWith("ok: "), HasSubstr("does not read them")));
  machine.Remove("/usr/local");
  EXPECT_THAT(machine.Says("CUPTI"), StartsWith("note: no libcupti"));
  machine.Write("/my/toolkit/lib64/libcupti.so.13", "");
  machine->environment["CUDA_HOME"] = "/my/toolkit";
  EXPECT_THAT(machine.Says("CUPTI"), StartsWith("ok: /my/toolkit/lib64/libcupti.so.13"));
  machine->environment["MEMPROF_CUPTI_LIBRARY"] = "/none.so";
  EXPECT_THAT(machine.Says("CUPTI"), StartsWith("note: /none.so does not exist"));
  machine.Remove("/opt/memprof/lib/libmemprof_cupti.so");
  EXPECT_THAT(machine.Says("CUPTI"), HasSubstr("/libmemprof_cupti.so is not installed"));
}

TEST(DoctorTest, Python) {
  FakeMachine machine;
  EXPECT_EQ(machine.Says("Python"), "ok: 3.11.2 (/venv/bin/python3)");
  machine.Elf("/venv/bin/python3", {.interpreter = "/lib/ld-musl-x86_64.so.1"});
  EXPECT_THAT(machine.Says("Python"), StartsWith("note: /venv/bin/python3 uses musl"));
  machine.python_ = {true, 1, "", "Fatal Python error\nmore"};
  EXPECT_THAT(machine.Says("Python"),
              StartsWith("note: /venv/bin/python3 failed: Fatal Python er"));
  EXPECT_EQ(machine.Says("PyTorch"), "ok: none that this Python finds");
  machine.python_.ended = false;
  EXPECT_THAT(machine.Says("Python"), HasSubstr("did not end"));
  machine.Remove("/venv");
  EXPECT_THAT(machine.Says("Python"), StartsWith("note: none on PATH"));
  EXPECT_THAT(FindPython(*machine, FindInstallation(*machine), "mine").row.found,
              "mine is no program");
}

TEST(DoctorTest, PyTorch) {
  FakeMachine machine;
  const std::string file = std::string(kSite) + "/torch/version.py";
  EXPECT_EQ(machine.Says("PyTorch"), std::string("ok: 2.6.0+cu124 for CUDA 12.4, in ") + kSite);
  machine.Write(file, "__version__ = '1.8.0'\ndebug = False\ncuda = '10.2'\n");
  EXPECT_THAT(machine.Says("PyTorch"), StartsWith("ok: 1.8.0 for CUDA 10.2"));
  machine.Write(file, "__version__ = \"2.6.0+cpu\"\ncuda: Optional[str] = None\n");
  EXPECT_THAT(machine.Says("PyTorch"), HasSubstr(", built without CUDA"));
  machine.Write(file, "__version__ = '2.6'\ncuda: Optional[str] = None\nhip: X = '6.2'\n");
  EXPECT_THAT(machine.Says("PyTorch"), HasSubstr(", built for ROCm"));
  for (const char* hostile :
       {"", "__version__", "__version__ = ", "__version__ = '", "=", "\n=\n:"})
    machine.Write(file, hostile), machine.Says("PyTorch");
  machine.Write(file, "__version__ = '" + std::string(1 << 20, 'x'));
  EXPECT_LT(machine.Says("PyTorch").size(), 100'000u);
  machine.Remove(file);
  machine.Link(file, "/dev/zero");
  EXPECT_EQ(machine.Says("PyTorch"), "ok: none that this Python finds");
}

}  // namespace
}  // namespace memprof::cli::doctor::testing
