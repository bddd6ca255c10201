"""memprof's answers for agents: a server of the Model Context Protocol. `memprof mcp` starts it; docs/mcp.md says more."""
