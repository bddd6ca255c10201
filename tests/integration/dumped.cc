// Runs the guest and the commands, and converts both outputs to the same form.
#include "tests/integration/dumped.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "analysis/load/load.h"
#include "analysis/store/session.h"

namespace memprof::testing {
namespace {

using Json = nlohmann::json;

// The memory of a context on the stand-in.
constexpr std::uint64_t kContextBytes = std::uint64_t{256} << 20;

constexpr std::uint64_t kPageBytes = 2 << 20;

// Memory that a guest left allocated on a device, by layer, for layers that occupy it.
std::map<std::string, std::uint64_t> LiveBytes(const std::string& guest_said, int device) {
  static const std::set<std::string> kOccupying = {"linear",         "pitched", "array", "managed",
                                                   "stream-ordered", "vmm",     "graph"};
  std::map<std::string, std::uint64_t> live;
  const auto occupies = [&](const Call& call) {
    return call.device == device && kOccupying.contains(call.layer);
  };
  for (const Call& call : ExpectedCalls(guest_said)) {
    if (!occupies(call)) continue;
    if (call.op == "alloc") live[call.layer] += call.bytes;
    if (call.op == "free") live[call.layer] -= call.bytes;
  }
  for (const Call& end : ExpectedEnds(guest_said))
    if (occupies(end)) live[end.layer] -= end.bytes;
  std::erase_if(live, [](const auto& entry) { return entry.second == 0; });
  return live;
}

std::uint64_t HexNumber(const std::string& text) { return std::stoull(text, nullptr, 16); }

std::string MemprofText(const std::vector<std::string>& arguments) {
  const TempDirectory directory;
  GuestOptions options{
      .preload = false, .standin = false, .output = "", .directory = directory.path()};
  options.arguments = arguments;
  const GuestResult result = RunProgram(BuildPath("bin/memprof"), options);
  EXPECT_EQ(result.status, 0) << result.err;
  return result.out;
}

Call ToCall(const Json& event, std::string* function) {
  Call call;
  call.op = event.at("op");
  call.layer = event.at("layer");
  call.device = event.at("device");
  call.address = HexNumber(event.at("address"));
  call.bytes = event.at("bytes");
  call.api = event.value("api", "-");
  for (const Json& frame : event.at("stack")) {
    const std::string file = frame.at("file");
    if (file.find("/integration/guests/") == std::string::npos &&
        file.find("tests/families/") == std::string::npos)
      continue;
    call.line = frame.at("line");
    *function = frame.at("function");
    break;
  }
  return call;
}

// "WORD op layer device address bytes"; false if the line is of another kind.
bool ReadFirst(std::istream& line, const std::string& word, Call* call) {
  std::string first;
  return line >> first && first == word &&
         line >> call->op >> call->layer >> call->device >> std::hex >> call->address >> std::dec >>
             call->bytes;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Call& call) {
  return out << call.op << " " << call.layer << " device " << call.device << " 0x" << std::hex
             << call.address << std::dec << " " << call.bytes << " bytes by " << call.api
             << " line " << call.line;
}

std::vector<Call> ExpectedCalls(const std::string& text) {
  std::vector<Call> calls;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    Call call;
    if (ReadFirst(words, "call", &call) && words >> call.api >> call.line) calls.push_back(call);
  }
  return calls;
}

std::vector<Call> ExpectedEnds(const std::string& text) {
  std::vector<Call> ends;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    Call end;
    if (ReadFirst(words, "end", &end)) ends.push_back(end);
  }
  return ends;
}

std::vector<Call> RecordedEnds(const std::string& log) {
  const auto session = analysis::LoadLogs({log}, {.find_steps = false});
  EXPECT_TRUE(session.ok()) << session.status();
  std::vector<Call> ends;
  if (!session.ok()) return ends;
  for (const analysis::Allocation& one : (*session)->allocations()) {
    Call end;
    if (one.end_reason == analysis::EndReason::kContextDestroyed)
      end.op = "context";
    else if (one.end_reason == analysis::EndReason::kDeviceReset)
      end.op = "reset";
    else
      continue;
    end.layer = analysis::LayerName(one.layer);
    end.device = one.device;
    end.address = one.address;
    end.bytes = one.bytes;
    ends.push_back(end);
  }
  return ends;
}

Recording::Recording(const std::string& guest, std::vector<std::string> arguments,
                     std::map<std::string, std::string> environment) {
  GuestOptions options{.environment = std::move(environment), .directory = directory_.path()};
  options.arguments = std::move(arguments);
  guest_ = RunGuest(guest, options);
  EXPECT_EQ(guest_.status, 0) << guest_.err;
  EXPECT_EQ(guest_.err, "");
}

Json MemprofJson(const std::vector<std::string>& arguments) {
  const std::string text = MemprofText(arguments);
  return text.empty() ? Json() : Json::parse(text);
}

std::vector<Call> DumpedCalls(const std::string& log, std::vector<std::string>* functions) {
  static const std::set<std::string> kSamples = {"memory_info", "pool_sample"};
  std::vector<Call> calls;
  std::istringstream lines(MemprofText({"dump", "--json", log}));
  for (std::string line; std::getline(lines, line);) {
    const Json event = Json::parse(line);
    if (kSamples.contains(event.at("op"))) continue;
    std::string function;
    calls.push_back(ToCall(event, &function));
    if (functions != nullptr) functions->push_back(function);
  }
  return calls;
}

std::string LedgerGap(const std::string& log, int device, const std::string& guest_said,
                      std::uint64_t contexts, std::uint64_t pages) {
  const Json report = MemprofJson({"report", "--json", log});
  for (const Json& one : report.at("devices")) {
    if (one.at("id") != device) continue;
    const Json& last = one.at("ledger").at("last");
    std::string gap;
    if (last.at("by_layer") != Json(LiveBytes(guest_said, device))) gap += "layers; ";
    std::uint64_t known = 0;
    for (const auto& [layer, bytes] : last.at("by_layer").items())
      known += bytes.get<std::uint64_t>();
    for (const char* part :
         {"pools_bytes", "untracked_bytes", "elsewhere_bytes", "other_processes_bytes"})
      known += last.value(part, std::uint64_t{0});  // some of these may be missing
    if (last.at("used_bytes") != known) gap += "sum; ";
    if (last.at("used_bytes") != contexts * kContextBytes + pages * kPageBytes) gap += "used; ";
    const std::uint64_t total = last.at("total_bytes"), free = last.at("free_bytes");
    if (last.at("used_bytes") != total - free) gap += "free; ";
    return gap.empty() ? "" : gap + last.dump();
  }
  return "no such device";
}

std::vector<std::string> UnclosedImports(const std::string& log) {
  std::vector<std::string> imports;
  const Json leaks = MemprofJson({"leaks", "--json", log});
  for (const Json& leak : leaks.at("live_at_exit")) {
    if (leak.at("layer") != "imported") continue;
    imports.push_back(leak.at("import").get<std::string>() + " " +
                      std::to_string(leak.at("bytes").get<std::uint64_t>()));
  }
  std::sort(imports.begin(), imports.end());
  return imports;
}

}  // namespace memprof::testing
