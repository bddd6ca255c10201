#include "cli/top/internal/screen.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>

namespace memprof::cli {
namespace {

// Read by handlers of signals, which call only functions that are safe there.
termios g_saved;
volatile std::sig_atomic_t g_has_keys = 0, g_active = 0, g_stopped = 0;

bool WriteAll(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno != EINTR && errno != EAGAIN) return false;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

void Enter() {
  termios raw = g_saved;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_cc[VINTR] = _POSIX_VDISABLE;  // Ctrl-C is a key
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  if (g_has_keys != 0) tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  WriteAll("\033[?1049h\033[?25l\033[2J");  // the alternate screen, without a cursor
  g_active = 1;
}

void Leave() {
  if (g_active == 0) return;
  g_active = 0;
  WriteAll("\033[?25h\033[?1049l");
  if (g_has_keys != 0) tcsetattr(STDIN_FILENO, TCSANOW, &g_saved);
}

constexpr int kEnds[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGPIPE, SIGALRM, SIGUSR1,
                         SIGUSR2, SIGABRT, SIGSEGV, SIGBUS,  SIGILL,  SIGFPE};

void OnEnd(int signal) {
  Leave();
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void OnStop(int /*signal*/) {
  const int error = errno;
  Leave();
  raise(SIGSTOP);
  Enter();
  g_stopped = 1;
  errno = error;
}

void HandleSignals(void (*at_end)(int), void (*at_stop)(int)) {
  struct sigaction action = {};
  sigemptyset(&action.sa_mask);
  action.sa_handler = at_end;
  for (const int signal : kEnds) sigaction(signal, &action, nullptr);
  action.sa_handler = at_stop;
  sigaction(SIGTSTP, &action, nullptr);
}

}  // namespace

bool Screen::Possible() {
  const char* term = std::getenv("TERM");
  return isatty(STDOUT_FILENO) == 1 && term != nullptr && *term != '\0' &&
         std::string_view(term) != "dumb";
}

Screen::Screen() {
  g_has_keys = isatty(STDIN_FILENO) == 1 && tcgetattr(STDIN_FILENO, &g_saved) == 0 ? 1 : 0;
  HandleSignals(OnEnd, OnStop);
  Enter();
}

Screen::~Screen() {
  Leave();
  HandleSignals(SIG_DFL, SIG_DFL);
}

std::pair<std::size_t, std::size_t> Screen::size() const {
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
    return {80, 24};
  return {size.ws_col, size.ws_row};
}

bool Screen::Draw(const std::vector<std::string>& lines) {
  if (g_active == 0) return true;
  std::string text = "\033[H";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) text += "\r\n";
    text += "\033[2K";  // before the text: behind the last column it would erase that
    text += lines[i];
  }
  if (lines.size() < size().second) text += "\r\n\033[J";
  return WriteAll(text);
}

std::vector<Key> Screen::Keys(std::chrono::milliseconds longest) {
  pollfd input = {.fd = g_has_keys != 0 ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0};
  if (poll(&input, 1, static_cast<int>(longest.count())) <= 0) return {};
  char bytes[64];
  const ssize_t count = read(STDIN_FILENO, bytes, sizeof bytes);
  if (count < 0) return errno == EINTR ? std::vector<Key>() : std::vector<Key>{Key::kQuit};
  if (count == 0) return {Key::kQuit};  // the terminal is gone
  std::vector<Key> keys;
  std::string_view text(bytes, static_cast<std::size_t>(count));
  while (!text.empty()) {
    std::size_t used = 1;
    // ESC [ A or ESC O A
    const bool sequence = text[0] == '\033' && text.size() >= 3;
    const char key = sequence ? text[2] : text[0];
    if (sequence) used = 3;
    if (sequence ? key == 'A' : key == 'p' || key == 'k') keys.push_back(Key::kUp);
    if (sequence ? key == 'B' : key == 'n' || key == 'j') keys.push_back(Key::kDown);
    if (!sequence && key == 's') keys.push_back(Key::kSort);
    if (!sequence && (key == 'q' || key == 3)) keys.push_back(Key::kQuit);
    text.remove_prefix(used);
  }
  return keys;
}

bool Screen::WasStopped() {
  const bool was = g_stopped != 0;
  g_stopped = 0;
  return was;
}

}  // namespace memprof::cli
