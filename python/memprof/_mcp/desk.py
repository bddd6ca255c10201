"""What every question needs: the logs, the verbs, the sources."""
from .errors import McpError


class Desk:
    def __init__(self, logs, verbs, source):
        self.logs = logs
        self.verbs = verbs
        self.source = source  # a folder, or None

    def ask(self, verb, log, *options):
        return self.verbs.ask(verb, self.logs.paths(log), *options)

    def kept(self, log):
        """What stays: what grows, as `leaks` ranks it; if nothing does, what was alive at the end."""
        found = self.ask("leaks", log)
        return [*found["leaks"], *found["rising"]] or found["live_at_exit"]

    def allocation(self, log, example):
        """The event that made a block, where the log says it in reasonable time; else None."""
        step = str(example["birth_step"])
        options = ["--op=alloc", f"--address={example['address']}", "--limit=1000"]
        if example["birth_step"] >= 0:
            options += [f"--from-step={step}", f"--to-step={step}"]
        paths = self.logs.paths(log)
        if len(paths) != 1:
            return None
        try:
            for event in self.verbs.lines("dump", paths, *options):
                if event["time_ns"] == example["birth_time_ns"]:
                    return event["seq"]
        except McpError:
            pass  # the answer is as good without the number
        return None

    def first_event(self, log, step):
        """The first event of a step, or None."""
        if len(self.logs.paths(log)) != 1:
            return None
        for each in self.ask("steps", log)["steps"]:
            if each["number"] == step:
                return each["first_event"]
        return None


def cite(log, step=None, event=None):
    return {name: value for name, value in (("log", log), ("step", step), ("event", event)) if value is not None}
