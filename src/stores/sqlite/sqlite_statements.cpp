#include "stores/sqlite/sqlite_statements.h"

namespace distlock {
namespace {

constexpr std::string_view kInspect = R"(
  SELECT l._id, l.state, l.process, l.who, l."when", l.why, l.ts, l.fence, l.takeover_after,
         l.freed_at, p._id, p.ping, p.clock, p.witness, w.ticket, w.number, w.process, w.who,
         w.since, w.passed
  FROM locks l LEFT JOIN lockpings p ON p._id = l.process LEFT JOIN waiters w ON w.lock = l._id
  WHERE l._id = ?1)";

// Of ?11 fences the last is stored. Those of several begin at ?12 at most: first_fence_most().
constexpr std::string_view kClaimAbsent = R"(
  INSERT INTO locks(_id, state, process, who, "when", why, ts, fence, takeover_after)
  SELECT ?1, 1, ?2, ?3, store_now(), ?4, ?5,
         coalesce(?10, 1) + (?11 - 1), ?6
  WHERE store_now() <= ?7 AND coalesce(?10, 1) <= ?12
  ON CONFLICT(_id) DO NOTHING
  RETURNING "when", fence)";

// A number equals no text, so a state is compared as what it is (R14). A fence that cannot grow
// would turn into a floating-point number (R10).
constexpr std::string_view kClaimStored = R"(
  UPDATE locks SET state = 1, process = ?2, who = ?3, "when" = store_now(), why = ?4, ts = ?5,
                   fence = coalesce(?10, coalesce(fence, 0) + 1) + (?11 - 1), takeover_after = ?6
  WHERE _id = ?1 AND store_now() <= ?7
    AND (fence IS NULL OR
         (typeof(fence) = 'integer' AND fence BETWEEN 0 AND 9223372036854775806))
    AND coalesce(?10, coalesce(fence, 0) + 1) <= ?12
    AND (?10 IS NULL OR ?10 > coalesce(fence, 0) OR (?13 AND ?10 = fence)) )";
constexpr std::string_view kReturning = R"( RETURNING "when", fence, freed_at)";

constexpr std::string_view kRelease = R"(
  UPDATE locks SET state = 0, freed_at = store_now()
  WHERE _id = ?1 AND ts = ?2 AND state IN (1, 2)
  RETURNING EXISTS (SELECT 1 FROM waiters WHERE lock = ?1))";

// A place behind all others. Gives its number.
constexpr std::string_view kAddPlace = R"(
  INSERT INTO waiters(lock, ticket, number, process, who, since, passed)
  SELECT ?1, ?2, 1 + coalesce(max(number), 0), ?4, ?5, ?6, ?3 FROM waiters WHERE lock = ?1
  RETURNING number)";

// The statement on the witness is of this ping alone: an earlier version would leave it there.
constexpr std::string_view kPing = R"(
  INSERT INTO lockpings(_id, ping, clock, ping_successes, ping_failures, ping_round_trip_ms,
                        ping_late_by_ms, witness)
  VALUES(?1, store_now(), ?2, ?3, ?4, ?5, ?6, store_now() || ' ' || ?7)
  ON CONFLICT DO UPDATE SET
    ping = excluded.ping, clock = excluded.clock, ping_successes = excluded.ping_successes,
    ping_failures = excluded.ping_failures, ping_round_trip_ms = excluded.ping_round_trip_ms,
    ping_late_by_ms = excluded.ping_late_by_ms, witness = excluded.witness
  RETURNING ping)";

// A lock that is not certainly free protects its holder's ping (R13). A ping by another clock must
// be older by a day, in milliseconds (R4). The age of a ping by a clock that runs beside this one
// is unknown: it is left to those who share that clock. A document without a clock is the
// original's.
constexpr std::string_view kForgetPings = R"(
  DELETE FROM lockpings
  WHERE ping < store_now() - ?1 AND typeof(ping) = 'integer' AND typeof(_id) = 'text'
    AND (clock IS NULL OR
         (typeof(clock) = 'text' AND
          (clock = ?2 OR
           (ping < store_now() - ?1 - 86400000 AND substr(clock, 1, length(?3)) <> ?3
            AND substr(clock, 1, length(?4)) <> ?4))))
    AND NOT EXISTS (SELECT 1 FROM locks
                    WHERE process = lockpings._id AND (state IS NULL OR state <> 0)))";

constexpr std::string_view kHolds =
    R"(SELECT _id, ts, "when" FROM locks WHERE process = ?1 AND state IN (1, 2))";

// As ThoseInLine::took().
constexpr std::string_view kLocksOfWaits = R"(
  SELECT * FROM locks WHERE _id IN (
    SELECT lock FROM waiters
    UNION
    SELECT _id FROM locks WHERE state IN (1, 2) AND process IN (SELECT process FROM waiters)
                            AND "when" >= (SELECT min(since) FROM waiters))
  ORDER BY _id)";
constexpr std::string_view kPingsOfWaits =
    "SELECT * FROM lockpings WHERE _id IN (SELECT process FROM waiters) ORDER BY _id";

std::string claim_stored(std::string_view condition) {
  return std::string(kClaimStored) + std::string(condition) + std::string(kReturning);
}

}  // namespace

SqliteStatements::SqliteStatements(const SqliteDatabase& db)
    : inspect(db.prepare("inspect", Effect::reads, kInspect)),
      claim_absent(db.prepare("claim", Effect::writes, kClaimAbsent)),
      claim_free(db.prepare("claim", Effect::writes,
                            claim_stored("AND state = 0 AND (?8 IS NULL OR ts = ?8) "
                                         "AND (?9 IS NOT NULL OR NOT EXISTS "
                                         "(SELECT 1 FROM waiters WHERE lock = ?1))"))),
      claim_hold(db.prepare("claim", Effect::writes,
                            claim_stored("AND ts = ?8 AND state IN (1, 2) "
                                         "AND (?9 IS NULL OR \"when\" = ?9)"))),
      release(db.prepare("release", Effect::writes, kRelease)),
      add_place(db.prepare("stand in line", Effect::writes, kAddPlace)),
      mark_place(db.prepare("stand in line", Effect::writes,
                            "UPDATE waiters SET passed = ?3 WHERE lock = ?1 AND ticket = ?2")),
      remove_place(db.prepare("leave the line", Effect::writes,
                              "DELETE FROM waiters WHERE lock = ?1 AND ticket = ?2")),
      ping(db.prepare("ping", Effect::writes, kPing)),
      remove_ping(
          db.prepare("remove ping", Effect::writes, "DELETE FROM lockpings WHERE _id = ?1")),
      forget_pings(db.prepare("forget pings", Effect::writes, kForgetPings)),
      holds(db.prepare("holds", Effect::reads, kHolds)),
      locks(db.prepare("list", Effect::reads, "SELECT * FROM locks ORDER BY _id")),
      pings(db.prepare("list", Effect::reads, "SELECT * FROM lockpings ORDER BY _id")),
      places(db.prepare("list", Effect::reads,
                        "SELECT lock, ticket, number, process, who, since, passed FROM waiters")),
      locks_of_waits(db.prepare("look for deadlocks", Effect::reads, kLocksOfWaits)),
      pings_of_waits(db.prepare("look for deadlocks", Effect::reads, kPingsOfWaits)) {}

}  // namespace distlock
