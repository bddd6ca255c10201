// Resolves frames of a session, caches the results, and finds the user's frame.
#include "analysis/symbols/symbols.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "analysis/base/text.h"
#include "analysis/symbols/generated_lines.h"
#include "analysis/symbols/internal/installed_files.h"
#include "analysis/symbols/internal/library_finder.h"
#include "analysis/symbols/kept_sources.h"
#include "analysis/symbols/site_choice.h"
#include "analysis/symbols/symbols_module.h"

namespace memprof::analysis {

class Symbols::Impl {
 public:
  explicit Impl(std::shared_ptr<const Session> session)
      : session_(std::move(session)), cache_(session_->frame_count()) {}

  const std::vector<SourceFrame>& Resolve(FrameId id) {
    static const std::vector<SourceFrame> kUnknown = {{.function = "?"}};
    if (id.value >= cache_.size()) return kUnknown;
    std::vector<SourceFrame>& cached = cache_[id.value];
    {
      const std::lock_guard lock(mutex_);
      if (!cached.empty()) return cached;
    }
    // Without the lock: reading a module's DWARF takes seconds, during which other threads read the
    // cache.
    const Frame& frame = session_->frame(id);
    std::vector<SourceFrame> found = frame.python ? Python(frame) : Native(frame);
    for (SourceFrame& one : found) one.found = {.plumbing = IsPlumbing(one)};
    const std::lock_guard lock(mutex_);
    if (!cached.empty()) return cached;  // another thread was first
    for (SourceFrame& one : found) one.found->place = NumberOf(one);
    cached = std::move(found);
    if (!cached.front().symbolised) ++unsymbolised_;
    return cached;
  }

  std::uint64_t unsymbolised() const {
    const std::lock_guard lock(mutex_);
    return unsymbolised_;
  }
  const Session& session() const { return *session_; }

  // Created at first use: most queries need no site.
  const SiteChooser& chooser(Symbols& symbols) {
    std::call_once(chooser_once_,
                   [&] { chooser_ = std::make_unique<SiteChooser>(*session_, symbols); });
    return *chooser_;
  }
  LibraryFinder& libraries(Symbols& symbols) {
    std::call_once(libraries_once_,
                   [&] { libraries_ = std::make_unique<LibraryFinder>(*session_, symbols); });
    return *libraries_;
  }

  // The site of a stack if it is cached, else null.
  const CallSite* KnownSite(StackId stack) const {
    const std::lock_guard lock(mutex_);
    const auto known = sites_.find(stack.value);
    return known != sites_.end() ? known->second.get() : nullptr;
  }
  const CallSite& KeepSite(StackId stack, CallSite site) {
    const std::lock_guard lock(mutex_);
    // Stacks with the same site share its entry.
    std::shared_ptr<const CallSite>& kept = places_[KeyOf(site)];
    if (kept == nullptr) kept = std::make_shared<const CallSite>(std::move(site));
    return *sites_.emplace(stack.value, kept).first->second;
  }

 private:
  // A line of generated code comes with the user's lines that it was made of, like inlined calls.
  std::vector<SourceFrame> Python(const Frame& frame) {
    SourceFrame resolved{.function = std::string(session_->string(frame.function)),
                         .file = std::string(session_->string(frame.file)),
                         .line = static_cast<int>(std::min(frame.line, 0x7fffffffu)),
                         .module = "python",
                         .python = true};
    resolved.symbolised = !resolved.function.empty();
    if (!resolved.symbolised) resolved.function.assign(1, '?');
    resolved.package_at = installed_.PackageAt(resolved.file);
    std::vector<SourceFrame> frames = {std::move(resolved)};
    if (!IsGeneratedFile(frames.front().file)) return frames;
    std::vector<SourceFrame> origin =
        generated().OriginOf(frames.front().file, frames.front().line);
    frames.front().inlined = !origin.empty();
    std::move(origin.begin(), origin.end(), std::back_inserter(frames));
    return frames;
  }

  const GeneratedLines& generated() {
    std::call_once(generated_once_, [&] {
      generated_ = std::make_unique<GeneratedLines>(*KeptSourcesOf(*session_));
    });
    return *generated_;
  }

  // The number of the frame's place: its function; in Python its line, because there whole programs
  // are one function, and hundreds are named "forward". Needs the lock.
  std::uint32_t NumberOf(const SourceFrame& frame) {
    std::string place = frame.function;
    if (IsPythonCode(frame)) absl::StrAppend(&place, "\n", frame.file, "\n", frame.line);
    return numbers_.try_emplace(std::move(place), static_cast<std::uint32_t>(numbers_.size()))
        .first->second;
  }

  // A file, opened at its first use by the holder of its lock.
  struct OneFile {
    std::mutex mutex;
    std::uint64_t load_bias = 0;  // for its symbol look-ups
    std::unique_ptr<ModuleSymbols> symbols;
  };
  OneFile& FileOf(std::uint32_t module) {
    const std::lock_guard lock(mutex_);
    OneFile*& file = modules_[module];
    if (file == nullptr) file = &files_[ModuleFileKey(session_->modules()[module])];
    return *file;
  }

  std::vector<SourceFrame> Native(const Frame& frame) {
    if (frame.module >= session_->modules().size())
      return {{.function = absl::StrCat("0x", absl::Hex(frame.address))}};
    const ModuleInfo& module = session_->modules()[frame.module];
    OneFile& file = FileOf(frame.module);
    {
      const std::lock_guard lock(file.mutex);
      if (file.symbols == nullptr) {
        file.symbols = std::make_unique<ModuleSymbols>(module);
        file.load_bias = module.load_bias;
      }
      std::vector<SourceFrame> found =
          file.symbols->At(frame.address - module.load_bias + file.load_bias);
      if (!found.empty()) return found;
    }
    const std::string name(BaseName(module.path));
    return {{.function = absl::StrCat(name, "+0x", absl::Hex(frame.address - module.load_bias)),
             .module = name}};
  }

  const std::shared_ptr<const Session> session_;
  mutable std::mutex mutex_;
  std::vector<std::vector<SourceFrame>> cache_;  // never resized: answers stay where they are
  std::map<std::string, OneFile> files_;         // whose values stay where they are
  absl::flat_hash_map<std::uint32_t, OneFile*> modules_;
  absl::flat_hash_map<std::uint32_t, std::shared_ptr<const CallSite>> sites_;  // by stack
  absl::flat_hash_map<std::string, std::shared_ptr<const CallSite>> places_;
  absl::flat_hash_map<std::string, std::uint32_t> numbers_;  // by place
  std::uint64_t unsymbolised_ = 0;
  InstalledFiles installed_;
  std::once_flag chooser_once_;
  std::unique_ptr<SiteChooser> chooser_;
  std::once_flag generated_once_;
  std::unique_ptr<GeneratedLines> generated_;
  std::once_flag libraries_once_;
  std::unique_ptr<LibraryFinder> libraries_;
};

Symbols::Symbols(std::shared_ptr<const Session> session)
    : impl_(std::make_unique<Impl>(std::move(session))) {}
Symbols::~Symbols() = default;

const std::vector<SourceFrame>& Symbols::Resolve(FrameId frame) { return impl_->Resolve(frame); }
std::uint64_t Symbols::unsymbolised() const { return impl_->unsymbolised(); }

std::vector<SourceFrame> Symbols::ResolveStack(StackId stack) {
  std::vector<SourceFrame> resolved;
  for (const FrameId frame : impl_->session().StackFrames(stack)) {
    const std::vector<SourceFrame>& frames = Resolve(frame);
    resolved.insert(resolved.end(), frames.begin(), frames.end());
  }
  return resolved;
}

CallSite Symbols::SiteOf(StackId stack) {
  if (const CallSite* known = impl_->KnownSite(stack)) return *known;
  const std::vector<SourceFrame> frames = ResolveStack(stack);
  if (frames.empty()) return {};
  const SiteChooser& chooser = impl_->chooser(*this);
  const SiteChooser::Choice choice = chooser.Choose(stack, frames);
  CallSite site{.user = frames[choice.user]};
  if (choice.library) site.library = frames[*choice.library];
  for (SourceFrame* frame : {&site.user, &site.library})
    frame->shown_file = chooser.ShownFile(*frame);
  return impl_->KeepSite(stack, std::move(site));
}

SourceFrame Symbols::Site(StackId stack) { return SiteOf(stack).user; }

SourceFrame Symbols::CallerOf(StackId stack) {
  const std::vector<SourceFrame> frames = SiteStack(stack);
  return frames.size() > 1 && frames[1].symbolised ? frames[1] : SourceFrame();
}

std::vector<SourceFrame> Symbols::SiteStack(StackId stack) {
  std::vector<SourceFrame> frames = ResolveStack(stack);
  if (frames.empty()) return frames;
  const SiteChooser& chooser = impl_->chooser(*this);
  const std::size_t site = chooser.Choose(stack, frames).innermost();
  const std::vector<bool> skipped = chooser.Skipped(frames);
  std::vector<SourceFrame> shown;
  for (std::size_t i = site; i < frames.size(); ++i)
    // If nothing better than plumbing was found, all of it is shown.
    if (skipped[site] || !skipped[i]) shown.push_back(std::move(frames[i]));
  return shown;
}

Library Symbols::LibraryOf(StackId stack) { return impl_->libraries(*this).Of(stack); }

std::vector<AnomalyCount> AllAnomalies(const Session& session, Symbols& symbols) {
  for (std::uint32_t i = 0; i < session.frame_count(); ++i) symbols.Resolve(FrameId(i));
  const std::span<const AnomalyCount> counted = session.anomalies();
  std::vector<AnomalyCount> all(counted.begin(), counted.end());
  constexpr log::Anomaly kUnsymbolised = log::Anomaly::kFramesUnsymbolised;
  if (symbols.unsymbolised() == 0) return all;
  const auto at = std::lower_bound(
      all.begin(), all.end(), kUnsymbolised,
      [](const AnomalyCount& count, log::Anomaly anomaly) { return count.anomaly < anomaly; });
  // A recorder cannot count this; the reader's count replaces any in the log.
  if (at != all.end() && at->anomaly == kUnsymbolised)
    at->count = symbols.unsymbolised();
  else
    all.insert(at, {kUnsymbolised, symbols.unsymbolised()});
  return all;
}

std::string Symbols::Describe(const SourceFrame& frame) {
  return FrameText(frame, NameStyle::kWhole);
}

}  // namespace memprof::analysis
