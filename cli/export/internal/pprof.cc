// memprof export --to=pprof: a profile by call stack in the format of pprof (gzipped
// perftools.profiles.Profile), for `go tool pprof` and whatever else draws such profiles.
//
// The numbers in the enumerations below are the field numbers of profile.proto.
#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <protozero/pbf_builder.hpp>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analysis/log/wire.h"
#include "analysis/peak/peak.h"
#include "analysis/symbols/symbols.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/export/internal/format.h"

namespace memprof::cli {
namespace {

using analysis::AllocationRecord;
using analysis::FrameId;
using analysis::Layer;
using analysis::Session;
using analysis::StackId;

enum class Profile : protozero::pbf_tag_type {
  kSampleType = 1,
  kSample = 2,
  kMapping = 3,
  kLocation = 4,
  kFunction = 5,
  kStringTable = 6,
  kTimeNanos = 9,
  kDurationNanos = 10,
  kPeriodType = 11,
  kPeriod = 12,
  kComment = 13,
  kDefaultSampleType = 14,
};
enum class ValueType : protozero::pbf_tag_type { kType = 1, kUnit = 2 };
enum class Sample : protozero::pbf_tag_type { kLocationId = 1, kValue = 2, kLabel = 3 };
enum class Label : protozero::pbf_tag_type { kKey = 1, kStr = 2 };
enum class Mapping : protozero::pbf_tag_type {
  kId = 1,
  kMemoryStart = 2,
  kMemoryLimit = 3,
  kFilename = 5,
  kBuildId = 6,
  kHasFunctions = 7,
  kHasFilenames = 8,
  kHasLineNumbers = 9,
  kHasInlineFrames = 10,
};
enum class Location : protozero::pbf_tag_type { kId = 1, kMappingId = 2, kAddress = 3, kLine = 4 };
enum class Line : protozero::pbf_tag_type { kFunctionId = 1, kLine = 2 };
enum class Function : protozero::pbf_tag_type {
  kId = 1,
  kName = 2,
  kSystemName = 3,
  kFilename = 4
};

struct Measure {
  std::string_view type, unit;
};
constexpr std::array<Measure, 6> kMeasures = {{{"alloc_objects", "count"},
                                               {"alloc_space", "bytes"},
                                               {"inuse_objects", "count"},
                                               {"inuse_space", "bytes"},
                                               {"peak_objects", "count"},
                                               {"peak_space", "bytes"}}};

// What is added up: allocations with the same stack and the same labels.
struct Key {
  StackId stack;
  Layer layer = Layer::kUnspecified;
  std::int16_t device = analysis::kNoDevice;
  std::int64_t tensor = 0;  // of the profile's strings; 0 = none

  bool operator==(const Key&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const Key& k) {
    return H::combine(std::move(h), k.stack.value, k.layer, k.device, k.tensor);
  }
};

// Numbers of strings, each written once; 0 is "".
class Strings {
 public:
  std::int64_t Of(std::string_view text) {
    if (text.empty()) return 0;
    const auto [it, fresh] = index_.try_emplace(std::string(text), index_.size() + 1);
    if (fresh) list_.push_back(it->first);
    return static_cast<std::int64_t>(it->second);
  }
  // Protobuf's strings are UTF-8; what is not becomes "?".
  void Write(protozero::pbf_builder<Profile>& profile) const {
    profile.add_string(Profile::kStringTable, "");
    for (const std::string& text : list_)
      profile.add_string(Profile::kStringTable, analysis::ValidUtf8(text));
  }

 private:
  std::map<std::string, std::size_t, std::less<>> index_;
  std::vector<std::string> list_;
};

std::string HexOfBytes(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[c & 15];
  }
  return text;
}

class ProfileWriter {
 public:
  ProfileWriter(const Session& session, analysis::Symbols& symbols, const ExportInput& input)
      : session_(session),
        symbols_(symbols),
        memory_(input.memory),
        whole_stacks_(input.whole_stacks),
        profile_(bytes_) {}

  std::string Write() {
    WriteTypes();
    AddUp();
    for (const auto& [key, values] : samples_) WriteSample(key, values);
    WriteMappings();
    WriteRun();
    strings_.Write(profile_);
    return std::move(bytes_);
  }

 private:
  // Whether `a` is counted: every byte once.
  bool Counts(const AllocationRecord& a) const {
    if (memory_ == "driver") return analysis::OccupiesDevice(a.layer);
    if (memory_ == "tensors") return a.layer == Layer::kTensor;
    if (memory_ == "host") return analysis::OccupiesHost(a.layer);
    // What the program uses: blocks, and driver memory that no framework's allocator manages.
    return a.layer == Layer::kBlock || analysis::OccupiesDevice(a.layer);
  }
  // Driver memory that is a segment of an allocator: its blocks are counted in its place.
  bool IsSegment(std::uint32_t row) const {
    const auto children = session_.Children(analysis::AllocationId(row));
    return std::any_of(children.begin(), children.end(), [this](analysis::AllocationId child) {
      return session_.record(child).layer == Layer::kSegment;
    });
  }

  void AddUp() {
    std::map<int, analysis::EventId> peaks;
    for (const analysis::Peak& peak : analysis::FindPeaks(session_))
      peaks[peak.device] = peak.event;
    const auto records = session_.records();
    for (std::uint32_t row = 0; row < records.size(); ++row) {
      const AllocationRecord& a = records[row];
      if (!Counts(a)) continue;
      if (memory_ == "used" && a.layer != Layer::kBlock && IsSegment(row)) continue;
      const auto peak = peaks.find(a.device);
      const bool at_peak =
          peak != peaks.end() && a.birth <= peak->second && (a.alive() || a.death > peak->second);
      std::array<std::uint64_t, 6>& values = ValuesOf({a.stack, a.layer, a.device, TensorOf(row)});
      const bool counted[] = {true, a.alive(), at_peak};
      for (std::size_t i = 0; i < 3; ++i) {
        if (!counted[i]) continue;
        ++values[2 * i];
        values[2 * i + 1] += a.bytes;
      }
    }
  }
  std::array<std::uint64_t, 6>& ValuesOf(const Key& key) {
    const auto [it, fresh] = index_.try_emplace(key, samples_.size());
    if (fresh) samples_.push_back({key, {}});
    return samples_[it->second].second;
  }
  // The name of a tensor, or of the first that lay in a block.
  std::int64_t TensorOf(std::uint32_t row) {
    const AllocationRecord* a = &session_.records()[row];
    if (a->layer == Layer::kBlock) {
      const auto children = session_.Children(analysis::AllocationId(row));
      if (children.empty()) return 0;
      a = &session_.record(children.front());
    }
    if (a->layer != Layer::kTensor) return 0;
    const auto* tensor = session_.tensor(analysis::TensorId(static_cast<std::uint32_t>(a->second)));
    return tensor == nullptr ? 0 : strings_.Of(tensor->name);
  }

  void WriteType(Profile field, const Measure& measure) {
    protozero::pbf_builder<ValueType> type(profile_, field);
    type.add_int64(ValueType::kType, strings_.Of(measure.type));
    type.add_int64(ValueType::kUnit, strings_.Of(measure.unit));
  }
  void WriteTypes() {
    for (const Measure& measure : kMeasures) WriteType(Profile::kSampleType, measure);
    WriteType(Profile::kPeriodType, {"space", "bytes"});
    profile_.add_int64(Profile::kPeriod, 1);
    profile_.add_int64(Profile::kDefaultSampleType, strings_.Of("peak_space"));
  }

  // Where the stack of a sample begins: at the site, so that what a profile calls flat is the place
  // that a person would name, not the allocator; as an index into the resolved stack.
  std::size_t FirstFrame(StackId stack) {
    if (whole_stacks_) return 0;
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

  std::vector<std::uint64_t> LocationsOf(StackId stack) {
    std::vector<std::uint64_t> locations;
    std::size_t skip = FirstFrame(stack);
    for (const FrameId frame : session_.StackFrames(stack)) {
      if (!frame.valid() || frame.value >= session_.frame_count()) continue;
      const std::size_t lines = symbols_.Resolve(frame).size();
      if (skip < lines) locations.push_back(LocationOf(frame, skip));
      skip -= std::min(skip, lines);
    }
    return locations;
  }

  void WriteSample(const Key& key, const std::array<std::uint64_t, 6>& values) {
    const std::vector<std::uint64_t> locations = LocationsOf(key.stack);
    std::vector<std::int64_t> signed_values;
    for (const std::uint64_t value : values) {
      constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
      signed_values.push_back(static_cast<std::int64_t>(std::min(value, kMost)));
    }
    protozero::pbf_builder<Sample> sample(profile_, Profile::kSample);
    sample.add_packed_uint64(Sample::kLocationId, locations.begin(), locations.end());
    sample.add_packed_int64(Sample::kValue, signed_values.begin(), signed_values.end());
    WriteLabel(sample, "layer", strings_.Of(analysis::LayerName(key.layer)));
    WriteLabel(sample, "device",
               strings_.Of(key.device == analysis::kNoDevice ? "host" : Cat(key.device)));
    if (key.tensor != 0) WriteLabel(sample, "tensor", key.tensor);
  }
  void WriteLabel(protozero::pbf_builder<Sample>& sample, std::string_view key,
                  std::int64_t value) {
    protozero::pbf_builder<Label> label(sample, Sample::kLabel);
    label.add_int64(Label::kKey, strings_.Of(key));
    label.add_int64(Label::kStr, value);
  }

  // The location of `frame` without the innermost `skip` of the functions inlined into it.
  std::uint64_t LocationOf(FrameId frame, std::size_t skip) {
    const auto [it, fresh] = locations_.try_emplace({frame, skip}, locations_.size() + 1);
    if (!fresh) return it->second;
    std::vector<std::pair<std::uint64_t, int>> lines;  // function, line
    const std::vector<analysis::SourceFrame>& sources = symbols_.Resolve(frame);
    for (std::size_t i = skip; i < sources.size(); ++i) {
      lines.emplace_back(FunctionOf(sources[i]), sources[i].line);
    }
    const analysis::Frame& raw = session_.frame(frame);
    protozero::pbf_builder<Location> location(profile_, Profile::kLocation);
    location.add_uint64(Location::kId, it->second);
    if (!raw.python && raw.module < session_.modules().size()) {
      location.add_uint64(Location::kMappingId, std::uint64_t{raw.module} + 1);
    }
    if (!raw.python) location.add_uint64(Location::kAddress, raw.address);
    for (const auto& [function, number] : lines) {
      protozero::pbf_builder<Line> line(location, Location::kLine);
      line.add_uint64(Line::kFunctionId, function);
      line.add_int64(Line::kLine, number);
    }
    return it->second;
  }
  std::uint64_t FunctionOf(const analysis::SourceFrame& source) {
    const std::int64_t name = strings_.Of(source.function), file = strings_.Of(source.file);
    const auto [it, fresh] = functions_.try_emplace({name, file}, functions_.size() + 1);
    if (fresh) {
      protozero::pbf_builder<Function> function(profile_, Profile::kFunction);
      function.add_uint64(Function::kId, it->second);
      function.add_int64(Function::kName, name);
      function.add_int64(Function::kSystemName, name);
      function.add_int64(Function::kFilename, file);
    }
    return it->second;
  }

  void WriteMappings() {
    std::uint64_t id = 0;
    for (const analysis::ModuleInfo& module : session_.modules()) {
      protozero::pbf_builder<Mapping> mapping(profile_, Profile::kMapping);
      mapping.add_uint64(Mapping::kId, ++id);
      mapping.add_uint64(Mapping::kMemoryStart, module.first_address);
      mapping.add_uint64(Mapping::kMemoryLimit, module.end_address);
      mapping.add_int64(Mapping::kFilename, strings_.Of(module.path));
      mapping.add_int64(Mapping::kBuildId, strings_.Of(HexOfBytes(module.build_id)));
      // All that can be known is known: pprof need not look for symbols.
      for (const Mapping known : {Mapping::kHasFunctions, Mapping::kHasFilenames,
                                  Mapping::kHasLineNumbers, Mapping::kHasInlineFrames}) {
        mapping.add_bool(known, true);
      }
    }
  }

  void WriteRun() {
    const analysis::RunInfo& run = session_.run();
    profile_.add_int64(Profile::kTimeNanos, static_cast<std::int64_t>(run.start_unix_ns));
    if (run.end_time > run.start_time) {
      profile_.add_int64(Profile::kDurationNanos,
                         static_cast<std::int64_t>(run.end_time - run.start_time));
    }
    std::string command;
    for (const std::string& argument : run.arguments) {
      Append(command, command.empty() ? "" : " ", argument);
    }
    for (const std::string& comment :
         {command.empty() ? run.executable : command, Cat("memory: ", memory_)}) {
      profile_.add_int64(Profile::kComment, strings_.Of(comment));
    }
  }

  const Session& session_;
  analysis::Symbols& symbols_;
  const std::string memory_;
  const bool whole_stacks_;
  std::string bytes_;
  protozero::pbf_builder<Profile> profile_;
  Strings strings_;
  absl::flat_hash_map<Key, std::size_t> index_;
  std::vector<std::pair<Key, std::array<std::uint64_t, 6>>> samples_;  // in order of first births
  std::map<std::pair<FrameId, std::size_t>, std::uint64_t> locations_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint64_t> functions_;  // name and file: id
};

std::string Gzip(const std::string& bytes) {
  std::string packed;
  google::protobuf::io::StringOutputStream out(&packed);
  google::protobuf::io::GzipOutputStream gzip(&out);
  void* buffer = nullptr;
  int size = 0;
  for (std::size_t done = 0; done < bytes.size() && gzip.Next(&buffer, &size);) {
    const std::size_t part = std::min(bytes.size() - done, static_cast<std::size_t>(size));
    std::copy_n(bytes.data() + done, part, static_cast<char*>(buffer));
    gzip.BackUp(size - static_cast<int>(part));
    done += part;
  }
  gzip.Close();
  return packed;
}

}  // namespace

bool ExportPprof(const ExportInput& input, OutputFile& output) {
  analysis::Symbols symbols(input.session);
  return output.Write(Gzip(ProfileWriter(*input.session, symbols, input).Write()));
}

}  // namespace memprof::cli
