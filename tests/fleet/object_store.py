"""A store of objects as S3's on this machine, by moto, for one test."""
import logging
import os


def bucket(case):
    """s3fs of a store with an empty `bucket`, which the environment's settings lead to; skips the test without packages."""
    try:
        import s3fs
        from moto.server import ThreadedMotoServer
    except ImportError as error:
        case.skipTest(str(error))
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    case.addCleanup(server.stop)
    host, port = server.get_host_and_port()
    settings = {"AWS_ENDPOINT_URL": f"http://{host}:{port}", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x",
                "AWS_DEFAULT_REGION": "us-east-1"}
    os.environ.update(settings)
    case.addCleanup(lambda: [os.environ.pop(name) for name in settings])
    store = s3fs.S3FileSystem()
    store.mkdir("bucket")
    return store
