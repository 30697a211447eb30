#!/bin/sh
# Starts Prometheus in its container: writes the tokens into memory, as files, and keeps them out of its environment.
set -eu
umask 077
printf %s "${PROXY_OBSERVER_TOKEN:-}" >/run/pairway/observer-token
printf %s "${APISERVER_TOKEN:-}" >/run/pairway/apiserver-token
unset PROXY_OBSERVER_TOKEN APISERVER_TOKEN
exec prometheus --config.file=/etc/pairway/prometheus.yml --storage.tsdb.path=/prometheus \
	--storage.tsdb.retention.time=35d --storage.tsdb.retention.size=8GB "$@"
