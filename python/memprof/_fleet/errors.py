"""Errors that are one clear line for the user, and status 1."""


class FleetError(Exception):
    pass


def needed(module, extra="fleet"):
    """The module, or one line that says how to get it."""
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        missing = error.name or module
        raise FleetError(f"the Python module {missing} is missing: pip install 'memprof-gpu[{extra}]'") from None
