// A machine made of files below a temporary folder: x86-64 with one GPU, a toolkit, and PyTorch, on
// which nothing is wrong. Tests then change it.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "cli/doctor/internal/report.h"
#include "tests/cli/run/elf_builder.h"
#include "tests/support/temp_file.h"

namespace memprof::cli::doctor::testing {

using cli::testing::BuildElf;
using cli::testing::ElfSpec;

inline constexpr char kSite[] = "/venv/lib/python3.11/site-packages";

class FakeMachine {
 public:
  FakeMachine() {
    machine_.root = directory_.File("");
    machine_.root.pop_back();  // the slash
    machine_.program_directory = "/opt/memprof/bin";
    machine_.environment = {{"PATH", "/venv/bin:/usr/bin"}};
    machine_.architecture = "x86_64";
    machine_.kernel = "6.1.0";
    machine_.start = [this](const std::vector<std::string>& arguments, const auto& added) {
      if (added.contains("LD_PRELOAD")) preload_ = added.at("LD_PRELOAD");
      return arguments[0] == "/bin/cat" ? cat_ : python_;
    };
    machine_.free_bytes = [this](const std::string&) { return free_bytes_; };
    cat_ = {true, 0, "7f00-7f10 r-xp /opt/memprof/lib/libmemprof.so\n", ""};
    python_ = {true, 0, std::string("3.11.2\n/venv/bin/python3\n\n") + kSite, ""};
    WriteSystem();
    WriteMemprof();
    WriteCuda();
  }

  Machine& operator*() { return machine_; }
  Machine* operator->() { return &machine_; }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = machine_.At(path);
    std::filesystem::create_directories(file.parent_path());
    std::filesystem::remove_all(file);
    directory_.Write(path, text);
    chmod(file.c_str(), 0755);
  }
  void Elf(const std::string& path, const ElfSpec& spec) { Write(path, BuildElf(spec)); }
  // A program for the machine's own loader.
  void Program(const std::string& path) {
    Elf(path, {.interpreter = machine_.At("/lib64/ld-linux-x86-64.so.2")});
  }
  void Link(const std::string& path, const std::string& target) {
    Write(path, "");
    std::filesystem::remove(machine_.At(path));
    std::filesystem::create_symlink(target, machine_.At(path));
  }
  void Remove(const std::string& path) { std::filesystem::remove_all(machine_.At(path)); }

  std::vector<Row> Rows(const std::vector<std::string>& program = {}) {
    return Examine(machine_, "", program);
  }
  // The row of a subject as text: "note: what was found → what to do".
  std::string Says(const std::string& subject, const std::vector<std::string>& program = {}) {
    static constexpr const char* kStates[] = {"ok", "note", "problem"};
    for (const Row& row : Rows(program))
      if (row.subject == subject)
        return std::string(kStates[static_cast<int>(row.state)]) + ": " + row.found +
               (row.remedy.empty() ? "" : " → " + row.remedy);
    return "";
  }

  Started cat_, python_;  // what these programs do
  std::string preload_;   // LD_PRELOAD of the trial
  std::uint64_t free_bytes_ = 8ull << 30;

 private:
  void WriteSystem() {
    Link("/lib64/ld-linux-x86-64.so.2", "../lib/x86_64-linux-gnu/ld-2.36.so");
    Elf("/lib/x86_64-linux-gnu/ld-2.36.so", {.defined = {"GLIBC_2.3"}});
    Elf("/lib/x86_64-linux-gnu/libc.so.6",
        {.defined = {"GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.36"}});
    Program("/bin/cat");
    Program("/venv/bin/python3");
    Write("/proc/cpuinfo", "address sizes\t: 46 bits physical, 48 bits virtual\n");
    Write("/proc/sys/kernel/yama/ptrace_scope", "0\n");
    std::filesystem::create_directories(machine_.At("/dev/shm"));
  }
  void WriteMemprof() {
    Elf("/opt/memprof/lib/libmemprof.so", {.needed = {"GLIBC_2.2.5", "GLIBC_2.17"}});
    for (const char* file :
         {"bin/memprof-viewer", "lib/libmemprof_cupti.so", "lib/memprof/simcuda/libcuda.so.1",
          "lib/memprof/inject/sitecustomize.py"})
      Write(std::string("/opt/memprof/") + file, "");
  }
  void WriteCuda() {
    for (const char* node : {"/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm"}) Write(node, "");
    Write("/proc/driver/nvidia/version",
          "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build\n");
    Link("/usr/lib/x86_64-linux-gnu/libcuda.so.1", "libcuda.so.570.86.15");
    Write("/usr/lib/x86_64-linux-gnu/libcuda.so.570.86.15", "");
    Write("/usr/local/cuda-12.4/targets/x86_64-linux/lib/libcudart.so.12", "");
    Write("/usr/local/cuda-12.4/extras/CUPTI/lib64/libcupti.so.12", "");
    Write(std::string(kSite) + "/nvidia/cuda_runtime/lib/libcudart.so.12", "another");
    Write(std::string(kSite) + "/torch/version.py",
          "from typing import Optional\n__version__ = '2.6.0+cu124'\ndebug = False\n"
          "cuda: Optional[str] = '12.4'\nhip: Optional[str] = None\n");
  }

  analysis::testing::TempDirectory directory_;
  Machine machine_;
};

}  // namespace memprof::cli::doctor::testing
