#!/bin/sh
# Starts nginx as the load balancer of several proxies (docs/operations/nginx.md). Exit status 78: a wrong setting.
set -eu

refuse() {
    echo "edge: $1" >&2
    exit 78
}

address=${PAIRWAY_EDGE_ADDRESS:-127.0.0.1}
case $address in
    127.*) ;;
    *)
        [ "${PROXY_KEYS:-off}" = on ] || refuse "PAIRWAY_EDGE_ADDRESS=$address can be reached from other machines, and \
PROXY_KEYS is not on: create keys, set PROXY_KEYS=on in .env and roll the proxies, or use PAIRWAY_EDGE_ADDRESS=127.0.0.1"
        ;;
esac

bytes=${PROXY_MAX_BODY_BYTES:-2097152}
case $bytes in
    *[!0-9]*) refuse "PROXY_MAX_BODY_BYTES=$bytes is not a whole number" ;;
esac
seconds=${PROXY_MAX_REQUEST_TIMEOUT:-600}
whole=${seconds%%.*}
case $whole in
    '' | *[!0-9]*) refuse "PROXY_MAX_REQUEST_TIMEOUT=$seconds is not a number of seconds" ;;
esac

listen=plain
if [ -n "${PAIRWAY_EDGE_CERTIFICATES:-}" ]; then
    listen=tls
    for name in fullchain.pem privkey.pem; do
        [ -r "/certificates/$name" ] || refuse "$name in PAIRWAY_EDGE_CERTIFICATES ($PAIRWAY_EDGE_CERTIFICATES) is \
missing or cannot be read by user $(id -u); it needs fullchain.pem and privkey.pem, readable by this user"
    done
fi

mkdir -p /tmp/edge
cat >/tmp/edge/settings.conf <<END
client_max_body_size $bytes;
# Longer than the longest request, so that a proxy's answer is always the first.
proxy_read_timeout $((whole + 6))s;
# Shorter than that, and as long as the longest request: one whose proxy dies late is repeated, too.
proxy_next_upstream_timeout $((whole + 1))s;
include /etc/pairway/$listen.conf;
END
exec nginx -c /etc/pairway/nginx.conf
