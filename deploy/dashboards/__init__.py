"""Grafana's dashboards in code: ``make dashboards`` writes them into ``deploy/monitoring/dashboards/``.

- ``__main__``: writes the files.
- ``panels``: a panel from its question, its queries and its runbook.
- ``process``: panels that both servers have.
- ``frame``: what all dashboards share: links, variables, times.
- ``fleet``, ``pair``, ``api_server``, ``proxies``, ``callers``: one dashboard each.
"""
