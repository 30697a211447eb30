"""Tests of what watches a fleet, with a real Prometheus.

- ``install``: Prometheus and Alertmanager, pinned.
- ``rules``: the rules of ``deploy/monitoring``, and the metrics that they name.
- ``alert_case``: a case of an alert, and its series.
- ``alert_cases``: for each alert a case that fires and one that stays quiet; ``test_alerts`` lets promtool evaluate them.
- ``scrape``: what real servers export; ``test_rules`` compares rules, runbooks and issue codes with it.
- ``prometheus``: a real Prometheus with all times shortened by one factor.
- ``dashboards``: the dashboards of ``deploy/monitoring``; ``test_dashboards`` compares and asks them.
- ``alertmanager``: a real Alertmanager; ``test_configuration`` asks it what it holds back.
- ``changing_fleet``: proxies and API servers that operators change; ``test_changes`` watches them.
"""
