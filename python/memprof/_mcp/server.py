"""The server: the SDK's, with our tools. Both major versions of the SDK."""
import functools

from .errors import McpError


def sdk():
    """The SDK's server, its error for a tool, its annotations; or one line that says how to get it."""
    try:
        import mcp.types

        try:
            from mcp.server.mcpserver import MCPServer as Server
            from mcp.server.mcpserver.exceptions import ToolError
        except ModuleNotFoundError:
            from mcp.server.fastmcp import FastMCP as Server
            from mcp.server.fastmcp.exceptions import ToolError
    except ImportError as error:
        raise McpError(f"the Python module {(error.name or 'mcp').split('.')[0]} is missing: pip install 'memprof-gpu[mcp]' "
                       "(MEMPROF_PYTHON names a Python that has it)") from None
    return Server, ToolError, mcp.types.ToolAnnotations


def make(desk):
    server_class, error_class, annotations = sdk()
    from . import tools

    server = server_class("memprof", instructions=tools.INSTRUCTIONS, log_level="ERROR")
    for function in tools.all_tools(desk):
        server.add_tool(_told(function, error_class), structured_output=False,
                        annotations=annotations(readOnlyHint=True, idempotentHint=True, openWorldHint=False))
    return server


def _told(function, error_class):
    """The function with its errors as the SDK wants them."""
    @functools.wraps(function)
    def call(*arguments, **named):
        try:
            return function(*arguments, **named)
        except McpError as error:
            raise error_class(str(error)) from None
        except (KeyError, TypeError, IndexError) as error:
            raise error_class(f"memprof's answer has an unexpected form ({type(error).__name__}: {error}); is "
                              "the command of the same version?") from None
        except OSError as error:
            raise error_class(f"cannot be read: {error.strerror or error}") from None

    return call
