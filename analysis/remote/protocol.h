// What `memprof serve --stdio` writes: a line, then frames (analysis/log/frames.h) of these kinds.
// Nothing is asked back: where a copy ends that is to be continued, the command line says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "analysis/log/sources.h"
#include "analysis/symbols/names_elsewhere.h"

namespace memprof::analysis {

// The line has the release of memprof at its end. Another number means another protocol; kinds of
// frames that a reader does not know are skipped.
inline constexpr char kServeGreeting[] = "memprof-serve 1 ";

enum class ServeFrame : std::uint16_t {
  kAlive = 1,    // nothing: the line is not dead
  kSize = 2,     // number: how many bytes the log has
  kBytes = 3,    // number: an offset; then the log's bytes from there on, which ends with them
  kAnew = 4,     // the copy is of another log: forget its bytes
  kNames = 5,    // of frames and variables
  kSources = 6,  // of files, the name and the text
  kWhole = 7,    // number: 1 if the log still grows. All before it belongs together
  kEnd = 8,      // number: a status code; then the text of an error
};

// Where a copy ends: the log there is the same if it begins and goes on like it.
struct CopyPosition {
  std::uint64_t bytes = 0;
  std::uint32_t head = 0, tail = 0;  // checksums of its ends, of the lengths below
  std::uint32_t sources = 0;         // a checksum of the names of files that were received
  std::uint64_t frames = 0;          // frames of call stacks whose names were received
};
inline constexpr std::uint64_t kHeadBytes = 1024;  // with the time and process of the recording
inline constexpr std::uint64_t kTailBytes = 64u << 10;
// "BYTES,HEAD,TAIL,SOURCES,FRAMES", in hexadecimal. Error: kInvalidArgument, one line.
std::string PositionText(const CopyPosition& position);
absl::StatusOr<CopyPosition> ParsePosition(std::string_view text);
std::uint32_t SourcesChecksum(const KeptSources& sources);

void PutNumber(std::uint64_t number, std::string* to);
void PutText(std::string_view text, std::string* to);

// One payload of names is made entry by entry. Modules are written once, before their first entry.
class NamesWriter {
 public:
  void Add(const ModuleInfo& module, std::uint64_t address, const std::vector<SourceFrame>& frames);
  void Add(const ModuleInfo& module, const ModuleSymbols::Range& variable);
  // How many frames of the log have their names now, by their ids.
  void Done(std::uint64_t frames);
  std::size_t size() const { return bytes_.size(); }
  std::string Take();

 private:
  void Switch(const ModuleInfo& module);
  std::string bytes_, path_, build_id_;
};
// Adds the names. False if it is malformed; what was before stays.
bool ReadNames(std::string_view payload, NamesElsewhere* names, std::uint64_t* frames_done);

}  // namespace memprof::analysis
