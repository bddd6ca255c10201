"""Parts of the pytest plugin (memprof/pytest_plugin.py); none of them imports pytest."""
