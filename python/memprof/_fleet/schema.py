"""The tables of a fleet: what `memprof fleet map` makes of each log. docs/fleet.md says more.

A log becomes a few thousand rows, never its events. Tables are Parquet files, in folders by table, date and job:
TABLE/date=2026-11-26/job=4711/RUN.parquet. The same log gives the same file again, so that a map can be repeated.

Types: text, i64, f64, bool; `bytes` and `ns` are i64 with that unit. A column may be empty (null) where a log does not
know. Columns are only ever added, and then VERSION stays; readers ignore what they do not know. A change of meaning
makes another VERSION, which older readers refuse.
"""

VERSION = 1

# Of every table, first: which process, and which attempt of it.
RUN = (
    ("run", "text", "128 bits in hexadecimal, of host, pid and the time of its start: one process, however often mapped"),
)

TABLES = {
    "runs": (  # one row a log
        ("log", "text", "where it was when it was mapped: a path or a URI"),
        ("job", "text", "the scheduler's name for the job, else the folder's of the log"),
        ("attempt", "i64", "restarts of the job before this one, where the scheduler tells"),
        ("rank", "i64", "in the job"),
        ("local_rank", "i64", "on its host"),
        ("world_size", "i64", ""),
        ("tensor_rank", "i64", "by the environment of Megatron and others; null where nothing tells"),
        ("pipeline_rank", "i64", "the stage"),
        ("data_rank", "i64", ""),
        ("expert_rank", "i64", ""),
        ("host", "text", ""),
        ("pid", "i64", ""),
        ("program", "text", "its command line"),
        ("device", "i64", "the ordinal on which it held most"),
        ("device_name", "text", ""),
        ("device_uuid", "text", ""),
        ("device_bytes", "bytes", "capacity"),
        ("simulated", "bool", "a device of the stand-in CUDA"),
        ("driver_version", "i64", "13000"),
        ("framework", "text", "of the allocator that was seen"),
        ("allocator_settings", "text", "the value of PYTORCH_CUDA_ALLOC_CONF or PYTORCH_ALLOC_CONF, whichever PyTorch read"),
        ("expandable", "bool", "whether segments grew, which is a setting that may not take"),
        ("memprof_version", "text", ""),
        ("start_unix", "ns", "by the host's clock; hosts differ"),
        ("duration", "ns", ""),
        ("ended", "text", "clean, killed, cut: how the log ends"),
        ("steps", "i64", "completed"),
        ("steps_from", "text", "marks, ranges, pattern, none"),
        ("events", "i64", ""),
        ("events_lost", "i64", ""),
        ("losses", "text", "names of counters of lost data that are not 0, with their numbers"),
        ("recorder_cost", "ns", "of the program's threads, by the recorder's own account; null if unknown"),
        ("peak", "bytes", "requested from the driver on `device`"),
        ("device_peak", "bytes", "highest use of the whole device"),
        ("allocated_peak", "bytes", "of the framework's blocks"),
        ("reserved_peak", "bytes", "of the framework's segments"),
        ("peak_step", "i64", ""),
        ("others_peak", "bytes", "the most that other processes held on the device; null if unknown"),
        ("unusable_at_peak", "bytes", "free in segments and of no use for the requests"),
        ("failures", "i64", "requests that failed and were not served later"),
        ("verdict", "text", "of the leak analysis, one sentence"),
    ),
    "rank_step": (  # one row a step
        ("device", "i64", ""),
        ("step", "i64", "its number as marked"),
        ("began", "ns", "since the start of the log"),
        ("duration", "ns", ""),
        ("peak", "bytes", "requested from the driver, highest within the step"),
        ("allocated_peak", "bytes", "of blocks"),
        ("reserved_peak", "bytes", "of segments"),
        ("allocated_end", "bytes", "live when the step ended"),
        ("reserved_end", "bytes", ""),
    ),
    "rank_site_step": (  # the sites with most bytes, in at most 64 parts of the steps; the rest is site ''
        ("device", "i64", ""),
        ("site", "text", "of `sites`"),
        ("first_step", "i64", "of the part"),
        ("last_step", "i64", ""),
        ("born", "bytes", "allocated in the part"),
        ("born_blocks", "i64", ""),
        ("alive", "bytes", "at its end"),
        ("alive_blocks", "i64", ""),
        ("at_peak", "bytes", "live at the peak of the run; the same in each part"),
    ),
    "sites": (  # one row a site that another table names
        ("site", "text", "128-bit hash, in hexadecimal, of the key below: the same in all ranks, jobs and days"),
        ("key", "text", "functions, files and lines of the stack by which sites are told apart"),
        ("name", "text", "Net.forward (train.py:8)"),
        ("function", "text", ""),
        ("file", "text", ""),
        ("line", "i64", ""),
        ("library", "text", "that asked, where it is none of CUDA, PyTorch, Python or the C library"),
    ),
    "ledger": (  # where each byte of the device was, at the peak and at the end
        ("device", "i64", ""),
        ("moment", "text", "peak, end"),
        ("kind", "text", "blocks, cached, linear, pools, others, untracked, free, ..."),
        ("size", "bytes", ""),
    ),
    "categories": (  # at the peak
        ("device", "i64", ""),
        ("category", "text", "parameters, gradients, optimizer state, activations, ..."),
        ("size", "bytes", ""),
        ("blocks", "i64", ""),
    ),
    "leaks": (
        ("device", "i64", ""),
        ("site", "text", "of `sites`"),
        ("tier", "text", "definite, suspected, growing"),
        ("basis", "text", "steps, time, scan"),
        ("score", "f64", "0 to 100"),
        ("slope", "f64", "bytes a step; 0 by time"),
        ("slope_per_s", "f64", "bytes a second; 0 by steps"),
        ("size", "bytes", "still held"),
        ("blocks", "i64", ""),
        ("first_step", "i64", "of the oldest survivor that is evidence"),
        ("holder", "text", "the variable that keeps most of it, where somebody looked"),
    ),
    "ooms": (
        ("device", "i64", ""),
        ("step", "i64", ""),
        ("occurred", "ns", "since the start of the log"),
        ("asked", "bytes", ""),
        ("free", "bytes", "by the driver; null if unknown"),
        ("cause", "text", "capacity, fragmentation, ... (docs/oom.md)"),
        ("recovered", "bool", ""),
        ("site", "text", "that asked"),
        ("growth_site", "text", "that filled the device, if one did"),
        ("remedy", "text", "the least drastic change with which it would have fitted"),
    ),
    "fragmentation": (  # at the peak of reserved memory
        ("device", "i64", ""),
        ("reserved", "bytes", ""),
        ("allocated", "bytes", ""),
        ("unusable", "bytes", "free and of no use"),
        ("site", "text", "whose blocks pin most; '' for all"),
        ("pinned", "bytes", "free memory in segments that the site's blocks keep"),
    ),
    "advice": (
        ("device", "i64", ""),
        ("kind", "text", "of docs/advise.md"),
        ("gain", "bytes", "0 if it is not about bytes"),
        ("site", "text", ""),
        ("words", "text", ""),
    ),
}


def columns(table):
    """((name, type, description), …) of a table, the run first."""
    return RUN + TABLES[table]
