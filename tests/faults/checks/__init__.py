"""What must be true of a run, told from its events and from what it left."""

from tests.faults.checks import ambiguity, counter, documents, intervals, soak, takeover, turns

__all__ = ["ambiguity", "counter", "documents", "intervals", "soak", "takeover", "turns"]
