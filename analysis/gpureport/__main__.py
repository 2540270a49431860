"""``python -m gpureport``."""

from gpureport.cli import run

if __name__ == "__main__":
    run()
