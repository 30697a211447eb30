"""Which requests of browsers are refused: origins, hosts, and what Sec-Fetch-Site says."""

from __future__ import annotations

import re
from ipaddress import IPv6Address

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared.http.origin_policy import MAX_SHOWN_CHARS, OriginPolicy, canonical_origin, is_private_host, shown

RULE = "SETTING names the origins that may"
PAGE = "https://page.example"
OPEN = OriginPolicy(
    (PAGE, "chrome-extension://*", "moz-extension://abc"),
    private_hosts_only=False,
    rule=RULE,
    pages=("/health",),
    operator_paths=("/fleet", "/keys"),
)
LOCAL = OriginPolicy((PAGE,), private_hosts_only=True, rule=RULE, host_rule=", or set PROXY_KEYS=on")
ANYBODY = OriginPolicy(("*",), private_hosts_only=True, rule=RULE)


def is_refused(policy: OriginPolicy, method: str = "POST", path: str = "/translate", **headers: str) -> bool:
    """Decide about a request with headers named ``sec_fetch_site``."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return policy.refusal(method, path, named) is not None


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("*", "*"),
        ("https://example.com", "https://example.com"),
        ("HTTPS://Example.COM:443", "https://example.com"),
        ("http://localhost:3000", "http://localhost:3000"),
        ("http://example.com:443", "http://example.com:443"),
        ("http://[::1]:80", "http://[::1]"),
        ("http://[0:0::1]:8000", "http://[::1]:8000"),
        ("chrome-extension://*", "chrome-extension://*"),
        ("moz-extension://*", "moz-extension://*"),
        ("chrome-extension://abcdefghijklmnop", "chrome-extension://abcdefghijklmnop"),
        (
            "moz-extension://0f7c1e55-3d05-4b0c-9c5a-2f0a6a3d7c11",
            "moz-extension://0f7c1e55-3d05-4b0c-9c5a-2f0a6a3d7c11",
        ),
    ],
)
def test_canonical_origin_is_what_browsers_send(written: str, canonical: str) -> None:
    assert canonical_origin(written) == canonical


@pytest.mark.parametrize(
    "written",
    ["", "null", "example.com", "https://", "https://*", "https://*.example.com", "http://a/", "http://a/b", "http://a?q",
     "http://a:0", "http://a:65536", "http://a:x", "http://user@a", "http://[::1", "http://[:::]", "ftp://a", "http://a b",
     "http://ä", "file://", "chrome-extension://", "chrome-extension://*.a", "chrome-extension://a/b", "**",
     "safari-web-extension://*", "http://a\n", "https://a,https://b"],
)  # fmt: skip
def test_anything_else_is_no_origin(written: str) -> None:
    assert canonical_origin(written) is None


hosts = (
    st.from_regex(r"[a-z0-9][a-z0-9\-]{0,20}(\.[a-z]{2,8}){0,3}", fullmatch=True)
    | st.ip_addresses(v=4).map(str)
    | st.ip_addresses(v=6).map(lambda address: f"[{address.compressed}]")
)


@given(st.sampled_from(["http", "https"]), hosts, st.none() | st.integers(1, 65_535))
def test_origins_are_canonical_and_their_own(scheme: str, host: str, port: int | None) -> None:
    written = f"{scheme}://{host}" + ("" if port is None else f":{port}")
    canonical = canonical_origin(written)
    assert canonical is not None
    assert canonical_origin(canonical) == canonical
    assert OriginPolicy((canonical,), private_hosts_only=True, rule=RULE).allows(canonical)
    own = {"origin": canonical, "host": canonical.partition("://")[2]}
    assert OriginPolicy((), private_hosts_only=False, rule=RULE).refusal("POST", "/", own) is None
    other = {"origin": canonical, "host": "other.example"}
    assert OriginPolicy((), private_hosts_only=False, rule=RULE).refusal("POST", "/", other) is not None


@given(st.text(max_size=400) | st.from_regex(r"(https?|chrome-extension)://[^a]{0,40}"), st.text(max_size=60))
@example("http://[::1%eth0]", "[")
@example("http://[" + "1" * 40 + "]", ":")
@example("http://[::1]\n", "[::1]\n")
def test_any_origin_and_host_are_judged_without_error(origin: str, host: str) -> None:
    canonical = canonical_origin(origin)
    assert canonical is None or re.fullmatch(r"\*|[a-z\-]+://[a-z0-9.\-_\[\]:*]+", canonical)
    reason = LOCAL.refusal("POST", "/translate", {"origin": origin, "host": host})
    assert reason is None or (reason.isprintable() and reason.isascii() and len(reason) < 4 * MAX_SHOWN_CHARS)


@pytest.mark.parametrize(
    ("origin", "host", "site", "refused"),
    [
        ("http://127.0.0.1:8000", "127.0.0.1:8000", "same-origin", False),
        ("https://mt.example", "mt.example", "", False),
        ("https://mt.example", "MT.example:443", "", False),
        ("http://mt.example:8443", "mt.example:8443", "", False),
        ("http://[::1]:8000", "[0:0:0::1]:8000", "", False),
        ("https://mt.example:8443", "mt.example", "", True),
        ("https://mt.example", "mt.example:80", "", True),
        ("https://mt.example", "mt.example", "same-site", True),
        ("https://mt.example.evil.example", "mt.example", "", True),
        ("https://evil.example", "mt.example", "cross-site", True),
        ("https://evil.example", "", "", True),
        ("null", "mt.example", "cross-site", True),
        ("", "mt.example", "", True),
        ("https://page.example https://mt.example", "mt.example", "", True),
        ("file://", "mt.example", "", True),
        ("https://page.example", "mt.example", "cross-site", False),
        ("http://page.example", "mt.example", "cross-site", True),
        ("https://page.example:444", "mt.example", "cross-site", True),
        ("chrome-extension://any", "mt.example", "cross-site", False),
        ("chrome-extension://", "mt.example", "cross-site", True),
        ("moz-extension://abc", "mt.example", "cross-site", False),
        ("moz-extension://abd", "mt.example", "cross-site", True),
    ],
)
def test_own_and_allowed_origins_pass(origin: str, host: str, site: str, *, refused: bool) -> None:
    headers = {"origin": origin, "host": host, **({"sec_fetch_site": site} if site else {})}
    for method, path in (("POST", "/translate"), ("OPTIONS", "/fleet/replicas"), ("GET", "/docs")):
        assert is_refused(OPEN, method, path, **headers) == refused


@pytest.mark.parametrize(
    ("method", "path", "site", "mode", "refused"),
    [
        ("POST", "/translate", "same-origin", "cors", False),
        ("GET", "/translate", "none", "navigate", False),
        ("GET", "/health", "cross-site", "no-cors", True),
        ("GET", "/health", "same-site", "cors", True),
        ("GET", "/health", "cross-site", "navigate", False),
        ("GET", "/docs", "same-site", "navigate", False),
        ("HEAD", "/docs", "cross-site", "navigate", True),
        ("POST", "/docs", "cross-site", "navigate", True),
        ("GET", "/translate", "cross-site", "navigate", True),
        ("GET", "/keys", "same-site", "navigate", True),
        ("GET", "/docs", "cross-site", "", True),
        ("GET", "/health", "anything", "cors", True),
    ],
)
def test_request_without_origin_is_judged_by_its_site(
    method: str, path: str, site: str, mode: str, *, refused: bool
) -> None:
    headers = {"host": "mt.example", "sec_fetch_site": site, "sec_fetch_mode": mode}
    assert is_refused(OPEN, method, path, **headers) == refused


def test_programs_pass() -> None:
    for policy in (OPEN, LOCAL, ANYBODY):
        assert not is_refused(policy, host="127.0.0.1:8000")
        assert not is_refused(policy)


@pytest.mark.parametrize(
    ("host", "private"),
    [
        *((each, True) for each in ("localhost", "a.localhost", "127.0.0.1", "10.0.0.5", "[::1]", "proxy", "a.local")),
        *((each, True) for each in ("host.docker.internal", "a.svc.cluster.local", "nas.home.arpa")),
        *(
            (each, False)
            for each in ("attacker.example", "localhost.evil.example", "127.0.0.1.evil.example", "evil.com.")
        ),
        *((each, False) for each in ("notlocal.xlocal", "1.2.3.4a")),
    ],
)
def test_names_that_strangers_can_register_are_not_private(host: str, *, private: bool) -> None:
    assert is_private_host(host) == private
    for headers in ({"origin": f"http://{host}:8000"}, {}, {"sec_fetch_site": "same-origin"}):
        assert is_refused(LOCAL, "GET", "/languages", host=f"{host}:8000", **headers) == (not private)
        assert not is_refused(OPEN, "GET", "/languages", host=f"{host}:8000", **headers)


def test_host_of_an_allowed_origin_is_known() -> None:
    assert not is_refused(LOCAL, "GET", "/languages", host="page.example:8000")
    assert not is_refused(LOCAL, "GET", "/languages", host="Page.Example")
    assert is_refused(LOCAL, "GET", "/languages", host="evil.example")
    assert is_refused(LOCAL, "GET", "/languages", host="not a host")


def test_star_allows_every_page() -> None:
    for origin in ("null", "https://evil.example", "chrome-extension://a"):
        assert ANYBODY.allows(origin)
        assert not is_refused(ANYBODY, host="evil.example", origin=origin, sec_fetch_site="cross-site")
    assert not is_refused(ANYBODY, "GET", host="evil.example", sec_fetch_site="cross-site")


def test_program_that_no_page_can_be_is_served_at_any_host() -> None:
    assert is_refused(LOCAL, "GET", "/report", host="gpu.example.com")
    assert not is_refused(LOCAL, "GET", "/report", host="gpu.example.com", sec_pairway_proxy="1")
    assert is_refused(LOCAL, host="gpu.example.com", sec_pairway_proxy="1", origin="https://evil.example")


def test_refusal_names_what_it_refuses_and_the_setting() -> None:
    assert OPEN.refusal("POST", "/", {"origin": "https://evil.example"}) == (
        f"Pages of the origin https://evil.example may not call this server; {RULE}."
    )
    site = OPEN.refusal("POST", "/", {"sec-fetch-site": "cross-site"}) or ""
    assert "Sec-Fetch-Site: cross-site" in site
    assert RULE in site
    host = LOCAL.refusal("GET", "/", {"host": "evil.example"}) or ""
    assert "evil.example" in host
    assert "PROXY_KEYS=on" in host


def test_shown_values_are_short_and_without_keys() -> None:
    assert shown("x" * 500) == "x" * MAX_SHOWN_CHARS
    assert shown("a\n\x00é") == r"a\n\x00\xe9"
    assert "secret" not in shown("pw_0123456789ab_secretsecretsecretsecretsecretse")
    assert IPv6Address("::1").compressed in shown("http://[::1]")


def test_operators_paths_allow_no_further_methods() -> None:
    assert OPEN.methods("/glossaries/1") == ("GET", "POST", "PUT", "PATCH", "DELETE")
    for path in ("/fleet", "/fleet/replicas", "/keys", "/keys/0123456789ab"):
        assert OPEN.methods(path) == ("GET", "POST")
    assert "PUT" in OPEN.methods("/keysx")
