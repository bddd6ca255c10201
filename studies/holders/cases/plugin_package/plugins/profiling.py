"""A profiler that keeps what it saw."""


class Profiler:
    keep = True

    def __init__(self):
        self.traces = []

    def after(self, module, inputs, output):
        if self.keep:
            self.traces.append({"module": type(module).__name__, "output": output.detach()})


profiler = Profiler()
