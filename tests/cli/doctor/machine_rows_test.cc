// The checks of the machine and of memprof's own parts, on machines made of files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/cli/cli_test_support.h"
#include "tests/cli/doctor/fake_machine.h"

namespace memprof::cli::doctor::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(DoctorTest, AMachineWithoutFaults) {
  FakeMachine machine;
  const std::vector<Row> rows = machine.Rows({"/bin/cat"});
  cli::testing::ExpectGolden("doctor_good.txt", Text(rows));
  EXPECT_TRUE(CanRecord(rows));
  EXPECT_EQ(machine.preload_, "/opt/memprof/lib/libmemprof.so");
}

TEST(DoctorTest, AMachineWithManyFaults) {
  FakeMachine machine;
  machine->environment["LD_PRELOAD"] = "/usr/lib/libjemalloc.so.2";
  machine->file_limit = 100 << 20;
  machine.free_bytes_ = 64 << 20;
  machine.cat_ = {true, 127, "", "/bin/cat: symbol lookup error: \033[31m\nmore"};
  machine.Elf("/lib/x86_64-linux-gnu/libc.so.6", {.defined = {"GLIBC_2.2.5", "GLIBC_2.12"}});
  machine.Write("/proc/sys/kernel/yama/ptrace_scope", "1\n");
  for (const char* path : {"/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm", "/proc/driver",
                           "/usr/lib/x86_64-linux-gnu", "/usr/local", "/venv", "/opt/memprof/bin"})
    machine.Remove(path);
  machine->program_directory = "/opt/memprof/lib";  // any folder beside the recorder's
  const std::vector<Row> rows = machine.Rows({"no-such-program"});
  cli::testing::ExpectGolden("doctor_bad.txt", Text(rows));
  EXPECT_FALSE(CanRecord(rows));
}

TEST(DoctorTest, TheProcessor) {
  FakeMachine machine;
  machine->page_bytes = 65536;
  EXPECT_EQ(machine.Says("architecture"), "ok: x86-64, pages of 64 KiB, addresses of 48 bits");
  machine.Write("/proc/cpuinfo", "processor : 0\n");
  machine->architecture = "aarch64";
  EXPECT_EQ(machine.Says("architecture"), "ok: aarch64, pages of 64 KiB");
  machine->architecture = "riscv64";
  EXPECT_THAT(machine.Says("architecture"), StartsWith("problem: riscv64"));
}

TEST(DoctorTest, TheCLibrary) {
  FakeMachine machine;
  EXPECT_EQ(machine.Says("C library"), "ok: glibc 2.36 (/lib/x86_64-linux-gnu/libc.so.6)");
  machine.Elf("/opt/memprof/lib/libmemprof.so", {.needed = {"GLIBC_9.9"}});
  EXPECT_THAT(machine.Says("C library"), AllOf(StartsWith("problem: "), HasSubstr("needs 9.9")));
  EXPECT_THAT(machine.Says("trial"), StartsWith("problem: /bin/cat uses glibc 2.36 (/lib/"));
  machine.Remove("/lib64");
  EXPECT_THAT(machine.Says("C library"), StartsWith("note: no glibc at its usual place"));
  machine.Write("/lib/ld-musl-x86_64.so.1", "");
  EXPECT_THAT(machine.Says("C library"), StartsWith("problem: musl (/lib/ld-musl-x86_64.so.1)"));
  FakeMachine arm;
  arm->architecture = "aarch64";
  arm.Elf("/lib/ld-linux-aarch64.so.1", {.machine = EM_AARCH64, .defined = {"GLIBC_2.17"}});
  arm.Elf("/lib64/libc.so.6", {.machine = EM_AARCH64, .defined = {"GLIBC_2.17", "GLIBC_2.26"}});
  EXPECT_EQ(arm.Says("C library"), "ok: glibc 2.26 (/lib64/libc.so.6)");
  EXPECT_THAT(arm.Says("recorder"), HasSubstr("libmemprof.so is for another kind of processor"));
}

TEST(DoctorTest, SharedMemory) {
  FakeMachine machine;
  EXPECT_EQ(machine.Says("shared memory"), "ok: /dev/shm, 8.00 GiB free");
  machine.free_bytes_ = 64 << 20;
  EXPECT_THAT(machine.Says("shared memory"), HasSubstr("--shm-size"));
  machine.free_bytes_ = 1 << 20;
  EXPECT_THAT(machine.Says("shared memory"), HasSubstr("set MEMPROF_SHM"));
  machine.Remove("/dev/shm");
  EXPECT_THAT(machine.Says("shared memory"), StartsWith("note: /dev/shm does not exist"));
  machine->environment["MEMPROF_SHM"] = "/dev";
  machine.free_bytes_ = 1 << 30;
  EXPECT_EQ(machine.Says("shared memory"), "ok: /dev (MEMPROF_SHM), 1.00 GiB free");
  if (geteuid() == 0) return;  // may write anywhere
  chmod(machine->At("/dev").c_str(), 0555);
  EXPECT_THAT(machine.Says("shared memory"),
              StartsWith("note: /dev (MEMPROF_SHM) is not writable"));
  chmod(machine->At("/dev").c_str(), 0755);
}

TEST(DoctorTest, LimitsAndPtrace) {
  FakeMachine machine;
  machine->address_limit = 4ull << 30;
  EXPECT_THAT(machine.Says("limits"), StartsWith("note: address space of at most 4.00 GiB →"));
  machine->file_limit = 1 << 20;
  EXPECT_THAT(machine.Says("limits"),
              AllOf(HasSubstr("1.00 MiB; address space"), HasSubstr("ulimit -f unlimited; CUDA")));
  const std::pair<const char*, const char*> scopes[] = {{"0\n", "ok: "},
                                                        {"1\n", "note: only a parent"},
                                                        {"2\n", "note: only root"},
                                                        {"3\n", "note: nobody"}};
  for (const auto& [scope, said] : scopes) {
    machine.Write("/proc/sys/kernel/yama/ptrace_scope", scope);
    EXPECT_THAT(machine.Says("ptrace"), StartsWith(said));
  }
  machine.Remove("/proc/sys");
  EXPECT_THAT(machine.Says("ptrace"), StartsWith("ok: "));
}

TEST(DoctorTest, TheTrial) {
  FakeMachine machine;
  machine.cat_.err = "ERROR: ld.so: object 'x.so' from LD_PRELOAD cannot be preloaded\nmore\n";
  EXPECT_THAT(machine.Says("trial"), AllOf(StartsWith("note: "), HasSubstr("object 'x.so'"),
                                           ::testing::Not(HasSubstr("more"))));
  machine.cat_.out = "7f00-7f10 r-xp /lib/libc.so.6\n";
  EXPECT_THAT(machine.Says("trial"), StartsWith("problem: the loader did not preload"));
  machine.cat_.status = 139;
  EXPECT_THAT(machine.Says("trial"), HasSubstr("ended with status 139: ERROR: ld.so"));
  machine.cat_.ended = false;
  EXPECT_THAT(machine.Says("trial"), HasSubstr("did not end"));
  machine->environment["LD_PRELOAD"] = "a.so:b.so";
  EXPECT_THAT(machine.Says("preloaded"), StartsWith("note: LD_PRELOAD has a.so:b.so →"));
  EXPECT_EQ(machine.preload_, "/opt/memprof/lib/libmemprof.so:a.so:b.so");
  machine.Write("/etc/ld.so.preload", "\n/usr/lib/libsnoopy.so\n");
  EXPECT_THAT(machine.Says("preloaded"), HasSubstr("; /etc/ld.so.preload has /usr/lib/libsnoopy"));
  machine.Elf("/bin/cat", {});
  EXPECT_THAT(machine.Says("trial"), StartsWith("problem: /bin/cat is linked statically"));
  machine.Remove("/bin/cat");
  EXPECT_THAT(machine.Says("trial"), StartsWith("note: none"));
}

TEST(DoctorTest, ThePartsOfMemprof) {
  FakeMachine machine;
  for (const char* part : {"stand-in CUDA", "PyTorch agent", "viewer"})
    EXPECT_THAT(machine.Says(part), StartsWith("ok: /opt/memprof/"));
  machine.Write("/opt/memprof/lib/libmemprof.so", "no ELF file");
  EXPECT_THAT(machine.Says("recorder"), HasSubstr("is damaged"));
  machine.Remove("/opt/memprof");
  for (const char* part : {"stand-in CUDA", "PyTorch agent", "viewer"})
    EXPECT_THAT(machine.Says(part), StartsWith("note: not installed")) << part;
  EXPECT_THAT(machine.Says("recorder"), StartsWith("problem: the recorder, libmemprof.so, is not"));
  FakeMachine spaced;
  spaced.Elf("/a b/lib/libmemprof.so", {.needed = {"GLIBC_2.17"}});
  spaced->program_directory = "/a b/lib";
  EXPECT_THAT(spaced.Says("recorder"), HasSubstr("a space or a colon: /a b/lib/libmemprof.so"));
}

TEST(DoctorTest, TheProgram) {
  FakeMachine machine;
  machine.Elf("/venv/bin/still", {});
  EXPECT_THAT(machine.Says("program", {"python3", "x.py"}), StartsWith("ok: "));
  EXPECT_THAT(machine.Says("program", {"still"}),
              StartsWith("problem: /venv/bin/still is linked statically"));
  EXPECT_THAT(machine.Says("program", {"nothing"}), StartsWith("problem: nothing is not found"));
}

}  // namespace
}  // namespace memprof::cli::doctor::testing
