// The search, and the way back from what was found.
#include "holders/remote/walk.h"

#include <algorithm>

namespace memprof::holders {
namespace {

constexpr std::uint64_t kEdgesOfObject = 20;  // at most, on average: torn data may lead anywhere

constexpr std::uint16_t kDeepest = 0xffff;
constexpr std::uint16_t kBeforeGap = 12;
constexpr std::size_t kAfterGap = 6;
constexpr std::uint64_t kMostKeptWays = std::uint64_t{1} << 22;

}  // namespace

void Walk::AddRoot(std::uint64_t address) {
  ids_.emplace(address, static_cast<Id>(objects_.size()));
  objects_.push_back({address, {}});
}

bool Walk::Full() {
  cut_ = cut_ || objects_.size() >= most_objects_ || edges_ > kEdgesOfObject * most_objects_ ||
         memory_.exhausted();
  return cut_ || memory_.error() != 0;
}

void Walk::Run(std::size_t most_objects) {
  for (const Frame& frame : roots_.frames) AddRoot(frame.address);
  for (const Module& module : roots_.modules) AddRoot(module.names);
  root_count_ = next_ = objects_.size();
  most_objects_ = root_count_ + most_objects;
  SpreadFrom(true);
  SpreadFrom(false);
}

// Globals first; then, as a look does, the variables of the caller before those of the called one,
// whose arguments borrow them. A thread's frames are in the other order.
void Walk::SpreadFrom(bool of_user) {
  References references(memory_, python_, types_);
  const auto frames = static_cast<Id>(roots_.frames.size());
  for (Id id = frames; id < root_count_; ++id) {
    const Module& module = roots_.modules[id - frames];
    if (module.of_user == of_user)
      references.OfNamespace(module.names, [&](const Edge& edge) { Visit(id, edge); });
  }
  for (Id id = frames; id-- > 0;) {
    const Frame& frame = roots_.frames[id];
    if (frame.of_user == of_user)
      references.OfFrame(frame.address, frame.code, [&](const Edge& edge) { Visit(id, edge); });
  }
  Spread();
}

void Walk::Spread() {
  References references(memory_, python_, types_);
  for (; next_ < objects_.size() && !Full(); ++next_) {
    const std::uint64_t address = objects_[next_].address;
    const Type* type = types_.Of(address);  // what was an object may be none any more
    if (type == nullptr) continue;
    const auto id = static_cast<Id>(next_);
    references.Of(address, *type, [&](const Edge& edge) { Visit(id, edge); });
  }
}

void Walk::Visit(Id from, const Edge& edge) {
  ++edges_;
  if (edge.to == 0 || Full()) return;
  const Type* type = types_.Of(edge.to);
  if (type == nullptr || type->leaf) return;
  const auto depth = static_cast<std::uint16_t>(
      from < root_count_ ? 1 : std::min(objects_[from].way.depth + 1, int{kDeepest}));
  const Way way = {edge.detail, from, edge.kind, depth};
  const auto [known, added] = ids_.emplace(edge.to, static_cast<Id>(objects_.size()));
  if (added) {
    if (type->target) targets_.push_back(known->second);
    objects_.push_back({edge.to, way});
  } else if (type->target && kept_ways_ < kMostKeptWays) {
    std::vector<Way>& others = other_ways_[known->second];
    if (others.size() >= kMostWays - 1) return;
    others.push_back(way);
    ++kept_ways_;
  }
}

// The ancestor of a deep object that is kBeforeGap steps from the root. All between them remember
// it, so that a list of a million is not gone through a million times.
Walk::Id Walk::Ancestor(Id id) {
  std::vector<Id> between;
  for (; objects_[id].way.depth > kBeforeGap; id = objects_[id].way.from) {
    if (const auto known = ancestors_.find(id); known != ancestors_.end()) {
      id = known->second;
      break;
    }
    between.push_back(id);
  }
  for (const Id each : between) ancestors_.emplace(each, id);
  return id;
}

// From the last step back to the root. False if it passes `path`'s own end.
bool Walk::Follow(const Way& last, Path* path) {
  const Id end = path->objects[0];
  path->steps.push_back(last);
  Id at = last.from;
  while (at >= root_count_) {
    if (at == end) return false;
    path->steps.push_back(objects_[at].way);
    path->objects.push_back(at);
    at = objects_[at].way.from;
    if (path->steps.size() != kAfterGap || at < root_count_ || objects_[at].way.depth <= kBeforeGap)
      continue;
    path->gap = path->steps.size();
    at = Ancestor(at);
  }
  path->root = at;
  std::reverse(path->steps.begin(), path->steps.end());
  std::reverse(path->objects.begin(), path->objects.end());
  if (path->gap != 0) path->gap = path->steps.size() - path->gap;
  return true;
}

std::vector<Walk::Path> Walk::Paths(Id target) {
  std::vector<Way> ways = {objects_[target].way};
  const auto others = other_ways_.find(target);
  if (others != other_ways_.end())
    ways.insert(ways.end(), others->second.begin(), others->second.end());
  std::vector<Path> paths;
  for (const Way& way : ways) {
    Path path;
    path.objects = {target};
    if (Follow(way, &path)) paths.push_back(std::move(path));
  }
  return paths;
}

std::vector<std::uint64_t> Walk::Addresses() const {
  std::vector<std::uint64_t> addresses;
  for (std::size_t i = root_count_; i < objects_.size(); ++i)
    addresses.push_back(objects_[i].address);
  return addresses;
}

}  // namespace memprof::holders
