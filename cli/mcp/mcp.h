// memprof mcp: answers about logs for agents, by the Model Context Protocol.
#pragma once

namespace memprof::cli {

int McpVerb(int argc, char** argv);

}  // namespace memprof::cli
