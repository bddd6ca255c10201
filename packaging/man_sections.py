"""What the man pages say and no --help does: exit status, environment, files. Keys are the pages; "*" stands for the
verbs that read logs."""

STATUSES = {
    "memprof-run": [
        ("1", "The run failed before PROGRAM began; one line on standard error gives the reason."),
        ("2", "Wrong usage."),
        ("126", "PROGRAM could not be started."),
        ("127", "PROGRAM was not found."),
        ("128 + N", "Signal N ended PROGRAM."),
        ("other", "That of PROGRAM."),
    ],
    "*": [
        ("0", "Success."),
        ("1", "The input or the run failed; one line on standard error gives the reason."),
        ("2", "Wrong usage; one line names the error, and often the likely correction."),
    ],
    "--fail-on": [("3", "A condition of --fail-on holds.")],
}

ENVIRONMENT = {
    "memprof-run": [
        ("MEMPROF_DISABLE", "If it is set to anything but 0, nothing is recorded."),
        ("MEMPROF_SHM", "An absolute path: the folder of the shared memory, in place of /dev/shm."),
        ("MEMPROF_CUPTI_LIBRARY", "The path of libcupti.so for --cupti, if it is not found otherwise."),
        ("MEMPROF_TORCH_DIR", "Where --sim keeps the stand-ins of a program's libraries."),
        ("SIMCUDA", "The SPEC of --sim if the option has none."),
        ("SIMCUDA_LIBRARIES", "With --sim: trace prints each call of the stand-ins of cuBLAS, cuDNN, NCCL and so on; "
         "count prints how often each function was called."),
        ("SIMCUDA_CUDNN", "With --sim: a folder with libcudnn.so.9 of cuDNN 9.8 or later, which then chooses the plans "
         "of convolutions. Without it, their workspaces are estimated."),
        ("SIMCUDA_CUDNN_MIB", "With --sim: the workspace of every plan of a convolution, in MiB."),
        ("MEMPROF_OUTPUT, MEMPROF_SOURCE, MEMPROF_STACK_DEPTH, MEMPROF_RING_EVENTS, MEMPROF_MEMORY_MIB, "
         "MEMPROF_WRITE_MS, MEMPROF_CUPTI, "
         "MEMPROF_START, MEMPROF_SIGNAL, MEMPROF_SCAN, MEMPROF_VERBOSE",
         "Set for PROGRAM from the options. A program that preloads libmemprof.so without 'memprof run' (LD_PRELOAD) "
         "sets them itself: MEMPROF_START is now or paused; MEMPROF_CUPTI, MEMPROF_SCAN and MEMPROF_VERBOSE are 1."),
    ],
    "memprof-watch": [
        ("MEMPROF_METRICS_TOKEN", "The token of tcp: addresses: 16 to 1024 visible characters of ASCII."),
        ("OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_METRICS_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS",
         "Where --metrics=otlp sends to, and headers that are sent along."),
        ("MEMPROF_ALERT, MEMPROF_ALERT_TEXT, _LOG, _PID, _RANK, _DEVICE, _SITE, _BYTES, _STEP", "Set for the command of --alert."),
    ],
    "memprof-fleet": [
        ("MEMPROF_PYTHON", "The Python that 'map', 'ask' and 'report' run, in place of python3. It needs "
         "memprof-gpu[fleet]; for --engine=spark also memprof-gpu[fleet-spark]."),
    ],
    "memprof-mcp": [
        ("MEMPROF_PYTHON", "The Python that is run, in place of python3. It needs memprof-gpu[mcp]."),
    ],
    "memprof-viewer": [
        ("MEMPROF_EDITOR", "The editor that opens a source line, such as 'code -g {file}:{line}'. Without it, the one "
         "chosen in the viewer, then VISUAL and EDITOR if they have a window."),
    ],
    "*": [
        ("NO_COLOR", "If it is set and not empty, nothing is coloured."),
        ("FORCE_COLOR", "If it is set and not empty, output is coloured even if it is not to a terminal."),
        ("TERM", "If it is dumb, nothing is coloured."),
    ],
}

FILES = {
    "memprof-run": [
        ("memprof.%p.mprof", "The log, in the current folder, if -o names no other."),
        ("/dev/shm", "The events that are not in the log yet. After a kill, every verb reads them from there."),
        ("~/.cache/memprof/torch", "Stand-ins that --sim made for the libraries of a program."),
    ],
    "memprof-viewer": [
        ("*.mprof", "Logs, as 'memprof run' writes them."),
        ("~/.config/memprof/memprof-viewer.conf", "The window's place, the logs opened last, the chosen editor."),
        ("~/.cache/memprof/memprof-viewer/demo.mprof", "The log of the demo that the first page offers."),
        ("~/.cache/memprof/memprof-viewer/open-*", "Copies of logs on other machines, and other tools' recordings as logs, "
         "while they are read."),
        ("LOG.notes.json", "Notes on a log; in ~/.local/share/memprof/memprof-viewer/notes where its folder cannot be written."),
    ],
    "*": [("*.mprof", "Logs, as 'memprof run' writes them. Where a log of several processes is read, a folder stands "
           "for the logs in it.")],
}

DOCUMENTATION = "The documents docs/*.md are installed in share/doc/memprof, beside share/man."


def of_page(table, page):
    """The entries of a page."""
    return table.get(page, table["*"])
