"""pip's configuration of this machine, as variables of uv, which reads none of it."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

# Variables of uv and its HTTP client, and what separates several values there.
VARIABLES = {
    "index-url": ("UV_INDEX_URL", ""),
    "extra-index-url": ("UV_EXTRA_INDEX_URL", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "no-index": ("UV_NO_INDEX", ""),
    "constraint": ("UV_CONSTRAINT", " "),
    "trusted-host": ("UV_INSECURE_HOST", " "),
    "cert": ("SSL_CERT_FILE", ""),
    "client-cert": ("SSL_CLIENT_CERT", ""),
    "proxy": ("ALL_PROXY", ""),
    "timeout": ("UV_HTTP_TIMEOUT", ""),
    "default-timeout": ("UV_HTTP_TIMEOUT", ""),
    "retries": ("UV_HTTP_RETRIES", ""),
    "cache-dir": ("UV_CACHE_DIR", ""),
    "no-cache-dir": ("UV_NO_CACHE", ""),
}
# With such an option pip does not read these variables.
REPLACED = {"proxy": {"http_proxy", "https_proxy", "all_proxy", "no_proxy"}, "cert": {"ssl_cert_dir"}}
# Options that change nothing of what is installed. Only wheels are, in any case.
IGNORED = re.compile(
    "break-system-packages|compile|config-file|disable-pip-version-check|exists-action|log|no-color|no-compile|no-deps|"
    "no-input|no-warn-.*|only-binary|prefer-binary|progress-bar|quiet|require-.*|root-user-action|verbose"
)


class UntranslatableError(Exception):
    """uv has no equivalent of a setting; the message names it."""


def read_settings(listing: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the options in the output of `pip config list`, as `pip install` weighs them."""
    # pip's HTTP library reads these by itself.
    bundle = environment.get("REQUESTS_CA_BUNDLE") or environment.get("CURL_CA_BUNDLE")
    settings = {"cert": bundle} if bundle else {}
    for section in ("global.", "install.", ":env:."):
        for key, _, value in (line.partition("=") for line in listing.splitlines()):
            # pip ignores empty values.
            if key.startswith(section) and (text := str(ast.literal_eval(value)).strip()):
                settings[key.removeprefix(section)] = text
    return {option: value for option, value in settings.items() if not IGNORED.fullmatch(option)}


def translate(settings: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment in which uv installs from where pip would; of the user's own UV_*, only the cache counts.

    Raises:
        UntranslatableError: uv has no equivalent.
    """
    replaced = {name for option in settings for name in REPLACED.get(option, ())}
    kept = {name: value for name, value in environment.items() if name.lower() not in replaced and name[:3] != "UV_"}
    translated = {**kept, "UV_NO_CONFIG": "1", "UV_INDEX_STRATEGY": "unsafe-best-match", "UV_SYSTEM_CERTS": "1"}
    trusted = {host.partition(":")[0] for host in settings.get("trusted-host", "").split()}
    for option, value in settings.items():
        if option not in VARIABLES:
            raise UntranslatableError(f"uv has no equivalent of pip's {option}")
        variable, separator = VARIABLES[option]
        values = [os.path.expanduser(each) for each in (value.split() if separator else [value])]  # noqa: PTH111 - a URL is no Path
        plain = {urlsplit(each).hostname for each in values if each.startswith("http:")} - trusted
        # uv takes what pip ignores.
        if plain and option != "proxy":
            raise UntranslatableError(f"pip's {option} is plain HTTP from {plain.pop()}, which is no trusted-host")
        translated[variable] = separator.join(values)
    home = environment.get("XDG_CACHE_HOME") or environment.get("HOME", "")
    if own_cache := environment.get("UV_CACHE_DIR"):
        translated["UV_CACHE_DIR"] = own_cache
    elif "UV_CACHE_DIR" not in translated and not os.access(home, os.W_OK):
        translated["UV_NO_CACHE"] = "1"
    return translated
