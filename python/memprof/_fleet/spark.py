"""A session of Spark, and our own code on its hosts."""
import io
import os
import re
import sys
import tempfile
import zipfile

from . import storage
from .errors import FleetError, needed

# For data that is small for Spark; --conf changes each of them.
_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.adaptive.enabled": "true",
    # Thousands of small files: fewer tasks, and listed by the driver.
    "spark.sql.files.openCostInBytes": "65536",
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
    # A row of a merged file may take less than a byte. Without this, Spark takes millions of rows for few, and sends them everywhere.
    "spark.sql.sources.fileCompressionFactor": "100",
    "spark.log.level": "ERROR",
}
# A session within this process is short: what its Java compiles thoroughly, or collects in parallel, costs more than it saves.
_LOCAL = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
_PASSED = ("MEMPROF_COMMAND", "AWS_ENDPOINT_URL")  # names and places, never keys


def settings(master, changes):
    """{name: value}, with changes NAME=VALUE."""
    found = {**_DEFAULTS, **(_LOCAL if re.fullmatch(r"local(\[.*\])?", master) else {})}
    for name in _PASSED:
        if os.environ.get(name):
            found[f"spark.executorEnv.{name}"] = os.environ[name]
    for change in changes:
        name, equals, value = change.partition("=")
        if not equals:
            raise FleetError(f"--conf {change}: it is NAME=VALUE")
        found[name] = value
    return found


def session(options):
    needed("pyspark", "fleet-spark")
    from pyspark.sql import SparkSession

    master = options.master or "local[*]"
    if master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("memprof fleet").master(master)
    for name, value in settings(master, options.conf or ()).items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except Exception as error:  # Py4J's, Java's, or that there is no Java
        raise FleetError(f"Spark did not start: {storage.line(error)}") from None


def failure(error):
    """One line of an error with the traces of Python and Java: ours if it has one, else the first that names an exception."""
    own = re.search(r"FleetError: (.*)", str(error))
    java = re.search(r"^: (?:[\w.$]+\.)?(\w+: .*)", str(error), re.M)
    return FleetError(own.group(1) if own else f"Spark: {java.group(1)[:300] if java else storage.line(error)}")


def ship(context):
    """Sends this package to the executors, which need nothing installed but Python, pyarrow and memprof."""
    package = os.path.dirname(os.path.abspath(__file__))
    parent = os.path.dirname(package)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for folder in (parent, package):
            for name in sorted(os.listdir(folder)):
                if name.endswith(".py"):
                    path = os.path.join(folder, name)
                    archive.write(path, os.path.relpath(path, os.path.dirname(parent)))
    folder = tempfile.mkdtemp(prefix="memprof-fleet-")  # Spark reads it as long as the session lives
    path = os.path.join(folder, "memprof_fleet.zip")
    with open(path, "wb") as file:
        file.write(stream.getvalue())
    context.addPyFile(path)
