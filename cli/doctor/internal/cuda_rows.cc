// NVIDIA's driver and libraries, as files.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/doctor/internal/libraries.h"
#include "cli/doctor/internal/rows.h"

namespace memprof::cli::doctor {
namespace {

constexpr char kDriver[] = "libcuda.so.1";
constexpr char kUseSim[] = "record on the stand-in: memprof run --sim";
constexpr std::size_t kMostShown = 4;

bool IsVersion(const std::string& text) {
  return absl::StrContains(text, ".") && text.find_first_not_of("0123456789.") == std::string::npos;
}

// "570.86.15", of the kernel's module.
std::string KernelModule(const Machine& machine) {
  const std::string text = machine.Read("/proc/driver/nvidia/version");
  const std::size_t at = text.find("Kernel Module");
  if (at == std::string::npos) return "";
  for (const auto word : absl::StrSplit(text.substr(at, 200), absl::ByAnyChar(" \n")))
    if (IsVersion(std::string(word))) return std::string(word);
  return "";
}

// The same of the library, whose name has it. That of WSL and Tegra is "libcuda.so.1.1".
std::string LibraryVersion(const Machine& machine, const std::string& path) {
  const std::string name = std::filesystem::path(machine.Canonical(path)).filename().string();
  const std::string version = name.substr(std::min(name.size(), sizeof "libcuda.so." - 1));
  return IsVersion(version) && std::atoi(version.c_str()) >= 100 ? version : "";
}

// Where drivers are that the loader does not find by itself.
std::vector<std::string> HiddenDrivers(const Machine& machine) {
  return LibrariesIn(machine,
                     {"/usr/lib/wsl/lib", "/usr/local/nvidia/lib64", "/run/opengl-driver/lib",
                      "/usr/lib/" + machine.triplet() + "/tegra",
                      "/usr/lib/" + machine.triplet() + "/nvidia", "/usr/lib64/nvidia"},
                     kDriver);
}

bool IsDeviceNode(const std::string& name) {
  constexpr absl::string_view kNvidia = "nvidia";
  const bool gpu = absl::StartsWith(name, kNvidia) && name.size() > kNvidia.size() &&
                   absl::ascii_isdigit(static_cast<unsigned char>(name[kNvidia.size()]));
  return gpu || name == "nvidiactl" || name == "nvidia-uvm" || name == "dxg" || name == "nvmap" ||
         absl::StartsWith(name, "nvhost-gpu");
}

std::string Shown(const std::vector<std::string>& paths) {
  const std::size_t count = std::min(paths.size(), kMostShown);
  const std::string text =
      absl::StrJoin(paths.begin(), paths.begin() + static_cast<std::ptrdiff_t>(count), ", ");
  return count == paths.size() ? text : absl::StrCat(text, " and ", paths.size() - count, " more");
}

// Libraries of a name in Python's wheels: nvidia/cuda_runtime/lib, nvidia/cu13/lib.
std::vector<std::string> InWheels(const Machine& machine, const std::vector<std::string>& folders,
                                  const std::string& prefix) {
  std::vector<std::string> places;
  for (const std::string& folder : folders)
    for (const std::string& name : machine.Names(folder + "/nvidia"))
      places.push_back(absl::StrCat(folder, "/nvidia/", name, "/lib"));
  return LibrariesIn(machine, places, prefix);
}

std::vector<std::string> InToolkits(const Machine& machine, const std::string& prefix) {
  std::vector<std::string> places;
  const std::string target = machine.is_arm() ? "sbsa-linux" : "x86_64-linux";
  for (const std::string& folder : ToolkitFolders(machine))
    for (const std::string& below :
         {std::string("lib64"), std::string("extras/CUPTI/lib64"), std::string("lib"),
          std::string("extras/CUPTI/lib"), absl::StrCat("targets/", target, "/lib")})
      places.push_back(absl::StrCat(folder, "/", below));
  return LibrariesIn(machine, places, prefix);
}

}  // namespace

Row DriverRow(const Machine& machine) {
  const std::string subject = "NVIDIA driver", module = KernelModule(machine);
  const std::vector<std::string> found = LibrariesOnPath(machine, kDriver);
  if (found.empty()) {
    const std::vector<std::string> hidden = HiddenDrivers(machine);
    if (!hidden.empty())
      return {subject, State::kNote,
              absl::StrCat(hidden[0], ", which the loader does not find by itself"),
              absl::StrCat("LD_LIBRARY_PATH=",
                           std::filesystem::path(hidden[0]).parent_path().string())};
    if (module.empty()) return {subject, State::kNote, "none: there is no libcuda.so.1", kUseSim};
    return {
        subject, State::kNote, absl::StrCat("kernel module ", module, ", but no ", kDriver),
        "in a container: docker run --gpus all with NVIDIA_DRIVER_CAPABILITIES=compute,utility"};
  }
  const std::string& path = found[0];
  const std::string library = LibraryVersion(machine, path);
  if (absl::StrContains(path, "/stubs/"))
    return {subject, State::kNote, absl::StrCat(path, " is a stub for linking"),
            "take its folder out of LD_LIBRARY_PATH"};
  if (absl::StrContains(path, "/simcuda/"))
    return {subject, State::kOk, absl::StrCat("the stand-in, ", path), ""};
  // A newer library on an older module is usual only where it was installed for that.
  if (!module.empty() && !library.empty() && module != library &&
      !absl::StrContains(machine.Canonical(path), "compat"))
    return {subject, State::kNote,
            absl::StrCat(path, " is of version ", library, ", the kernel module of ", module),
            "CUDA fails until they are equal: reboot, or start the container again"};
  const std::string version = library.empty() ? module : library;
  return {subject, State::kOk, absl::StrCat(version, version.empty() ? "" : ", ", path), ""};
}

Row DevicesRow(const Machine& machine) {
  const std::string subject = "GPU devices";
  std::vector<std::string> nodes, closed;
  for (const std::string& name : machine.Names("/dev"))
    if (IsDeviceNode(name)) nodes.push_back("/dev/" + name);
  for (const std::string& node : nodes)
    if (!machine.Accessible(node, R_OK | W_OK)) closed.push_back(node);
  if (nodes.empty())
    return {subject, State::kNote, "none in /dev",
            "in a container of a machine with GPUs: docker run --gpus all"};
  if (!closed.empty())
    return {subject, State::kNote, absl::StrCat(Shown(closed), ": not readable and writable"),
            "join the group that owns them, or run as a user who may"};
  const auto has = [&nodes](const char* node) {
    return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
  };
  if (has("/dev/nvidiactl") && !has("/dev/nvidia-uvm"))
    return {subject, State::kNote, absl::StrCat(Shown(nodes), ", but no /dev/nvidia-uvm"),
            "CUDA needs it: run nvidia-modprobe -u, or docker run with --gpus all"};
  return {subject, State::kOk, Shown(nodes), ""};
}

Row RuntimesRow(const Machine& machine, const std::vector<std::string>& python_folders) {
  constexpr char kRuntime[] = "libcudart.so.";
  std::vector<std::string> found = LibrariesOnPath(machine, kRuntime);
  AddOthers(machine, InToolkits(machine, kRuntime), &found);
  AddOthers(machine, InWheels(machine, python_folders, kRuntime), &found);
  return {"CUDA runtimes", State::kOk,
          found.empty() ? "none; programs often bring their own" : Shown(found), ""};
}

// The places of cupti_hooks/src/cupti_library.cc; the program's own runtime is not known here.
Row CuptiRow(const Machine& machine, const Installation& installation,
             const std::vector<std::string>& python_folders) {
  constexpr char kCupti[] = "libcupti.so";
  const std::string subject = "CUPTI", named = machine.Variable("MEMPROF_CUPTI_LIBRARY");
  const std::filesystem::path recorder = installation.recorder;
  if (const std::string source = (recorder.parent_path() / "libmemprof_cupti.so").string();
      !recorder.empty() && !machine.Exists(source))
    return {subject, State::kNote, source + " is not installed",
            "memprof run --cupti needs it: install all of memprof"};
  std::vector<std::string> found;
  if (!named.empty() && machine.Exists(named)) found.push_back(named);
  if (named.empty()) {
    found = LibrariesOnPath(machine, kCupti);
    AddOthers(machine, InWheels(machine, python_folders, kCupti), &found);
    AddOthers(machine, InToolkits(machine, kCupti), &found);
  }
  if (found.empty())
    return {subject, State::kNote,
            named.empty() ? "no libcupti" : absl::StrCat(named, " does not exist"),
            "only memprof run --cupti needs it: install CUDA's CUPTI, or set "
            "MEMPROF_CUPTI_LIBRARY"};
  const bool restricted =
      absl::StrContains(machine.Read("/proc/driver/nvidia/params"), "RmProfilingAdminOnly: 1");
  return {subject, State::kOk,
          absl::StrCat(Shown(found), restricted
                                         ? "; the GPU's counters are for administrators only, but "
                                           "memprof does not read them"
                                         : ""),
          ""};
}

}  // namespace memprof::cli::doctor
