"""Whether stored documents have the shape that docs/protocol.md gives them, told by the engines
themselves: MongoDB by a JSON schema, SQLite by types. None of it asks distlock."""

from typing import Any

_LOCK = {
    "_id": "string", "state": "int", "process": "string", "who": "string", "when": "date",
    "why": "string", "ts": "objectId", "fence": "long", "takeover_after": "long"}
_PING = {"_id": "string", "ping": "date", "clock": "string"}
_REPORTED = ("ping_successes", "ping_failures", "ping_round_trip_ms", "ping_late_by_ms")


def _schema(fields: Any, more: Any = ()) -> Any:
    properties = {name: {"bsonType": kind} for name, kind in fields.items()}
    properties |= {name: {"bsonType": "long", "minimum": 0} for name in more}
    return {"bsonType": "object", "required": list(fields), "properties": properties,
            "additionalProperties": False}


def lock_schema() -> Any:
    """Of a lock as its first claim and all after leave it. A document that a claim past its
    cutoff left behind has been free from the beginning."""
    claimed = _schema(_LOCK)
    claimed["properties"]["state"]["enum"] = [0, 1]
    claimed["properties"]["fence"]["minimum"] = 1
    claimed["properties"]["takeover_after"]["minimum"] = 1
    claimed["properties"]["process"]["pattern"] = "^[^:]+:[0-9]+:[0-9a-f]+$"
    never = _schema({"_id": "string", "state": "int", "who": "string"})
    never["properties"]["state"]["enum"] = [0]
    never["properties"]["who"]["enum"] = [""]
    for shape in (claimed, never):
        shape["properties"] |= {"freed_at": {"bsonType": "date"}, "line": {"bsonType": "object"}}
    return {"anyOf": [claimed, never]}


def ping_schema() -> Any:
    return _schema(_PING, _REPORTED)


# A row that does not fit, as text. SQLite stores dates as numbers and tokens as text.
_SQLITE_LOCKS = """
  SELECT 'lock ' || _id || ': ' || quote(state) || ', ' || quote(process) || ', ' || quote(ts)
    || ', ' || quote(fence)
  FROM locks WHERE NOT (
    typeof(_id) = 'text' AND (
      (state IN (0, 1) AND typeof(state) = 'integer' AND process GLOB '?*:[0-9]*:[0-9a-f]*'
        AND typeof(who) = 'text' AND typeof("when") = 'integer' AND typeof(why) = 'text'
        AND length(ts) = 24 AND ts NOT GLOB '*[^0-9a-f]*'
        AND typeof(fence) = 'integer' AND fence >= 1
        AND typeof(takeover_after) = 'integer' AND takeover_after >= 1)
      OR (state IS 0 AND who IS '' AND ts IS NULL AND process IS NULL AND fence IS NULL)))
    IS TRUE
"""
_SQLITE_PINGS = """
  SELECT 'ping ' || quote(_id) || ': ' || quote(ping) || ', ' || quote(clock)
  FROM lockpings WHERE NOT (
    typeof(_id) = 'text' AND typeof(ping) = 'integer' AND ping > 0 AND typeof(clock) = 'text')
    IS TRUE
"""


def sqlite_faults(database: Any) -> Any:
    """The faults of an open SQLite file, a line each."""
    broken = [row[0] for row in database.execute("PRAGMA integrity_check") if row[0] != "ok"]
    return broken + [row[0] for query in (_SQLITE_LOCKS, _SQLITE_PINGS)
                     for row in database.execute(query)]


def mongo_faults(find: Any) -> Any:
    """The faults of a database, a line each; `find(collection, filter)` gives documents."""
    return [f"{collection} {document}"
            for collection, schema in (("locks", lock_schema()), ("lockpings", ping_schema()))
            for document in find(collection, {"$nor": [{"$jsonSchema": schema}]})]
