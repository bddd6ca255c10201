"""Where the tables of a log are, below the root of a fleet."""
import datetime
import hashlib
import json
import urllib.parse

from . import schema, storage
from .errors import FleetError

SCHEMA = "_schema.json"
FAILED = "_failed"  # one file a log that could not be read
MAPPED = "_mapped"  # one file a log that was, in that state
_LONGEST = 120


def date(start_unix):
    """The day of an instant in UTC, for folders; 1970-01-01 if the clock's time is unknown or absurd."""
    try:
        day = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=(start_unix or 0) // 10**9)
    except (OverflowError, TypeError):
        day = datetime.datetime(1970, 1, 1)
    return day.strftime("%Y-%m-%d").rjust(10, "0")


def encoded(name):
    """A name that no store, glob or parser of partitions takes for anything else; long ones are cut and hashed."""
    text = urllib.parse.quote(name or "none", safe="", errors="replace").replace("~", "%7E")
    if len(text) > _LONGEST:
        digest = hashlib.sha1(text.encode()).hexdigest()[:16]
        text = f"{text[:_LONGEST - 17].rsplit('%', 1)[0]}-{digest}"
    return text


def folder(root, table, day, job):
    return f"{root}/{table}/date={day}/job={encoded(job)}"


def mapped(root, log, size, version):
    """Another name when the log has another size or version, or the tables have another meaning."""
    key = json.dumps([schema.VERSION, log, size, version])
    return f"{root}/{MAPPED}/{hashlib.sha1(key.encode('utf-8', 'surrogatepass')).hexdigest()}.json"


def failed(root, log):
    digest = hashlib.sha1(log.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{root}/{FAILED}/{encoded(log.rsplit('/', 1)[-1])}-{digest}.json"


def check(place, root):
    """Refuses a folder that is no fleet, or one of another VERSION."""
    try:
        found = json.loads(place.read(f"{root}/{SCHEMA}"))
        version = found["version"]
    except FileNotFoundError:
        raise FleetError(f"{root}: no fleet is here ('memprof fleet map LOG... -o {root}' makes one)") from None
    except Exception as error:  # every store has errors of its own
        raise storage.refused(f"{root}/{SCHEMA}", "read", error) from None
    if version != schema.VERSION:
        raise FleetError(f"{root}: its tables have version {version}, and this memprof reads version {schema.VERSION}")


def create(place, root):
    """Makes the root of a fleet, or checks the one that is there."""
    path = f"{root}/{SCHEMA}"
    if place.exists(path):
        check(place, root)
    else:
        place.write(path, json.dumps({"version": schema.VERSION}).encode() + b"\n")
