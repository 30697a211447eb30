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

# number NAME VALUE LEAST
number() {
    case $2 in
        '' | *[!0-9]* | 0?* | ?????????????*) refuse "$1=$2 is not a whole number, without leading zeros" ;;
    esac
    [ "$2" -ge "$3" ] || refuse "$1=$2 is less than $3"
}

bytes=${PROXY_MAX_BODY_BYTES:-2097152}
number PROXY_MAX_BODY_BYTES "$bytes" 1
seconds=${PROXY_MAX_REQUEST_TIMEOUT:-600}
whole=${seconds%%.*}
case $whole in
    '' | *[!0-9]* | 0?* | ?????????????*) refuse "PROXY_MAX_REQUEST_TIMEOUT=$seconds is not a number of seconds, without leading zeros" ;;
esac
client_connections=${PAIRWAY_EDGE_CLIENT_CONNECTIONS:-64}
number PAIRWAY_EDGE_CLIENT_CONNECTIONS "$client_connections" 1
connections=${PAIRWAY_EDGE_CONNECTIONS:-600}
number PAIRWAY_EDGE_CONNECTIONS "$connections" 1
client_bodies=${PAIRWAY_EDGE_CLIENT_BODIES:-1}
number PAIRWAY_EDGE_CLIENT_BODIES "$client_bodies" 1
spare_bodies=${PAIRWAY_EDGE_SPARE_BODIES:-5}
number PAIRWAY_EDGE_SPARE_BODIES "$spare_bodies" 1
megabytes=${PAIRWAY_EDGE_BODIES_MB:-128}
number PAIRWAY_EDGE_BODIES_MB "$megabytes" 1

# Places for large bodies in the folder, each as long as one may be. Two glossaries may be longer, up to 4 MiB; 2 MiB stay
# free, for what lies there beside bodies.
place=$bytes
[ "$place" -ge 2097152 ] || place=2097152
longer=$((4194304 > place ? 4194304 - place : 0))
bodies=$(((megabytes * 1048576 - 2097152 - 2 * longer) / place - spare_bodies))
[ "$bodies" -ge 1 ] || refuse "PAIRWAY_EDGE_BODIES_MB=$megabytes has no place for a body of PROXY_MAX_BODY_BYTES=$bytes \
beside PAIRWAY_EDGE_SPARE_BODIES=$spare_bodies"

balancers=${PAIRWAY_EDGE_BALANCERS:-}
case $balancers in
    *[!0-9a-fA-F.:/,]*) refuse "PAIRWAY_EDGE_BALANCERS=$balancers is not a list of addresses and networks, comma-separated" ;;
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
# A request has a connection to its client and one to a proxy, one that is refused has three for a moment. As many again
# are for heads that are not complete.
cat >/tmp/edge/events.conf <<END
worker_connections $((6 * connections + 496));
END
cat >/tmp/edge/settings.conf <<END
client_max_body_size $bytes;
# Longer than the longest request, so that a proxy's answer is always the first.
proxy_read_timeout $((whole + 6))s;
# Shorter than that, and as long as the longest request: one whose proxy dies late is repeated, too.
proxy_next_upstream_timeout $((whole + 1))s;
END
cat >/tmp/edge/server.conf <<END
limit_conn client_connections $client_connections;
limit_conn all_connections $connections;
limit_conn client_bodies $client_bodies;
limit_conn all_bodies $bodies;
limit_conn huge_bodies 2;
include /etc/pairway/$listen.conf;
END
for balancer in $(echo "$balancers" | tr , ' '); do
    echo "set_real_ip_from $balancer;"
done >>/tmp/edge/server.conf
[ -z "$balancers" ] || cat >>/tmp/edge/server.conf <<END
real_ip_header X-Forwarded-For;
real_ip_recursive on;
END
echo "limit_conn spare_bodies $spare_bodies;" >/tmp/edge/spare.conf
# Docker may begin with 1,024 open files.
ulimit -S -n "$(ulimit -H -n)"
# What one that was killed has left.
rm -f /tmp/edge/spare.sock
exec nginx -c /etc/pairway/nginx.conf
