"""uv installs from where pip is configured to look: the real tools, and indexes with an authority of their own."""

from __future__ import annotations

import functools
import hashlib
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import venv
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from typing_extensions import override

from deploy.environment import PIP_INSTALL, UV_INSTALL
from deploy.pip_settings import UntranslatableError, read_settings, translate

# pip then reads no file of this machine.
NO_FILES = {"PIP_CONFIG_FILE": os.devnull}
LISTING = r"""
:env:.timeout='5'
:env:.index-url=''
download.index-url='no'
global.find-links='\n/one\n/two'
global.index-url='global'
global.timeout='4'
install.index-url='install'
global.quiet='1'
WARNING: a line of pip
"""


class QuietHandler(SimpleHTTPRequestHandler):
    """Files of a folder, without a log."""

    @override
    def log_message(self, format: str, *args: object) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Site:
    """Two indexes by HTTPS: `one` has demo 1.0, `two` has 2.0 too; `two` also has a 3.0 that must be built."""

    folder: Path
    constraints: Path
    one: str
    two: str
    # Asks for a certificate of the client.
    closed: str

    @property
    def authority(self) -> str:
        return str(self.folder / "authority.pem")

    def uv(self, requirement: str, pip: dict[str, str], **other: str) -> str:
        """Return what uv installed with these settings of pip, or its error; `other` are variables of the environment."""
        environment = self._environment(pip) | other
        command = [sys.executable, "-I", "-m", "pip", "config", "list"]
        listing = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        translated = translate(read_settings(listing, environment), environment)
        target = self._new_environment(other.get("TARGET"))
        translated["UV_PYTHON"] = str(target / "bin" / "python")
        done = run(*UV_INSTALL, requirement, environment=translated)
        return done or describe(target)

    def pip(self, requirement: str, pip: dict[str, str]) -> str:
        """Return what pip itself installed."""
        target = self._new_environment(None)
        command = (*PIP_INSTALL[:2], "--python", str(target / "bin" / "python"), *PIP_INSTALL[2:])
        done = run(*command, requirement, environment=self._environment(pip))
        return done or describe(target)

    def _environment(self, pip: dict[str, str]) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "TMPDIR"}}
        variables = {f"PIP_{name.replace('-', '_').upper()}": value for name, value in pip.items()}
        # A cache of its own: a full one answers without its sources.
        return kept | NO_FILES | {"PIP_CACHE_DIR": tempfile.mkdtemp(dir=self.folder)} | variables

    def _new_environment(self, path: str | None) -> Path:
        target = Path(path or self.folder / "an environment")
        venv.EnvBuilder(clear=True, symlinks=True).create(target)
        return target


def run(*arguments: str, environment: dict[str, str]) -> str:
    """Run a module of this Python; return its output if it fails."""
    command = [sys.executable, "-I", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else ""


def describe(environment: Path) -> str:
    """Return what the only module says."""
    (module,) = environment.glob("lib/*/site-packages/demo.py")
    return module.read_text()


def put_wheel(folder: Path, version: str, says: str) -> str:
    """Write a wheel of demo; return a link to it with its hash."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"demo-{version}-py3-none-any.whl"
    information = f"demo-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("demo.py", says)
        wheel.writestr(f"{information}/METADATA", f"Metadata-Version: 2.1\nName: demo\nVersion: {version}\n")
        wheel.writestr(f"{information}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{information}/RECORD", "demo.py,,\n")
    return f'<a href="{path.name}#sha256={hashlib.sha256(path.read_bytes()).hexdigest()}">{path.name}</a>'


def make_certificates(folder: Path) -> None:
    """Write authority.pem, and signed by it server.pem and client.pem, each with its key."""
    request = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2")
    rows = {
        "authority": ("-subj", "/CN=tests", "-addext", "keyUsage=keyCertSign"),
        "server": ("-subj", "/CN=server", "-addext", "subjectAltName=DNS:localhost"),
        "client": ("-subj", "/CN=client", "-addext", "extendedKeyUsage=clientAuth"),
    }
    for name, options in rows.items():
        signed = (
            ()
            if name == "authority"
            else ("-CA", "authority.pem", "-CAkey", "authority.key", "-addext", "basicConstraints=CA:FALSE")
        )
        command = [*request, *options, *signed, "-keyout", f"{name}.key", "-out", f"{name}.pem"]
        subprocess.run(command, cwd=folder, capture_output=True, check=True)
        if name != "authority":
            (folder / f"{name}.pem").write_text(
                (folder / f"{name}.pem").read_text() + (folder / f"{name}.key").read_text()
            )


def serve(folder: Path, tls: ssl.SSLContext) -> ThreadingHTTPServer:
    """Serve a folder; a failed handshake ends only its own thread."""
    server = ThreadingHTTPServer(("localhost", 0), functools.partial(QuietHandler, directory=str(folder)))
    server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.handle_error = lambda request, client_address: None  # noqa: ARG005
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("a site")
    make_certificates(folder)
    for index, versions in {"one": ("1.0",), "two": ("1.0", "2.0")}.items():
        links = [put_wheel(folder / index / "demo", version, f"{version} of {index}") for version in versions]
        if index == "two":
            (folder / index / "demo" / "demo-3.0.tar.gz").touch()
            links.append('<a href="demo-3.0.tar.gz">demo-3.0.tar.gz</a>')
        (folder / index / "demo" / "index.html").write_text("\n".join(links))
    put_wheel(folder / "wheels", "1.5", "1.5 of a folder")
    constraints = tmp_path_factory.mktemp("constraints") / "demo.txt"
    constraints.write_text("demo<2\n")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(folder / "server.pem")
    closed_tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(folder / "authority.pem"))
    closed_tls.load_cert_chain(folder / "server.pem")
    closed_tls.verify_mode = ssl.CERT_REQUIRED
    servers = [serve(folder, tls), serve(folder, closed_tls)]
    root, closed = (f"https://localhost:{server.server_port}" for server in servers)
    yield Site(folder, constraints, f"{root}/one", f"{root}/two", f"{closed}/one")
    for server in servers:
        server.shutdown()
        server.server_close()


# Name, options of pip, what is required, what is installed.
ROWS: dict[str, tuple[Callable[[Site], dict[str, str]], str, str]] = {
    "index, authority": (lambda site: {"index-url": site.one, "cert": site.authority}, "demo", "1.0 of one"),
    "trusted host": (lambda site: {"index-url": site.one, "trusted-host": "localhost"}, "demo", "1.0 of one"),
    "client certificate": (
        lambda site: {"index-url": site.closed, "cert": site.authority, "client-cert": str(site.folder / "client.pem")},
        "demo",
        "1.0 of one",
    ),
    "one name in two indexes": (
        lambda site: {"index-url": site.one, "extra-index-url": site.two, "cert": site.authority},
        "demo==2.0",
        "2.0 of two",
    ),
    "folder alone": (
        lambda site: {"no-index": "true", "find-links": (site.folder / "wheels").as_uri()},
        "demo",
        "1.5 of a folder",
    ),
    "folder beside an index": (
        lambda site: {"index-url": site.one, "cert": site.authority, "find-links": (site.folder / "wheels").as_uri()},
        "demo",
        "1.5 of a folder",
    ),
    "constraint, wheels only": (
        lambda site: {
            "index-url": site.two,
            "cert": site.authority,
            "constraint": str(site.constraints),
            "only-binary": ":all:",
        },
        "demo",
        "1.0 of two",
    ),
}


@pytest.mark.parametrize("row", ROWS)
def test_uv_installs_what_pip_would(site: Site, row: str) -> None:
    options, requirement, installed = ROWS[row]
    assert site.uv(requirement, options(site)) == installed
    assert site.pip(requirement, options(site)) == installed


def test_unknown_authority_is_refused(site: Site) -> None:
    assert "certificate" in site.uv("demo", {"index-url": site.one, "retries": "0"})


def test_authority_of_other_programs_counts(site: Site) -> None:
    """pip's HTTP library reads the variable of its own."""
    assert site.uv("demo", {"index-url": site.one}, REQUESTS_CA_BUNDLE=site.authority) == "1.0 of one"


@pytest.mark.parametrize("home", ["read-only", "missing"])
def test_home_need_not_be_writable(site: Site, tmp_path: Path, home: str) -> None:
    (tmp_path / "read-only").mkdir(mode=0o500)
    options = {"index-url": site.one, "cert": site.authority}
    assert site.uv("demo", options, HOME=str(tmp_path / home), PIP_CACHE_DIR="") == "1.0 of one"
    assert not (tmp_path / "missing").exists()


def test_cache_may_be_on_another_file_system(site: Site) -> None:
    """Files are copied then."""
    options = {"index-url": site.one, "cert": site.authority}
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        assert Path(folder).stat().st_dev != site.folder.stat().st_dev
        assert site.uv("demo", options, TARGET=folder) == "1.0 of one"


@pytest.mark.parametrize("digest", ["0" * 64, None], ids=["wrong", "right"])
def test_hash_decides_without_require_hashes(site: Site, tmp_path: Path, digest: str | None) -> None:
    """uv's own --require-hashes would refuse constraints that are ranges."""
    right = hashlib.sha256((site.folder / "one/demo/demo-1.0-py3-none-any.whl").read_bytes()).hexdigest()
    lock = tmp_path / "lock.txt"
    lock.write_text(f"demo==1.0 --hash=sha256:{digest or right}\n")
    options = {"index-url": site.one, "cert": site.authority, "constraint": str(site.constraints)}
    said = site.uv(f"-r{lock}", options)
    assert said == "1.0 of one" if digest is None else "Hash mismatch" in said


def test_proxy_is_asked(site: Site) -> None:
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        options = {
            "index-url": "https://index.invalid",
            "proxy": f"http://127.0.0.1:{proxy.getsockname()[1]}",
            "retries": "0",
        }
        proxy.settimeout(60)  # where uv cannot run, nobody comes
        installing = threading.Thread(target=site.uv, args=("demo", options), kwargs={"NO_PROXY": "*"})
        installing.start()
        connection = proxy.accept()[0]
        assert connection.recv(100).startswith(b"CONNECT index.invalid:443 ")
        connection.close()
        proxy.close()
        installing.join()


def test_settings_are_weighed_as_pip_does() -> None:
    """Variables before the section of `pip install`, that before all commands' section; nothing is nothing."""
    assert read_settings(LISTING, {}) == {"find-links": "/one\n/two", "index-url": "install", "timeout": "5"}


def test_variables_of_the_user_count_as_for_pip() -> None:
    """None of uv's, but for its cache; not those that an option of pip replaces."""
    own = {"UV_INDEX_URL": "x", "UV_CACHE_DIR": "/c", "no_proxy": "x", "SSL_CERT_DIR": "x", "PATH": "p", "HOME": "/"}
    options = {"proxy": "http://p:1", "cert": "~/a.pem", "find-links": "a b", "cache-dir": "/d", "no-index": "0"}
    translated = translate(options, own)
    assert {name: value for name, value in translated.items() if name not in {"PATH", "HOME"}} == {
        "UV_NO_CONFIG": "1",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_SYSTEM_CERTS": "1",
        "ALL_PROXY": "http://p:1",
        "SSL_CERT_FILE": str(Path("~/a.pem").expanduser()),
        "UV_FIND_LINKS": "a,b",
        "UV_NO_INDEX": "0",
        "UV_CACHE_DIR": "/c",
    }


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"keyring-provider": "import"}, "pip's keyring-provider"),
        ({"uploaded-prior-to": "P3D"}, "pip's uploaded-prior-to"),
        ({"no-binary": ":all:"}, "pip's no-binary"),
        ({"index-url": "http://a.example/simple"}, "index-url is plain HTTP from a.example"),
        ({"find-links": "http://a:b@a.example/x http://b.example", "trusted-host": "a.example:80"}, "from b.example"),
    ],
)
def test_what_uv_lacks_is_named(options: dict[str, str], words: str) -> None:
    with pytest.raises(UntranslatableError, match=words):
        translate(options, {})
