#include "stores/mongodb/mongo_commands.h"

#include "stores/document.h"
#include "stores/mongodb/mongo_claim_parts.h"
#include "stores/mongodb/mongo_line_commands.h"

namespace distlock {
namespace {

// A ping by another clock must be this much older (R4, R13).
constexpr std::chrono::milliseconds kOtherClockAllowance = std::chrono::days{1};

// More than a process has, in one answer.
constexpr std::int32_t kHoldsAtOnce = 100'000;

Bson still_as(const FromFree& basis) {
  Bson free = doc({{"$and", array({state_is_sound(), equal("$state", 0), newcomers_turn()})}});
  if (!basis.ts) return free;
  return doc({{"$and", array({std::move(free), equal("$ts", *basis.ts)})}});
}

Bson still_as(const FromHold& basis) {
  Bson held = doc({{"$and", array({equal("$ts", basis.ts), is_taken()})}});
  if (!basis.when) return held;
  return doc({{"$and", array({std::move(held), equal("$when", *basis.when)})}});
}

Bson conditions_of(const ClaimBasis& from, Bson still, const Claim& claim) {
  return doc({{"$and", array({std::move(still), fence_fits(from, claim), before_cutoff(claim)})}});
}

// A query for 0 also finds an array with a 0 in it, and a decimal 0. Both are malformed here.
Bson is_free() {
  return doc({{"$eq", 0}, {"$not", doc({{"$type", array({"array", "decimal"})}})}});
}

// The server evaluates a query several times, so most conditions stand in the pipeline. Where one
// fails, the answer is the free document, unchanged. A document in another state does not match.
Bson claim_from(std::string_view name, const FromFree& basis, const Claim& claim) {
  Bson conditions = conditions_of(basis, still_as(basis), claim);
  Bson line = doc({{"line", line_after_claim(claim.ts)}});
  Bson claimed =
      doc({{"$mergeObjects", array({"$$ROOT", claimed_fields(claim), std::move(line)})}});
  Bson made = doc({{"$cond", array({std::move(conditions), std::move(claimed), "$$ROOT"})}});
  return doc({{"findAndModify", kLocks},
              {"query", doc({{"_id", name}, {"state", is_free()}})},
              {"update", array({doc({{"$replaceWith", std::move(made)}})})},
              {"fields", doc({{"line", 0}})},
              {"new", true}});
}

Bson claim_from(std::string_view name, const FromHold& basis, const Claim& claim) {
  const std::string place = "line." + to_hex(claim.ts);
  return doc(
      {{"findAndModify", kLocks},
       {"query", doc({{"_id", name}, {"$expr", conditions_of(basis, still_as(basis), claim)}})},
       {"update", array({doc({{"$set", claimed_fields(claim)}}), doc({{"$unset", place}})})},
       {"fields", doc({{"line", 0}})},
       {"new", true}});
}

// An upsert may not have $expr in its query, so this one matches no document that exists and tells
// the time in its pipeline.
Bson claim_from(std::string_view name, const FromAbsent& /*basis*/, const Claim& claim) {
  Bson claimed = claimed_fields(claim);
  append(claimed, "_id", literal(name));
  Bson free = doc({{"_id", literal(name)}, {"state", 0}, {"who", ""}});
  Bson made = doc({{"$cond", array({before_cutoff(claim), std::move(claimed), std::move(free)})}});
  return doc({{"findAndModify", kLocks},
              {"query", doc({{"_id", name}, {"state", doc({{"$in", array({})}})}})},
              {"update", array({doc({{"$replaceWith", std::move(made)}})})},
              {"upsert", true},
              {"new", true}});
}

Bson stamped_before(std::chrono::milliseconds age) {
  Bson latest = doc({{"$subtract", array({"$$NOW", std::int64_t{age.count()}})}});
  return doc({{"$lt", array({"$ping", std::move(latest)})}});
}

// A malformed ping is not older than anything. Only one without a clock or by this one needs no
// allowance for the difference between two clocks. The bare comparison stands by itself because the
// server looks that up in the index (from MongoDB 5.0 on), and the rest not.
Bson older(std::chrono::milliseconds age, std::string_view clock) {
  Bson same_clock = equal(doc({{"$ifNull", array({"$clock", literal(clock)})}}), literal(clock));
  Bson by_its_clock =
      doc({{"$or", array({std::move(same_clock), stamped_before(age + kOtherClockAllowance)})}});
  return doc({{"$and", array({stamped_before(age), type_among("$ping", array({"date"})),
                              type_among("$clock", array({"missing", "string"})),
                              std::move(by_its_clock)})}});
}

Bson aggregate(std::string_view collection, Bson pipeline, Bson cursor = doc({})) {
  return doc({{"aggregate", collection},
              {"pipeline", std::move(pipeline)},
              {"cursor", std::move(cursor)}});
}

Bson index_command(std::string_view collection, std::string_view name, Bson key) {
  return doc({{"createIndexes", collection},
              {"indexes", array({doc({{"key", std::move(key)}, {"name", name}})})}});
}

// Other programs may have put anything beside the fields that are known.
Bson find_command(std::string_view collection, Bson filter) {
  Bson known;
  for (const std::string_view field :
       {"state", "process", "who", "when", "why", "ts", "fence", "takeover_after", "freed_at",
        "line", "ping", "clock", "ping_successes", "ping_failures", "ping_round_trip_ms",
        "ping_late_by_ms"})
    append(known, field, 1);
  return doc(
      {{"find", collection}, {"filter", std::move(filter)}, {"projection", std::move(known)}});
}

}  // namespace

Bson claim_command(std::string_view name, const ClaimBasis& basis, const Claim& claim) {
  return std::visit([&](const auto& from) { return claim_from(name, from, claim); }, basis);
}

Bson release_command(std::string_view name, const Token& ts) {
  return release_and_show(name, ts, doc({{"state", 1}}));
}

Bson inspect_command(std::string_view name) {
  // As a pipeline and not by localField, which would descend into arrays and take missing for null.
  Bson lookup =
      doc({{"from", kLockPings},
           {"let", doc({{"process", "$lock.process"}})},
           {"pipeline", array({doc({{"$match", doc({{"$expr", equal("$_id", "$$process")}})}})})},
           {"as", "ping"}});
  return aggregate(
      kLocks, array({doc({{"$match", doc({{"_id", name}})}}),
                     doc({{"$project", doc({{"_id", 0}, {"lock", "$$ROOT"}, {"now", "$$NOW"}})}}),
                     doc({{"$lookup", std::move(lookup)}})}));
}

Bson ping_command(std::string_view process, std::string_view clock, const PingHealth& health) {
  Bson fields = doc({{"ping", "$$NOW"}, {"clock", literal(clock)}});
  for (const auto& [name, number] : fields_of(health)) append(fields, name, number);
  return doc({{"findAndModify", kLockPings},
              {"query", doc({{"_id", process}})},
              {"update", array({doc({{"$set", std::move(fields)}})})},
              {"upsert", true},
              {"new", true}});
}

Bson remove_ping_command(std::string_view process) {
  return doc({{"findAndModify", kLockPings},
              {"query", doc({{"_id", process}})},
              {"remove", true},
              {"fields", doc({{"_id", 1}})}});
}

Bson forgettable_pings_command(std::chrono::milliseconds age, std::string_view clock) {
  // A state that is no state protects as well. Two conditions for what no index tells from 0.
  Bson no_state = doc({{"state", 0}, {"$expr", doc({{"$not", array({state_is_sound()})}})}});
  Bson not_free = array({doc({{"state", doc({{"$ne", 0}})}}), std::move(no_state)});
  Bson held = doc({{"$or", std::move(not_free)}, {"$expr", equal("$process", "$$process")}});
  Bson lookup = doc({{"from", kLocks},
                     {"let", doc({{"process", "$_id"}})},
                     {"pipeline", array({doc({{"$match", std::move(held)}}), doc({{"$limit", 1}}),
                                         doc({{"$project", doc({{"_id", 1}})}})})},
                     {"as", "held"}});
  return aggregate(
      kLockPings,
      array({doc({{"$match", doc({{"$expr", older(age, clock)}})}}),
             doc({{"$lookup", std::move(lookup)}}), doc({{"$match", doc({{"held", array({})}})}}),
             doc({{"$limit", kForgetAtOnce}}),
             doc({{"$project", doc({{"ping", 1}, {"clock", 1}})}})}),
      doc({{"batchSize", kForgetAtOnce}}));
}

// Not by the server's time anew: before MongoDB 5.0 a delete may not name it.
Bson forget_pings_command(const std::vector<PingRecord>& pings) {
  Bson deletes(Bson::Kind::array);
  int index = 0;
  for (const PingRecord& ping : pings) {
    Bson as_seen = doc({{"_id", ping.process}, {"ping", ping.ping}});
    if (ping.clock) append(as_seen, "clock", *ping.clock);
    append(deletes, std::to_string(index++), doc({{"q", std::move(as_seen)}, {"limit", 1}}));
  }
  return doc({{"delete", kLockPings}, {"deletes", std::move(deletes)}});
}

Bson holds_command(std::string_view process) {
  // The index finds them; but a query also finds what has such an element.
  Bson exactly = doc({{"$and", array({is_taken(), equal("$process", literal(process))})}});
  Bson held = doc({{"state", doc({{"$in", array({1, 2})}})},
                   {"process", process},
                   {"$expr", std::move(exactly)}});
  return aggregate(
      kLocks, array({doc({{"$match", std::move(held)}}), doc({{"$project", doc({{"ts", 1}})}})}),
      doc({{"batchSize", kHoldsAtOnce}}));
}

Bson lines_command() { return find_command(kLocks, doc({{"line", doc({{"$exists", true}})}})); }

Bson taken_since_command(const ThoseInLine& those, const std::vector<std::string>& names) {
  Bson taken = doc({{"state", doc({{"$in", array({1, 2})}})},
                    {"process", doc({{"$in", array_of(those.processes)}})},
                    {"when", doc({{"$gte", those.since}})}});
  Bson named = doc({{"_id", doc({{"$in", array_of(names)}})}});
  return find_command(kLocks, doc({{"$or", array({std::move(taken), std::move(named)})}}));
}

Bson pings_command(const std::set<std::string, std::less<>>& processes) {
  return find_command(kLockPings, doc({{"_id", doc({{"$in", array_of(processes)}})}}));
}

Bson everything_command(std::string_view collection) {
  Bson all = find_command(collection, doc({}));
  append(all, "sort", doc({{"_id", 1}}));
  return all;
}

Bson hello_command() { return doc({{"isMaster", 1}}); }

Bson lock_index_command() {
  return index_command(kLocks, "state_1_process_1", doc({{"state", 1}, {"process", 1}}));
}

Bson ping_index_command() { return index_command(kLockPings, "ping_1", doc({{"ping", 1}})); }

}  // namespace distlock
