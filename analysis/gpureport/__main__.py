"""``python -m gpureport`` and the command ``gpureport``."""

import sys


def run() -> int:
    """Run the command line and return its exit code; interrupts print no traceback, and SIGTERM is one if not ignored.

    One that arrives while the program ends is ignored, so that temporary folders are removed.
    """
    import signal

    if signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        from gpureport.cli import run as run_command  # takes a tenth of a second

        code = run_command()
    except KeyboardInterrupt:
        code = 130
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    return code


if __name__ == "__main__":
    sys.exit(run())
