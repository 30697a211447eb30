"""Ten tests to read first: what Pairway does, one idea each, in this order.

- ``test_1_proxy``: a request is routed by its language pair; the fleet's health decides who gets it.
- ``test_2_apiserver``: a model translates; its canary makes it ready; its output is guarded.

Fakes are at the wire: a ``FakeReplica`` is a real HTTP server, a ``ScriptedEngine`` stands where vLLM stands.
"""
