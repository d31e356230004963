"""A model server that plays a recording over Ollama's own protocol.

It ships with the product: the demo, the tests and the benchmarks run against it over real HTTP. Every answer carries
the header `X-Recorded`, so that nobody takes a recording for a model.
"""
