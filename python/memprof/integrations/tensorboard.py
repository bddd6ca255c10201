"""TensorBoard: the ten lines as text, and scalars. TensorBoard keeps no files: the text says where the log is."""

from . import careful, figures


def log_text(profile, writer, step=0):
    """The ten lines, as `memprof` in the tab "Text"."""
    with careful("TensorBoard"):
        writer.add_text("memprof", "\n".join("    " + line for line in str(profile).split("\n")), step)


def log_scalars(writer, step=None):
    """The figures of now."""
    with careful("TensorBoard"):
        for name, value in figures().items():
            writer.add_scalar(name, value, step)
