"""The edge: what it passes and repeats, and what it refuses to start with; its files are read, its script runs."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from fastapi.routing import APIRoute

from proxy.app import OPERATOR_ROUTES, create_app
from proxy.settings import ProxySettings

FILES = {path.name: path.read_text() for path in Path("deploy/edge").glob("*.conf")}
NGINX = FILES["nginx.conf"]
START = Path("deploy/edge/start.sh")
# Operators' paths, and those that name the servers.
WITHHELD = {"/health", "/startupz"} | {
    route.path for routes in OPERATOR_ROUTES for route in routes.routes if isinstance(route, APIRoute)
}


# Each location that passes requests, in order: the first that matches counts. With its own rule of repeats, if any.
PLACES = [
    (re.compile(pattern), " ".join(re.findall(r"proxy_next_upstream ([^;]*);", body)))
    for pattern, body in re.findall(r"location ~ (\S+) \{([^}]*proxy_pass[^}]*)\}", NGINX.partition("listen unix:")[0])
]


def repeats(path: str) -> str | None:
    """Return a path's own rule of repeats, or None where no location passes it to a proxy."""
    return next((rule for pattern, rule in PLACES if pattern.search(path)), None)


def passed(path: str) -> bool:
    return repeats(path) is not None


def start(tmp_path: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the script with a program in nginx's place that shows its settings."""
    fake = tmp_path / "nginx"
    fake.write_text('#!/bin/sh\necho "nginx $*"; cat /tmp/edge/*.conf\n'.replace("/tmp/edge", str(tmp_path)))
    fake.chmod(0o755)
    script = START.read_text().replace("/tmp/edge", str(tmp_path)).replace("/certificates/", f"{tmp_path}/")
    return subprocess.run(
        ["sh", "-c", script],
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def repeats_and_reads(settings: str) -> tuple[float, ...]:
    """Return for how many seconds a request may be repeated, and an answer awaited."""
    names = ("proxy_next_upstream_timeout", "proxy_read_timeout")
    return tuple(float(re.findall(rf"{name} (\d+)s;", settings)[0]) for name in names)


def test_edge_passes_exactly_the_clients_paths() -> None:
    """A new path of the proxy is either passed or withheld here, on purpose."""
    app = create_app(ProxySettings(replicas=("http://127.0.0.1:1",)))
    paths = {route.path for route in app.routes if isinstance(route, APIRoute)}
    assert {path for path in paths if not passed(path)} == WITHHELD
    assert passed("/docs/swagger-ui.css")
    assert passed("/openapi.json")
    assert not passed("/docsx")
    assert not passed("/keys/0123")


@pytest.mark.parametrize(
    ("paths", "rule"),
    [
        ("/translate /translate/ /detect /imme /kiss/ /v2/translate /v3/translate", "error timeout non_idempotent"),
        ("/deepl/v2/translate /libretranslate/translate /libretranslate /imme/x", "error timeout non_idempotent"),
        ("/deeplx/translate /deeplx/v1/translate /deeplx/v2/translate", "error timeout non_idempotent"),
        ("/glossaries /glossaries/1 /v2/glossaries /v3/glossaries/1/dictionaries /deepl/v3/glossaries/1", "off"),
        (
            "/v2/languages /v3/languages /v2/usage /deepl/v2/glossary-language-pairs /deepl /usage/ /docs/start.js /v2/document",
            "",
        ),
        ("/", ""),
        ("/assets/0123/translate/page.js", "error timeout http_404"),
        ("/status /assets", None),
        ("/v4/translate /glossariesx /x/translate /deeplxx /v22", None),
        ("/keys /fleet/replicas /metrics /health /x/../keys", None),
    ],
)
def test_edge_repeats_translations_but_no_changes(paths: str, rule: str | None) -> None:
    assert {path: repeats(path) for path in paths.split()} == dict.fromkeys(paths.split(), rule)


def test_edge_repeats_for_no_answer() -> None:
    rules = re.findall(r"proxy_next_upstream ([^;]*);", re.sub("#.*", "", NGINX))
    rules.remove("error timeout http_404")  # of the pages' files
    assert set(" ".join(rules).split()) == {"error", "timeout", "non_idempotent", "off"}, "no status such as 503"
    assert re.findall(r"proxy_next_upstream_tries (\d+);", NGINX) == ["2"]


def test_each_request_has_its_own_list_of_proxies() -> None:
    """The list of an upstream that is resolved again ends the retries of requests in flight."""
    assert not re.search(r"^ *upstream ", NGINX, re.MULTILINE)
    assert set(re.findall(r"proxy_pass (\S+);", NGINX)) == {"http://$proxies"}
    assert set(re.findall(r"set \$proxies (\S+);", NGINX)) == {"proxy:8000"}


def test_edge_settings_follow_the_proxies(tmp_path: Path) -> None:
    done = start(tmp_path)
    assert done.returncode == 0
    assert "nginx -c /etc/pairway/nginx.conf" in done.stdout
    fields = ProxySettings.model_fields
    longest = fields["max_request_timeout"].default
    assert repeats_and_reads(done.stdout) == (longest + 1, longest + 6)
    assert f"client_max_body_size {fields['max_body_bytes'].default};" in done.stdout
    done = start(tmp_path, PROXY_MAX_REQUEST_TIMEOUT="900.5", PROXY_MAX_BODY_BYTES="4096")
    assert repeats_and_reads(done.stdout) == (901, 906)
    assert "client_max_body_size 4096;" in done.stdout


def test_longest_request_is_repeated_and_a_time_out_is_not(tmp_path: Path) -> None:
    """A proxy may die just before its last answer; one that timed out was not dead. 0 would be no limit."""
    for longest in ("0.5", "30", "600"):
        repeats, reads = repeats_and_reads(start(tmp_path, PROXY_MAX_REQUEST_TIMEOUT=longest).stdout)
        assert float(longest) < repeats < reads
    assert "proxy_next_upstream_timeout" not in re.sub("#.*", "", NGINX), "start.sh writes it"


def test_edge_logs_no_query_strings() -> None:
    (line,) = re.findall(r"log_format .*?;", NGINX, re.DOTALL)
    assert set(re.findall(r"\$\w+", line)).isdisjoint(
        {"$request", "$request_uri", "$args", "$query_string", "$http_referer"}
    )
    within = NGINX.partition("http {")[2]
    assert re.findall(r"error_log (\S+) (\w+);", within) == [("/dev/stderr", "emerg")], "others write request lines"
    guide = Path("docs/operations/nginx.md").read_text()
    assert re.findall(r"error_log +\S+ (\w+);", guide) == ["emerg"]
    assert not re.search(r"\$request\b|\$request_uri|\$args|combined", guide)


def test_edge_passes_the_host_with_its_port() -> None:
    """nginx inherits no header where a server sets one, and proxies compare Host with Origin."""
    servers = NGINX.split("    server {\n")[1:]
    assert len(servers) == 2
    for server in servers:
        assert "        proxy_set_header Host $http_host;" in server


def test_edges_own_errors_are_problems() -> None:
    for status, code in {
        400: "bad-request",
        404: "not-found",
        413: "too-large",
        500: "internal",
        502: "replica-failed",
    }.items():
        assert re.search(rf"return {status} '{{[^']*\"status\":{status},\"code\":\"{code}\"", FILES["errors.conf"]), (
            status
        )
    assert re.search(r"return 504 '{[^']*\"code\":\"deadline-exceeded\"", FILES["errors.conf"])
    handled = set(re.findall(r"\d{3}", " ".join(re.findall(r"error_page ([^=/@]*)", FILES["errors.conf"]))))
    assert handled == {"400", "404", "413", "414", "494", "495", "496", "497", "500", "502", "504"}
    assert re.findall(r"error_page (429|430|432) = (\S+);", NGINX) == [
        ("429", "@refused"),
        ("432", "@refused_with_json"),
        ("430", "@refused"),
        ("430", "@refused_with_json"),
    ]


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.168.1.7"])
@pytest.mark.parametrize("keys_setting", ["off", "auto", ""])
def test_edge_beyond_loopback_needs_keys(tmp_path: Path, address: str, keys_setting: str) -> None:
    done = start(tmp_path, PAIRWAY_EDGE_ADDRESS=address, PROXY_KEYS=keys_setting)
    assert done.returncode == 78
    assert f"PAIRWAY_EDGE_ADDRESS={address} can be reached from other machines, and PROXY_KEYS is not on" in done.stderr
    assert start(tmp_path, PAIRWAY_EDGE_ADDRESS=address, PROXY_KEYS="on").returncode == 0


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.2", ""])
def test_edge_on_loopback_needs_no_keys(tmp_path: Path, address: str) -> None:
    assert start(tmp_path, PAIRWAY_EDGE_ADDRESS=address).returncode == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PROXY_MAX_BODY_BYTES", "2m; evil"),
        ("PROXY_MAX_REQUEST_TIMEOUT", "soon"),
        ("PAIRWAY_EDGE_CLIENT_CONNECTIONS", "0"),
        ("PAIRWAY_EDGE_CONNECTIONS", "many"),
        ("PAIRWAY_EDGE_CLIENT_BODIES", "-1"),
        ("PAIRWAY_EDGE_SPARE_BODIES", "1.5"),
        ("PAIRWAY_EDGE_BODIES_MB", "9" * 30),
        ("PAIRWAY_EDGE_BODIES_MB", "0128"),
        ("PROXY_MAX_REQUEST_TIMEOUT", "08"),
        ("PAIRWAY_EDGE_BALANCERS", "10.0.0.1;evil"),
    ],
)
def test_edge_refuses_wrong_numbers(tmp_path: Path, name: str, value: str) -> None:
    done = start(tmp_path, **{name: value})
    assert done.returncode == 78
    assert f"{name}={value}" in done.stderr


def places(tmp_path: Path, **environ: str) -> dict[str, int]:
    """Return the limits that the script writes."""
    found = re.findall(r"limit_conn (\w+) (\d+);", start(tmp_path, **environ).stdout)
    return {name: int(count) for name, count in found}


def test_all_large_bodies_fit_into_the_folder(tmp_path: Path) -> None:
    """Those of each client, spare ones, and two glossaries, which may be longer."""
    for size in (1 << 20, 2 << 20, 3 << 20, 8 << 20):
        limits = places(tmp_path, PROXY_MAX_BODY_BYTES=str(size))
        place = max(size, 2 << 20)
        longer = limits["huge_bodies"] * max(0, (4 << 20) - place)
        assert (limits["all_bodies"] + limits["spare_bodies"]) * place + longer < 128 << 20
    done = start(tmp_path, PROXY_MAX_BODY_BYTES=str(32 << 20))
    assert done.returncode == 78
    assert "PAIRWAY_EDGE_BODIES_MB=128 has no place for a body of PROXY_MAX_BODY_BYTES=33554432" in done.stderr


def test_edge_limits_are_settings(tmp_path: Path) -> None:
    assert places(tmp_path) == {
        "client_connections": 64,
        "all_connections": 600,
        "client_bodies": 1,
        "all_bodies": 56,
        "huge_bodies": 2,
        "spare_bodies": 5,
    }
    changed = places(
        tmp_path,
        PAIRWAY_EDGE_CLIENT_CONNECTIONS="600",
        PAIRWAY_EDGE_CLIENT_BODIES="56",
        PAIRWAY_EDGE_SPARE_BODIES="1",
    )
    assert (changed["client_connections"], changed["client_bodies"], changed["all_bodies"]) == (600, 56, 60)


def test_edge_believes_no_balancer_by_default(tmp_path: Path) -> None:
    assert "real_ip" not in NGINX + start(tmp_path).stdout
    written = start(tmp_path, PAIRWAY_EDGE_BALANCERS="10.0.0.1,fd00::/8").stdout
    assert re.findall(r"set_real_ip_from (\S+);", written) == ["10.0.0.1", "fd00::/8"]
    assert "real_ip_header X-Forwarded-For;" in written


def test_edge_without_its_certificate_does_not_start(tmp_path: Path) -> None:
    """It must not serve HTTP where HTTPS was asked for."""
    (tmp_path / "fullchain.pem").write_text("certificate")
    done = start(tmp_path, PAIRWAY_EDGE_CERTIFICATES="./certificates")
    assert done.returncode == 78
    assert "privkey.pem in PAIRWAY_EDGE_CERTIFICATES (./certificates) is missing" in done.stderr
    (tmp_path / "privkey.pem").write_text("key")
    assert "include /etc/pairway/tls.conf;" in start(tmp_path, PAIRWAY_EDGE_CERTIFICATES="./certificates").stdout
