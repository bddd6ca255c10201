// The options and the help of `memprof mcp`; the server is Python's.
#include "cli/mcp/mcp.h"

#include <cstdint>
#include <string>

#include "cli/console/command_line.h"
#include "cli/console/options.h"
#include "cli/run/python.h"

namespace memprof::cli {

int McpVerb(int argc, char** argv) {
  std::string source;
  std::int64_t seconds = 60;
  bool skill = false;
  Options options(
      "mcp [OPTION...] [FOLDER|LOG...]",
      "Answers the questions of an agent about logs, over standard input and output, by the Model "
      "Context Protocol. It reads the given logs and those below the given folders (default: the "
      "current one), and nothing else; it writes nothing. An agent's client starts it. Needs "
      "Python: pip install memprof-gpu[mcp].");
  options.Text("source", &source, "DIR",
               "The program's source, whose lines may be quoted: only files below it that a call "
               "stack of the log names. Default: none, only numbers of lines.");
  options.Integer("seconds", &seconds, "N", "How long one question may take. Default: 60.");
  options.Flag("skill", &skill, "Print SKILL.md, which tells an agent how to use the tools.");
  options.Example("memprof mcp --source=/data/project /data/logs",
                  "What a client starts. docs/mcp.md has its configuration.");
  options.Example("memprof mcp --skill > SKILL.md",
                  "Instructions for the agent, to be put where its client looks for skills.");
  if (const int status = ParseOrExit(options, "mcp", argc, argv); status >= 0) return status;
  if (seconds < 1 || seconds > 3600) return UsageError("mcp", "--seconds is 1 to 3600");
  return BecomePython("memprof._mcp", {argv + 1, argv + argc});
}

}  // namespace memprof::cli
