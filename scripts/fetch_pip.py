"""Install the locked pip into a virtual environment without pip, with the standard library only.

Debian and Ubuntu omit ``ensurepip`` from ``python3``. The script downloads the wheel of the lock file from the
configured index, compares its hash with the lock file, and unpacks it.

    .venv/bin/python scripts/fetch_pip.py requirements.lock
"""

import configparser
import hashlib
import html
import io
import os
import re
import ssl
import sys
import sysconfig
import urllib.request
import zipfile
from pathlib import Path
from urllib.parse import urljoin

DEFAULT_INDEX = "https://pypi.org/simple"
STORES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")


def locked_pip(lock: str) -> tuple[str, set[str]]:
    """Return the version of pip in the lock file's text and the SHA-256 digests of its files."""
    entry = re.search(r"^pip==(\S+).*\n((?:\s+--hash.*\n)*)", lock, re.MULTILINE)
    if entry is None:
        sys.exit("the lock file does not contain pip")
    return entry[1], set(re.findall(r"--hash=sha256:(\w+)", entry[2]))


def pip_setting(name: str) -> str | None:
    """Return a setting of pip: from the environment, else from its configuration files."""
    home = Path.home()
    files = [Path("/etc/pip.conf"), home / ".pip/pip.conf", home / ".config/pip/pip.conf"]
    config = configparser.RawConfigParser()
    config.read([*files, os.environ.get("PIP_CONFIG_FILE", os.devnull)])
    variable = "PIP_" + name.upper().replace("-", "_")
    return os.environ.get(variable) or config.get("global", name, fallback=None)


def trust() -> ssl.SSLContext:
    """Return the trusted certificates; without any on the system, only the hash protects the file."""
    known = [pip_setting("cert"), os.environ.get("REQUESTS_CA_BUNDLE"), os.environ.get("CURL_CA_BUNDLE"), *STORES]
    store = next((path for path in known if path and Path(path).is_file()), None)
    context = ssl.create_default_context(cafile=store)
    system = ssl.get_default_verify_paths()
    if store is None and system.cafile is None and system.capath is None:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def fetch(url: str) -> bytes:
    """Download a URL, through the proxy of the environment."""
    if not url.startswith(("https:", "http:")):
        sys.exit(f"pip can be fetched from an http(s) index only, not from {url}")
    with urllib.request.urlopen(url, timeout=60, context=trust()) as response:  # noqa: S310 - checked above
        return bytes(response.read())


def fetch_wheel(version: str, digests: set[str]) -> bytes:
    """Download the wheel of pip, and check its digest."""
    index = (pip_setting("index-url") or DEFAULT_INDEX).rstrip("/") + "/pip/"
    page = fetch(index).decode()
    link = re.search(rf'href=["\']([^"\'#]*pip-{re.escape(version)}-py3-none-any\.whl)', page)
    if link is None:
        sys.exit(f"pip {version} was not found at {index}")
    wheel = fetch(urljoin(index, html.unescape(link[1])))
    if hashlib.sha256(wheel).hexdigest() not in digests:
        sys.exit(f"pip {version} from {index} does not have the hash of the lock file")
    return wheel


def main() -> None:
    """Fetch, check, unpack."""
    version, digests = locked_pip(Path(sys.argv[1]).read_text(encoding="utf-8"))
    try:
        wheel = fetch_wheel(version, digests)
    except OSError as error:
        sys.exit(f"pip could not be fetched: {error}")
    zipfile.ZipFile(io.BytesIO(wheel)).extractall(sysconfig.get_path("purelib"))


if __name__ == "__main__":
    main()
