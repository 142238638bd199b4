"""The rules of a run, checked on its events and on the documents that it left."""

from tests.faults.checks import ambiguity, counter, deaths, documents, intervals, line, soak, takeover, turns

__all__ = ["ambiguity", "counter", "deaths", "documents", "intervals", "line", "soak", "takeover", "turns"]
