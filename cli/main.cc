// The command `memprof`: finds the verb and runs it.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "cli/advice/advise.h"
#include "cli/attach/attach.h"
#include "cli/budget/budget.h"
#include "cli/categories/categories.h"
#include "cli/console/command_line.h"
#include "cli/console/options.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/diff/diff.h"
#include "cli/doctor/doctor.h"
#include "cli/export/export.h"
#include "cli/fleet/fleet.h"
#include "cli/fragmentation/fragmentation.h"
#include "cli/holders/holders.h"
#include "cli/leaks/leaks.h"
#include "cli/log/log.h"
#include "cli/mcp/mcp.h"
#include "cli/oom/oom.h"
#include "cli/peak/peak.h"
#include "cli/replay/footprint.h"
#include "cli/replay/replay.h"
#include "cli/report/report.h"
#include "cli/run/run.h"
#include "cli/serve/serve.h"
#include "cli/source/source.h"
#include "cli/steps/steps.h"
#include "cli/top/top.h"
#include "cli/view/view.h"
#include "cli/watch/watch.h"

namespace memprof::cli {
namespace {

struct Verb {
  std::string name, summary;
  int (*run)(int argc, char** argv);
};

const std::vector<Verb>& Verbs() {
  static const std::vector<Verb> verbs = {
      {"run", "record a program", RunVerb},
      {"attach", "record a program that runs already", AttachVerb},
      {"detach", "end the recording that attach began", DetachVerb},
      {"top", "the memory of programs while they run, page after page", TopVerb},
      {"watch", "metrics and alerts of programs while they run", WatchVerb},
      {"view", "the viewer's window on a log, also on one of another machine (ssh://...)",
       ViewVerb},
      {"report", "where the memory went: the whole run on a page or two", ReportVerb},
      {"leaks", "what grows with every step, with evidence and call stacks", LeaksVerb},
      {"holders", "which variables of a running process hold its GPU memory", HoldersVerb},
      {"peak", "when each device held most, what was live then, and the peak without it", PeakVerb},
      {"source", "the program's source files and lines, with the memory of each", SourceVerb},
      {"categories", "what memory was for: parameters, activations, ...", CategoriesVerb},
      {"steps", "the training steps: where they come from, and what each did", StepsVerb},
      {"advise", "what wastes memory or transfers, and what to change, with the exact gain",
       AdviseVerb},
      {"oom", "why a request for memory failed, and what would have let it fit", OomVerb},
      {"budget", "a device's memory as a budget, and what a server's KV cache needs", BudgetVerb},
      {"fragmentation", "free memory that cannot be used, and which blocks pin it",
       FragmentationVerb},
      {"diff", "what two runs, or two moments of one, differ by", DiffVerb},
      {"replay", "the same requests with other allocators, and the lowest possible peak",
       ReplayVerb},
      {"footprint", "the memory that an input of another size will take", FootprintVerb},
      {"fleet", "tables of the logs of many processes, and questions about them", FleetVerb},
      {"mcp", "answers about logs for agents (Model Context Protocol)", McpVerb},
      {"dump", "the events, one a line, as text or JSON", DumpVerb},
      {"export", "the log in another format: CSV, PyTorch, SQLite, HTML, pprof, Perfetto",
       ExportVerb},
      {"import", "another tool's recording as a log (PyTorch, RMM)", ImportVerb},
      {"verify", "whether a log is sound", VerifyVerb},
      {"serve", "a log for the viewer on another machine, which starts this itself", ServeVerb},
      {"doctor", "what this machine allows memprof to record", DoctorVerb},
  };
  return verbs;
}

std::string HelpText() {
  std::string text =
      "Usage: memprof VERB [OPTION...] [ARGUMENT...]\n\n"
      "Records every device allocation of a GPU program and explains where the memory went.\n\n"
      "Verbs:\n";
  for (const Verb& verb : Verbs()) {
    Append(text, "  ", verb.name, std::string(15 - verb.name.size(), ' '), verb.summary, "\n");
  }
  Append(text,
         "\n'memprof VERB --help' explains a verb; 'memprof --version' prints the version.\n"
         "Exit status: 0 fine, 1 the input or the run failed, 2 wrong usage, 3 a --fail-on "
         "condition holds.\n");
  Append(text,
         "\nExamples:\n"
         "  memprof run -o train.mprof -- ./train --steps 50\n"
         "  memprof report train.mprof\n");
  return text;
}

const Verb* FindVerb(const std::string& name) {
  for (const Verb& verb : Verbs()) {
    if (verb.name == name) return &verb;
  }
  return nullptr;
}

int UnknownVerb(const std::string& name) {
  std::vector<std::string> names = {"help"};
  for (const Verb& verb : Verbs()) names.push_back(verb.name);
  const auto nearest = Nearest(name, names);
  PrintError(Cat("there is no verb '", name, "'",
                 nearest ? Cat("; did you mean 'memprof ", *nearest, "'?") : "",
                 " (see 'memprof help')"));
  return kExitUsage;
}

// `memprof help` and `memprof help VERB`.
int Help(int argc, char** argv) {
  if (argc < 2) return WriteOut(HelpText()) ? kExitFine : kExitFailed;
  const Verb* verb = FindVerb(argv[1]);
  if (verb == nullptr) return UnknownVerb(argv[1]);
  std::string help = "--help";
  char* arguments[] = {argv[1], help.data(), nullptr};
  return verb->run(2, arguments);
}

int Main(int argc, char** argv) {
  if (argc < 2) {
    PrintError("no verb: name one (see 'memprof help')");
    return kExitUsage;
  }
  const std::string name = argv[1];
  if (name == "--version" || name == "-V" || name == "version") {
    return WriteOut(Cat("memprof ", MEMPROF_VERSION, "\n")) ? kExitFine : kExitFailed;
  }
  if (name == "help" || name == "--help" || name == "-h") return Help(argc - 1, argv + 1);
  const Verb* verb = FindVerb(name);
  return verb == nullptr ? UnknownVerb(name) : verb->run(argc - 1, argv + 1);
}

}  // namespace
}  // namespace memprof::cli

int main(int argc, char** argv) {
  // A reader such as `head` may close the pipe early: the process then ends quietly.
  std::signal(SIGPIPE, SIG_DFL);
  const int status = memprof::cli::Main(argc, argv);
  // Output that could not be written completely must not end with a status that means a result,
  // such as that of --fail-on.
  const bool flushed = std::fflush(stdout) == 0;
  const int error = errno;
  if (flushed && std::ferror(stdout) == 0) return status;
  memprof::cli::PrintError(memprof::cli::Cat("standard output could not be written",
                                             flushed ? "" : ": ",
                                             flushed ? "" : std::strerror(error)));
  return memprof::cli::kExitFailed;
}
