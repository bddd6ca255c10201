"""What a question cannot be answered for: one clear sentence."""


class McpError(Exception):
    pass
