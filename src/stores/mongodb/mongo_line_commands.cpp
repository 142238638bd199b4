#include "stores/mongodb/mongo_line_commands.h"

#include "stores/document.h"
#include "stores/mongodb/mongo_claim_parts.h"
#include "turns.h"

namespace distlock {
namespace {

// The pipelines below keep what they work out in fields of these names, and take them out again.
constexpr std::string_view kWaitersArray = "distlock_waiters";  // the line as an array of {k, v}
constexpr std::string_view kUnmarked = "distlock_unmarked";     // those not passed over
constexpr std::string_view kPlace = "distlock_place";
constexpr std::string_view kOpenPlaces = "distlock_open";
constexpr std::string_view kSound = "distlock_sound";  // the document may be changed

std::string ref(std::string_view field) { return "$" + std::string(field); }

Bson set(std::string_view field, BsonValue value) {
  return doc({{"$set", doc({{field, std::move(value)}})}});
}

Bson all_of(std::initializer_list<BsonValue> conditions) {
  return doc({{"$and", array(conditions)}});
}

Bson either(Bson condition, BsonValue then, BsonValue otherwise) {
  return doc({{"$cond", array({std::move(condition), std::move(then), std::move(otherwise)})}});
}

Bson type_is(std::string_view expression, std::string_view type) {
  return equal(doc({{"$type", expression}}), type);
}

Bson negated(Bson condition) { return doc({{"$not", array({std::move(condition)})}}); }

Bson marked() { return type_is("$$w.v.passed", "date"); }

Bson filtered(BsonValue input, Bson condition) {
  return doc({{"$filter",
               doc({{"input", std::move(input)}, {"as", "w"}, {"cond", std::move(condition)}})}});
}

Bson waiters() {
  return either(type_is("$line", "object"), doc({{"$objectToArray", "$line"}}), array({}));
}

Bson unmarked_of(BsonValue waiters) { return filtered(std::move(waiters), negated(marked())); }

// As document_from() reads a line; `all` are its waiters. Types are compared as a list: the server
// works through each expression anew with every command.
Bson are_sound(BsonValue all) {
  Bson types = array({doc({{"$type", "$$w.v.process"}}), doc({{"$type", "$$w.v.who"}}),
                      doc({{"$type", "$$w.v.since"}}), doc({{"$type", "$$w.v.passed"}})});
  Bson right = array({array({"string", "string", "date", "missing"}),
                      array({"string", "string", "date", "date"})});
  Bson longest = doc({{"$max", array({doc({{"$strLenBytes", "$$w.v.process"}}),
                                      doc({{"$strLenBytes", "$$w.v.who"}})})}});
  Bson short_enough = doc({{"$lte", array({std::move(longest), std::int64_t{kTextBytesMost}})}});
  // A $ would also match before a newline at the end.
  Bson ticket = doc({{"$regexMatch", doc({{"input", "$$w.k"}, {"regex", "^[0-9a-f]{24}\\z"}})}});
  // An $and ends with the first condition that fails, so the server measures nothing but texts.
  Bson sound = all_of({doc({{"$in", array({std::move(types), std::move(right)})}}),
                       std::move(ticket), std::move(short_enough)});
  Bson each = doc({{"$map", doc({{"input", "$$all"}, {"as", "w"}, {"in", std::move(sound)}})}});
  Bson different = doc({{"$size", doc({{"$setUnion", array({"$$all.k"})}})}});
  Bson all_sound = all_of({doc({{"$allElementsTrue", array({std::move(each)})}}),
                           equal(doc({{"$size", "$$all"}}), std::move(different))});
  return doc(
      {{"$let", doc({{"vars", doc({{"all", std::move(all)}})}, {"in", std::move(all_sound)}})}});
}

// The server asks only where it would write to the line.
Bson line_is_sound(BsonValue waiters) {
  return doc(
      {{"$or", array({type_is("$line", "missing"),
                      all_of({type_is("$line", "object"), are_sound(std::move(waiters))})})}});
}

// $$NOW less a date of a document. Such dates may lie so far off that 64 bits hold no difference,
// and the server would refuse the command.
Bson time_since(BsonValue date) {
  constexpr StoreTime kFar{std::chrono::milliseconds{1'000'000'000'000'000}};
  Bson not_later = doc({{"$min", array({std::move(date), kFar})}});
  Bson near = doc({{"$max", array({std::move(not_later), StoreTime{-kFar.time_since_epoch()}})}});
  return doc({{"$subtract", array({"$$NOW", std::move(near)})}});
}

// As line::may_claim() counts it. A command that had to wait for others has an early $$NOW.
Bson free_since() {
  const std::int64_t on_its_way = std::chrono::milliseconds{line::kOnItsWayMost}.count();
  Bson freed = either(type_is("$freed_at", "date"), "$freed_at", StoreTime{});
  Bson overtaken = all_of(
      {doc({{"$lt", array({"$$since", 0})}}), doc({{"$gte", array({"$$since", -on_its_way})}})});
  return doc(
      {{"$let", doc({{"vars", doc({{"since", time_since(std::move(freed))}})},
                     {"in", either(std::move(overtaken), 0, doc({{"$abs", "$$since"}}))}})}});
}

// Two to the number of turns since the release and one, less one; everybody without a release.
// With `marks`, so many, turns are shorter, as in line::pace_of().
Bson open_places(BsonValue marks) {
  constexpr std::int32_t kDoublingsMost = 20;
  Bson one_more = doc({{"$add", array({1, std::move(marks)})}});
  Bson pace = doc({{"$min", array({std::int32_t{line::kTurnsMost}, std::move(one_more)})}});
  const std::int64_t turn = line::kTurn.count();
  Bson counted = doc({{"$min", array({free_since(), kDoublingsMost * turn})}});
  Bson passed = doc({{"$multiply", array({std::move(counted), std::move(pace)})}});
  Bson turns = doc({{"$floor", doc({{"$divide", array({std::move(passed), turn})}})}});
  Bson doublings = doc({{"$min", array({kDoublingsMost, std::move(turns)})}});
  Bson power = doc({{"$pow", array({2, doc({{"$add", array({1, std::move(doublings)})}})})}});
  return doc({{"$subtract", array({std::move(power), 1})}});
}

Bson ticket_among(std::string_view tickets, std::string_view hex) {
  return doc({{"$in", array({hex, tickets})}});
}

// Its index among the unmarked; 0 for a marked ticket; after the last for one that is not in line.
Bson place_of(std::string_view hex) {
  const std::string unmarked_tickets = ref(kUnmarked) + ".k";
  const std::string tickets = ref(kWaitersArray) + ".k";
  Bson index = doc({{"$indexOfArray", array({unmarked_tickets, hex})}});
  Bson last = doc({{"$size", ref(kUnmarked)}});
  return either(ticket_among(unmarked_tickets, hex), std::move(index),
                either(ticket_among(tickets, hex), 0, std::move(last)));
}

Bson merged(std::initializer_list<BsonValue> objects) {
  return doc({{"$mergeObjects", array(objects)}});
}

// A document that this very upsert has made becomes a free lock. It has nothing but its name: with
// any other field it was there before, and is malformed without a state.
Bson free_if_new(std::string_view name) {
  Bson is_new = equal("$$ROOT", doc({{"_id", literal(name)}}));
  Bson free = doc({{"_id", literal(name)}, {"state", 0}, {"who", ""}});
  return doc(
      {{"$replaceWith", merged({"$$ROOT", either(std::move(is_new), std::move(free), doc({}))})}});
}

Bson may_claim(const Claim& claim) {
  return all_of({before_cutoff(claim), fence_can_grow(claim), negated(equal("$ts", claim.ts)),
                 state_is_sound(), equal("$state", 0),
                 doc({{"$lt", array({ref(kPlace), ref(kOpenPlaces)})}}), ref(kSound)});
}

// All tickets in front of this one; all there are for one that is not in line.
Bson tickets_in_front(std::string_view hex, const std::string& tickets) {
  Bson front = either(equal("$$at", 0), array({}), doc({{"$slice", array({tickets, "$$at"})}}));
  return doc(
      {{"$let", doc({{"vars", doc({{"at", doc({{"$indexOfArray", array({tickets, hex})}})}})},
                     {"in", either(equal("$$at", -1), tickets, std::move(front))}})}});
}

// As line::after_claim(); `waiters` names the array of them.
Bson after_claim(std::string_view hex, const std::string& waiters) {
  const std::int64_t kept = std::chrono::milliseconds{line::kMarkedMost}.count();
  Bson since = doc({{"$abs", time_since("$$w.v.passed")}});
  Bson old = all_of({marked(), doc({{"$gt", array({std::move(since), kept})}})});
  Bson gone = doc({{"$or", array({equal("$$w.k", literal(hex)), std::move(old)})}});
  Bson mark = doc({{"k", "$$w.k"},
                   {"v", doc({{"$mergeObjects", array({"$$w.v", doc({{"passed", "$$NOW"}})})}})}});
  Bson to_mark = all_of({negated(marked()), doc({{"$in", array({"$$w.k", "$$front"})}})});
  Bson entry = either(std::move(to_mark), std::move(mark), "$$w");
  Bson all = doc({{"$map", doc({{"input", filtered(waiters, negated(std::move(gone)))},
                                {"as", "w"},
                                {"in", std::move(entry)}})}});
  return doc({{"$let", doc({{"vars", doc({{"front", tickets_in_front(hex, waiters + ".k")}})},
                            {"in", doc({{"$arrayToObject", std::move(all)}})}})}});
}

// Long lines take long to judge. A waiter that keeps its place on a taken lock asks often, and
// changes nothing then.
Bson sound_where_it_counts(const Claim& claim, std::string_view hex) {
  Bson keeps_its_place =
      all_of({negated(equal("$state", 0)), ticket_among(ref(kUnmarked) + ".k", hex)});
  Bson sound = all_of({fields_are_sound(claim), line_is_sound(ref(kWaitersArray))});
  return doc({{"$or", array({std::move(keeps_its_place), std::move(sound)})}});
}

Bson branch(Bson condition, Bson then) {
  return doc({{"case", std::move(condition)}, {"then", std::move(then)}});
}

Bson granted(const Claim& claim, std::string_view hex) {
  Bson line = doc({{"line", after_claim(hex, ref(kWaitersArray))}});
  return branch(may_claim(claim), merged({"$$ROOT", claimed_fields(claim), std::move(line)}));
}

// The line with this at the ticket's place, or at its end.
Bson line_with(std::string_view hex, Bson place) {
  return doc({{"line", merged({"$line", doc({{hex, std::move(place)}})})}});
}

Bson entered(const Claim& claim, std::string_view hex) {
  const auto most = static_cast<std::int32_t>(line::kPlacesMost);
  Bson may_enter =
      all_of({before_cutoff(claim), negated(ticket_among(ref(kWaitersArray) + ".k", hex)),
              doc({{"$lt", array({doc({{"$size", ref(kWaitersArray)}}), most})}}),
              negated(equal("$ts", claim.ts)), ref(kSound)});
  Bson place =
      doc({{"process", literal(claim.process)}, {"who", literal(claim.who)}, {"since", "$$NOW"}});
  return branch(std::move(may_enter), merged({"$$ROOT", line_with(hex, std::move(place))}));
}

// Its owner is there, so that nothing is held against it.
Bson unmarked_again(std::string_view hex) {
  const std::string at = "$line." + std::string(hex);
  Bson place = doc({{"process", at + ".process"}, {"who", at + ".who"}, {"since", at + ".since"}});
  return branch(all_of({type_is(at + ".passed", "date"), ref(kSound)}),
                merged({"$$ROOT", line_with(hex, std::move(place))}));
}

Bson without_empty_line() {
  return set("line", either(equal("$line", doc({})), "$$REMOVE", "$line"));
}

// Large and always the same, so it is made once. Never destroyed: threads may claim at exit.
const Bson& made_newcomers_turn() {
  static const Bson& turn = *[] {
    Bson unmarked = doc({{"$size", unmarked_of(waiters())}});
    Bson marks = doc({{"$size", filtered(waiters(), marked())}});
    Bson open = doc({{"$lt", array({std::move(unmarked), open_places(std::move(marks))})}});
    Bson open_and_sound = all_of({std::move(open), line_is_sound(waiters())});
    return new Bson(
        doc({{"$or", array({type_is("$line", "missing"), std::move(open_and_sound)})}}));
  }();
  return turn;
}

// A child that is forked while another thread makes it would wait for that for ever.
[[maybe_unused]] const Bson* const kTurnAtLoad = &made_newcomers_turn();

}  // namespace

Bson newcomers_turn() { return Bson(made_newcomers_turn().get()); }

Bson line_after_claim(const Token& ticket) {
  Bson all = doc({{"all", doc({{"$objectToArray", "$line"}})}});
  Bson line = doc(
      {{"$let", doc({{"vars", std::move(all)}, {"in", after_claim(to_hex(ticket), "$$all")}})}});
  return either(type_is("$line", "object"), std::move(line), "$line");
}

Bson stand_command(std::string_view name, const Claim& claim) {
  const std::string hex = to_hex(claim.ts);
  Bson cases =
      doc({{"branches", array({granted(claim, hex), entered(claim, hex), unmarked_again(hex)})},
           {"default", "$$ROOT"}});
  Bson judged =
      doc({{kPlace, place_of(hex)},
           {kOpenPlaces, open_places(doc({{"$size", filtered(ref(kWaitersArray), marked())}}))},
           {kSound, sound_where_it_counts(claim, hex)}});
  Bson pipeline =
      array({free_if_new(name), set(kWaitersArray, waiters()),
             set(kUnmarked, unmarked_of(ref(kWaitersArray))), doc({{"$set", std::move(judged)}}),
             doc({{"$replaceWith", doc({{"$switch", std::move(cases)}})}}), without_empty_line(),
             doc({{"$unset", array({kWaitersArray, kUnmarked, kPlace, kOpenPlaces, kSound})}})});
  Bson shown;
  for (const std::string_view field :
       {"state", "process", "who", "why", "when", "ts", "fence", "takeover_after", "freed_at"})
    append(shown, field, 1);
  append(shown, "line." + hex, 1);
  return doc({{"findAndModify", kLocks},
              {"query", doc({{"_id", name}})},
              {"update", std::move(pipeline)},
              {"upsert", true},
              {"new", true},
              {"fields", std::move(shown)}});
}

Bson leave_command(std::string_view name, const Token& ticket) {
  const std::string field = "line." + to_hex(ticket);
  return doc({{"findAndModify", kLocks},
              {"query", doc({{"_id", name}, {field, doc({{"$exists", true}})}})},
              {"update", array({doc({{"$unset", field}}), without_empty_line()})},
              {"fields", doc({{"_id", 1}})}});
}

Bson release_and_tell_command(std::string_view name, const Token& ts) {
  return release_and_show(name, ts, doc({{"state", 1}, {"line", 1}}));
}

}  // namespace distlock
