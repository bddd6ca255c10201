// memprof export --to=pprof: a profile by call stack in the format of pprof (gzipped
// perftools.profiles.Profile), for `go tool pprof` and other viewers.
#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

#include "absl/strings/escaping.h"
#include "analysis/log/wire.h"
#include "analysis/symbols/symbols.h"
#include "cli/console/text.h"
#include "cli/export/formats/profile.pb.h"
#include "cli/export/internal/format.h"
#include "cli/export/internal/pprof_samples.h"

namespace memprof::cli {
namespace {

using analysis::FrameId;
using analysis::Session;
using analysis::StackId;
using google::protobuf::io::ZeroCopyOutputStream;

class ProfileWriter {
 public:
  ProfileWriter(const Session& session, analysis::Symbols& symbols, const ExportInput& input,
                ZeroCopyOutputStream& out)
      : session_(session), symbols_(symbols), input_(input), out_(out) {
    profile_.add_string_table("");
  }

  void Write() {
    for (const char* what : {"alloc", "inuse", "peak"}) {
      AddType(Cat(what, "_objects"), "count", profile_.add_sample_type());
      AddType(Cat(what, "_space"), "bytes", profile_.add_sample_type());
    }
    AddType("space", "bytes", profile_.mutable_period_type());
    profile_.set_period(1);
    profile_.set_default_sample_type(StringOf("peak_space"));
    AddMappings();
    AddRun();
    for (const PprofSample& sample : AddUpSamples(session_, input_.memory)) {
      AddSample(sample);
      if (profile_.sample_size() >= kSamplesAtOnce) Flush();
    }
    Flush();
  }

 private:
  // The parts of a profile are concatenated: together they are one message with all fields.
  static constexpr int kSamplesAtOnce = 4096;
  void Flush() {
    profile_.SerializeToZeroCopyStream(&out_);
    profile_.Clear();
  }

  // Each string is written once, and referred to by its number; 0 is "". Strings of protobuf are
  // UTF-8.
  std::int64_t StringOf(std::string_view text) {
    if (text.empty()) return 0;
    const auto [it, fresh] = strings_.try_emplace(std::string(text), strings_.size() + 1);
    if (fresh) profile_.add_string_table(analysis::ValidUtf8(text));
    return static_cast<std::int64_t>(it->second);
  }

  void AddType(std::string_view type, std::string_view unit, pprof::ValueType* out) {
    out->set_type(StringOf(type));
    out->set_unit(StringOf(unit));
  }

  // The frame where the stack of a sample begins: the site, so that a profile's flat values are of
  // the user's place, not of the allocator. An index into the resolved stack.
  std::size_t FirstFrame(StackId stack) {
    if (input_.whole_stacks) return 0;
    const analysis::SourceFrame site = symbols_.Site(stack);
    const std::vector<analysis::SourceFrame> frames = symbols_.ResolveStack(stack);
    for (std::size_t i = 0; i < frames.size(); ++i) {
      if (frames[i].function == site.function && frames[i].file == site.file &&
          frames[i].line == site.line) {
        return i;
      }
    }
    return 0;
  }

  void AddSample(const PprofSample& counted) {
    pprof::Sample& sample = *profile_.add_sample();
    std::size_t skip = FirstFrame(counted.stack);
    for (const FrameId frame : session_.StackFrames(counted.stack)) {
      if (!frame.valid() || frame.value >= session_.frame_count()) continue;
      const std::size_t lines = symbols_.Resolve(frame).size();
      if (skip < lines) sample.add_location_id(LocationOf(frame, skip));
      skip -= std::min(skip, lines);
    }
    constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
    for (const std::uint64_t value : counted.values)
      sample.add_value(static_cast<std::int64_t>(std::min(value, kMax)));
    AddLabel("layer", analysis::LayerName(counted.layer), sample);
    AddLabel("device", counted.device == analysis::kNoDevice ? "host" : Cat(counted.device),
             sample);
    if (!counted.tensor.empty()) AddLabel("tensor", counted.tensor, sample);
  }
  void AddLabel(std::string_view key, std::string_view value, pprof::Sample& sample) {
    pprof::Label& label = *sample.add_label();
    label.set_key(StringOf(key));
    label.set_str(StringOf(value));
  }

  // The location of `frame` without the innermost `skip` inlined functions.
  std::uint64_t LocationOf(FrameId frame, std::size_t skip) {
    const auto [it, fresh] = locations_.try_emplace({frame, skip}, locations_.size() + 1);
    if (!fresh) return it->second;
    const analysis::Frame& raw = session_.frame(frame);
    pprof::Location& location = *profile_.add_location();
    location.set_id(it->second);
    if (!raw.python) location.set_address(raw.address);
    if (!raw.python && raw.module < session_.modules().size())
      location.set_mapping_id(std::uint64_t{raw.module} + 1);
    const std::vector<analysis::SourceFrame>& sources = symbols_.Resolve(frame);
    for (std::size_t i = skip; i < sources.size(); ++i) {
      pprof::Line& line = *location.add_line();
      line.set_function_id(FunctionOf(sources[i]));
      line.set_line(sources[i].line);
    }
    return it->second;
  }
  std::uint64_t FunctionOf(const analysis::SourceFrame& source) {
    const std::int64_t name = StringOf(source.function), file = StringOf(source.file);
    const auto [it, fresh] = functions_.try_emplace({name, file}, functions_.size() + 1);
    if (!fresh) return it->second;
    pprof::Function& function = *profile_.add_function();
    function.set_id(it->second);
    function.set_name(name);
    function.set_system_name(name);
    function.set_filename(file);
    return it->second;
  }

  void AddMappings() {
    std::uint64_t id = 0;
    for (const analysis::ModuleInfo& module : session_.modules()) {
      pprof::Mapping& mapping = *profile_.add_mapping();
      mapping.set_id(++id);
      mapping.set_memory_start(module.first_address);
      mapping.set_memory_limit(module.end_address);
      mapping.set_filename(StringOf(module.path));
      mapping.set_build_id(StringOf(absl::BytesToHexString(module.build_id)));
      // The profile has all symbols: pprof need not search for any.
      mapping.set_has_functions(true);
      mapping.set_has_filenames(true);
      mapping.set_has_line_numbers(true);
      mapping.set_has_inline_frames(true);
    }
  }

  void AddRun() {
    const analysis::RunInfo& run = session_.run();
    profile_.set_time_nanos(static_cast<std::int64_t>(run.start_unix_ns));
    if (run.end_time > run.start_time)
      profile_.set_duration_nanos(static_cast<std::int64_t>(run.end_time - run.start_time));
    std::string command;
    for (const std::string& argument : run.arguments)
      Append(command, command.empty() ? "" : " ", argument);
    profile_.add_comment(StringOf(command.empty() ? run.executable : command));
    profile_.add_comment(StringOf(Cat("memory: ", input_.memory)));
  }

  const Session& session_;
  analysis::Symbols& symbols_;
  const ExportInput& input_;
  ZeroCopyOutputStream& out_;
  pprof::Profile profile_;  // not yet written
  std::map<std::string, std::size_t, std::less<>> strings_;
  std::map<std::pair<FrameId, std::size_t>, std::uint64_t> locations_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint64_t> functions_;  // name and file: id
};

}  // namespace

bool ExportPprof(const ExportInput& input, OutputFile& output) {
  analysis::Symbols symbols(input.session);
  std::string packed;
  {
    google::protobuf::io::StringOutputStream bytes(&packed);
    google::protobuf::io::GzipOutputStream gzip(&bytes);
    ProfileWriter(*input.session, symbols, input, gzip).Write();
    gzip.Close();
  }
  return output.Write(packed);
}

}  // namespace memprof::cli
