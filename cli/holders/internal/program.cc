// A Unix socket, and JSON of which only known keys are kept.
#include "cli/holders/internal/program.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "cli/console/json.h"
#include "cli/console/text.h"

namespace memprof::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostBytes = std::size_t{256} << 20, kMostText = 8192, kMostChain = 256;
constexpr std::size_t kMostLimits = 8;
constexpr std::size_t kMostHolders = 1 << 20;

struct Closer {
  ~Closer() { close(fd); }
  int fd;
};

absl::StatusOr<int> Connect(pid_t pid) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  const std::string text = Cat("memprof-holders-", pid);  // after a zero: no file
  std::memcpy(name.sun_path + 1, text.data(), text.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return absl::InternalError("could not be asked: there is no socket for it");
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  if (connect(fd, reinterpret_cast<const sockaddr*>(&name), size) == 0) return fd;
  const int error = errno;
  close(fd);
  if (error == ECONNREFUSED || error == ENOENT)
    return absl::NotFoundError("was not started with 'memprof run --holders'");
  return absl::UnavailableError("does not accept questions now");
}

// Somebody else may have taken the name.
bool IsPeer(int fd, pid_t pid) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid == pid;
}

std::string Late(std::chrono::milliseconds timeout) {
  return Cat("did not answer within ", timeout.count() / 1000, " s");
}

const Json* Find(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

std::uint64_t NumberIn(const Json& object, const char* key) {
  const Json* value = Find(object, key);
  return value != nullptr && value->is_number_unsigned() ? value->get<std::uint64_t>() : 0;
}

std::string TextOf(const Json* value) {
  return value != nullptr && value->is_string()
             ? value->get_ref<const std::string&>().substr(0, kMostText)
             : "";
}

// Holders are taken out of the document one by one as they are read, so that it stays small.
class Reader {
 public:
  bool Keep(int depth, Json::parse_event_t event, const Json& parsed) {
    if (event == Json::parse_event_t::key && depth == 1) {
      key_ = TextOf(&parsed);
      return key_ == "objects" || key_ == "pause_ns" || key_ == "garbage_bytes" ||
             key_ == "limits" || key_ == "error" || key_ == "holders" || key_ == "without_holder";
    }
    if (event == Json::parse_event_t::object_end && depth == 2 && key_ == "holders") {
      Take(parsed);
      return false;
    }
    return depth <= 5;
  }
  HeldJoiner& joiner() { return joiner_; }
  bool too_many() const { return count_ > kMostHolders; }

 private:
  void Take(const Json& holder) {
    if (++count_ > kMostHolders || !holder.is_object()) return;
    const Json* device = Find(holder, "device");
    HeldRow row;
    row.path = TextOf(Find(holder, "path"));
    row.root = TextOf(Find(holder, "root"));
    row.kind = TextOf(Find(holder, "kind"));
    if (const Json* chain = Find(holder, "chain"); chain != nullptr && chain->is_array())
      for (std::size_t i = 0; i < std::min(chain->size(), kMostChain); ++i)
        row.chain.push_back(TextOf(&(*chain)[i]));
    const int number =
        device != nullptr && device->is_number_unsigned() && device->get<std::uint64_t>() < 4096
            ? static_cast<int>(device->get<std::uint64_t>())
            : 0;
    if (!row.path.empty())
      joiner_.Add(number, NumberIn(holder, "address"), NumberIn(holder, "bytes"), std::move(row));
  }

  std::string key_;
  std::size_t count_ = 0;
  HeldJoiner joiner_;
};

}  // namespace

absl::StatusOr<std::string> ReceiveAnswer(pid_t pid, std::chrono::milliseconds timeout) {
  const Clock::time_point end = Clock::now() + timeout;
  const absl::StatusOr<int> fd = Connect(pid);
  if (!fd.ok()) return fd.status();
  const Closer closer{*fd};
  if (!IsPeer(*fd, pid))
    return absl::PermissionDeniedError("does not answer itself: another process has its socket");
  std::string document;
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    pollfd waiting = {*fd, POLLIN, 0};
    if (left.count() <= 0) return absl::DeadlineExceededError(Late(timeout));
    const int ready = poll(&waiting, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno != EINTR) return absl::UnavailableError("could not be waited for");
    if (ready <= 0) continue;
    char some[65536];
    const ssize_t got = read(*fd, some, sizeof some);
    if (got == 0) return document;
    if (got < 0 && errno != EAGAIN && errno != EINTR)
      return absl::UnavailableError("broke off its answer");
    if (got > 0) document.append(some, static_cast<std::size_t>(got));
    if (document.size() > kMostBytes)
      return absl::ResourceExhaustedError("answered with more than 256 MiB");
  }
}

absl::StatusOr<Held> ParseAnswer(std::string_view document) {
  Reader reader;
  const Json::parser_callback_t keep = [&](int depth, Json::parse_event_t event, Json& parsed) {
    return reader.Keep(depth, event, parsed);
  };
  const Json json = Json::parse(document.begin(), document.end(), keep, false);
  if (json.is_object() && Find(json, "error") != nullptr)
    return absl::UnknownError("failed to look: " + TextOf(Find(json, "error")));
  if (!json.is_object() || Find(json, "holders") == nullptr || !Find(json, "holders")->is_array())
    return absl::InvalidArgumentError("answered with something that is no list of holders");
  if (reader.too_many())
    return absl::InvalidArgumentError("answered with more than a million holders");
  Held held;
  held.by_program = true;
  held.objects = NumberIn(json, "objects");
  held.pause_ns = NumberIn(json, "pause_ns");
  held.garbage_bytes = NumberIn(json, "garbage_bytes");
  if (const Json* rest = Find(json, "without_holder"); rest != nullptr && rest->is_object())
    held.rest = HeldRest{NumberIn(*rest, "bytes"), NumberIn(*rest, "blocks")};
  if (const Json* limits = Find(json, "limits"); limits != nullptr && limits->is_array())
    for (std::size_t i = 0; i < std::min(limits->size(), kMostLimits); ++i)
      held.limits.push_back(TextOf(&(*limits)[i]));
  reader.joiner().Finish(&held);
  return held;
}

}  // namespace memprof::cli
