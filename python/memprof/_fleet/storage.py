"""Folders and files, local or behind a URI: only what a fleet needs of them.

A file appears whole or not at all: locally it is written under a hidden name and renamed, and stores of objects put
whole objects. Names that begin with '.' or '_' are no data, neither for us nor for Spark.
"""
import contextlib
import logging
import os
import shutil
import tempfile
import urllib.parse

from .errors import FleetError, needed

LOG_SUFFIX = ".mprof"


def is_uri(path):
    return "://" in path and not path.startswith("file://")


def cleaned(path):
    """Without file://, absolute where it is local, without a slash at its end."""
    if is_uri(path):
        return path.rstrip("/")
    if path.startswith("file://"):
        path = urllib.parse.unquote(path[len("file://"):])
    return os.path.abspath(path)


class Local:
    def exists(self, path):
        return os.path.exists(path)

    def is_folder(self, path):
        return os.path.isdir(path)

    def files(self, path):
        """[(path, size, version)] of every file below a folder; the version differs when the content does."""
        found = []
        for folder, folders, names in os.walk(path):
            folders.sort()
            for name in sorted(names):
                with contextlib.suppress(OSError):
                    found.append(self.stat(os.path.join(folder, name)))
        return found

    def has_files(self, path, suffix):
        """Whether any is at any depth."""
        return any(name.endswith(suffix) for _, _, names in os.walk(path) for name in names)

    def stat(self, path):
        stat = os.stat(path)
        return path, stat.st_size, str(stat.st_mtime_ns)

    def names(self, path):
        """Of what is directly in a folder; empty if there is no such folder."""
        try:
            return sorted(os.listdir(path))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def read(self, path):
        with open(path, "rb") as file:
            return file.read()

    def write(self, path, content):
        self.fill(path, lambda file: file.write(content))

    def put(self, source, path):
        """Copies a local file."""
        with open(source, "rb") as log:
            self.fill(path, lambda file: shutil.copyfileobj(log, file, 1 << 20))

    @staticmethod
    def fill(path, fill):
        """Writes a file by fill(file)."""
        folder, name = os.path.split(path)
        os.makedirs(folder, exist_ok=True)
        handle, part = tempfile.mkstemp(prefix=f".{name[:100]}.", suffix=".part", dir=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                fill(file)
                os.fchmod(file.fileno(), 0o666 & ~_umask())
            os.replace(part, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(part)
            raise

    def remove(self, path):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)

    @contextlib.contextmanager
    def here(self, path):
        """The file as a local path."""
        yield path


class Remote:
    """Any file system of fsspec."""

    def __init__(self, uri):
        self.scheme = uri.split("://", 1)[0]
        needed("fsspec")
        import fsspec

        # What gcsfs still reads ahead when the process ends is of no interest, but asyncio tells of each.
        logging.getLogger("asyncio").setLevel(logging.CRITICAL)
        try:
            self.system = fsspec.filesystem(self.scheme, skip_instance_cache=True, use_listings_cache=False)
        except (ImportError, ValueError) as error:
            raise FleetError(f"{uri}: {line(error)}") from None

    def exists(self, path):
        return self.system.exists(path)

    def is_folder(self, path):
        return self.system.isdir(path)

    def files(self, path):
        found = self.system.find(path, detail=True)
        return [self._described(name, found[name]) for name in sorted(found)]

    def has_files(self, path, suffix):
        return self.system.isdir(path)  # there are no empty folders

    def stat(self, path):
        return self._described(path, self.system.info(path))

    def _described(self, name, about):
        version = next((str(about[key]) for key in ("ETag", "etag", "LastModified", "mtime", "created") if about.get(key)),
                       "")
        name = name if "://" in name else f"{self.scheme}://{name}"
        return name, about.get("size") or 0, version

    def names(self, path):
        try:
            return sorted(name.rstrip("/").rsplit("/", 1)[-1] for name in self.system.ls(path, detail=False))
        except FileNotFoundError:
            return []

    def read(self, path):
        return self.system.cat_file(path)

    def write(self, path, content):
        self._fill(path, lambda target: self.system.pipe_file(target, content))

    def put(self, source, path):
        """Copies a local file."""
        self._fill(path, lambda target: self.system.put_file(source, target))

    def _fill(self, path, fill):
        if self.scheme in _OBJECTS:
            fill(path)
            return
        folder, name = path.rsplit("/", 1)
        self.system.makedirs(folder, exist_ok=True)
        part = f"{folder}/.{name[:100]}.{os.getpid()}.part"
        fill(part)
        self.system.mv(part, path)

    def remove(self, path):
        with contextlib.suppress(FileNotFoundError):
            self.system.rm_file(path)

    @contextlib.contextmanager
    def here(self, path):
        with tempfile.NamedTemporaryFile(prefix="memprof-fleet-", suffix=LOG_SUFFIX) as target:
            with self.system.open(path, "rb") as source:
                shutil.copyfileobj(source, target, 1 << 20)
            target.flush()
            yield target.name


_OBJECTS = ("s3", "s3a", "gs", "gcs", "abfs", "az", "memory")  # stores of objects


def _umask():
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def refused(path, done, error):
    return FleetError(f"{path}: cannot be {done}: {line(error)}")


def line(error):
    return (str(error) or type(error).__name__).splitlines()[0][:300]


_remotes = {}


def of(path):
    """What can read and write `path`."""
    if not is_uri(path):
        return Local()
    scheme = path.split("://", 1)[0]
    key = os.getpid(), scheme  # a fork must not share the connections of its parent
    if key not in _remotes:
        _remotes[key] = Remote(path)
    return _remotes[key]


def listing(scheme):
    """A file system of fsspec that remembers what it listed: its reader opens each of the files."""
    import fsspec

    return fsspec.filesystem(scheme, skip_instance_cache=True)


def logs(paths):
    """[(path, size, version)] of the logs in files and folders, each once. A path that is not there is an error."""
    found = {}
    for path in map(cleaned, paths):
        place = of(path)
        try:
            if place.is_folder(path):
                for log in place.files(path):
                    if log[0].endswith(LOG_SUFFIX):
                        found[log[0]] = log
            else:
                found[path] = place.stat(path)
        except FileNotFoundError:
            raise FleetError(f"{path}: no such file or folder") from None
        except FleetError:
            raise
        except Exception as error:  # every store has errors of its own
            raise refused(path, "read", error) from None
    return [found[path] for path in sorted(found)]
