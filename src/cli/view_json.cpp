#include "cli/view_json.h"

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "cli/holder.h"
#include "cli/time_text.h"
#include "cli/view_cells.h"
#include "cli/view_members.h"
#include "saturating.h"
#include "text.h"

namespace distlock::cli {
namespace {

using Json = nlohmann::ordered_json;

// A date as text for people and as a number for programs.
void add_time(Json& object, const std::string& key, const std::optional<StoreTime>& time) {
  if (!time) {
    object[key] = nullptr;
    object[key + "_ms"] = nullptr;
    return;
  }
  object[key] = iso8601(*time);
  object[key + "_ms"] = time->time_since_epoch().count();
}

// JSON is Unicode, and what others stored need not be.
std::string text(const std::string& stored) { return is_utf8(stored) ? stored : escaped(stored); }

// Null where a document has no name: its problem says what it has instead.
template <class ViewOfOne>
Json name_json(const ViewOfOne& view, const std::string& name) {
  return view.named ? Json(text(name)) : Json(nullptr);
}

const char* state_name(LockState state) {
  switch (state) {
    case LockState::free:
      return "free";
    case LockState::taken:
      return "taken";
    case LockState::taken_by_mongodb:
      return "taken_by_mongodb";
  }
  return "";
}

const char* how_name(Takeover::How how) {
  switch (how) {
    case Takeover::How::not_needed:
      return "not_needed";
    case Takeover::How::now:
      return "now";
    case Takeover::How::later:
      return "later";
    case Takeover::How::by_watching:
      return "by_watching";
    case Takeover::How::never:
      return "never";
    case Takeover::How::clock_skew:
      return "clock_skew";
    case Takeover::How::malformed_ping:
      return "malformed_ping";
  }
  return "";
}

// Null where the two times are of different clocks (R4).
Json age_of(const PingRecord& ping, const std::optional<StoreNow>& now) {
  if (!now || (ping.clock && *ping.clock != now->clock)) return nullptr;
  return saturating_difference(now->time, ping.ping).count();
}

Json health_json(const std::optional<PingHealth>& health) {
  if (!health) return nullptr;
  return {{"successes", health->successes},
          {"failures", health->failures},
          {"round_trip_ms", health->round_trip.count()},
          {"late_by_ms", health->late_by.count()}};
}

Json ping_json(const PingRecord& ping, const std::optional<StoreNow>& now) {
  Json object;
  add_time(object, "ping", ping.ping);
  object["age_ms"] = age_of(ping, now);
  object["clock"] = ping.clock ? Json(text(*ping.clock)) : Json(nullptr);
  object["health"] = health_json(ping.health);
  return object;
}

Json takeover_json(const Takeover& takeover, const std::optional<StoreNow>& now) {
  Json object;
  object["how"] = how_name(takeover.how);
  const bool foretold = takeover.how == Takeover::How::later && now;
  object["window_ms"] = takeover.window.count() > 0 ? Json(takeover.window.count()) : Json(nullptr);
  object["in_ms"] = foretold ? Json(takeover.in.count()) : Json(nullptr);
  add_time(object, "at",
           foretold ? std::optional(saturating_sum(now->time, takeover.in))
                    : std::optional<StoreTime>());
  return object;
}

void add_holder(Json& object, const Holder& holder) {
  object["host"] = text(holder.host);
  object["pid"] = holder.process_number ? Json(*holder.process_number) : Json(nullptr);
  object["user"] = holder.user ? Json(text(*holder.user)) : Json(nullptr);
}

Json line_json(const LockRecord& lock, const std::optional<StoreNow>& now) {
  Json line = Json::array();
  for (const Waiter& waiter : lock.line) {
    Json place;
    place["process"] = text(waiter.process);
    place["who"] = text(waiter.who);
    add_holder(place, holder_of(waiter));
    place["ticket"] = to_hex(waiter.ticket);
    add_time(place, "since", waiter.since);
    place["waiting_ms"] = now ? Json(time_since(waiter.since, now->time).count()) : Json(nullptr);
    add_time(place, "passed_over", waiter.passed_over);
    line.push_back(std::move(place));
  }
  return line;
}

void add_hold(Json& object, const LockRecord& record, const std::optional<StoreNow>& now) {
  object["process"] = text(record.process);
  object["who"] = text(record.who);
  object["why"] = text(record.why);
  add_holder(object, holder_of(record));
  add_time(object, "when", record.when);
  const bool timed = record.taken() && record.when && now;
  object["held_ms"] =
      timed ? Json(saturating_difference(now->time, *record.when).count()) : Json(nullptr);
  object["ts"] = record.ts ? Json(to_hex(*record.ts)) : Json(nullptr);
  object["fence"] = record.fence;
  object["takeover_after_ms"] =
      record.takeover_after ? Json(record.takeover_after->count()) : Json(nullptr);
}

Json lock_json(const LockView& lock, const std::optional<StoreNow>& now) {
  Json object;
  object["name"] = name_json(lock, lock.name);
  if (!lock.record) {
    object["problem"] = text(lock.problem);
    return object;
  }
  const LockRecord& record = *lock.record;
  object["state"] = state_name(record.state);
  add_hold(object, record, now);
  const auto& by = lock.now ? lock.now : now;
  object["ping"] = lock.ping ? ping_json(*lock.ping, by) : Json(nullptr);
  object["takeover"] = record.taken() ? takeover_json(lock.takeover, now) : Json(nullptr);
  object["line"] = line_json(record, now);
  return object;
}

Json cycle_json(const deadlock::Cycle& cycle) {
  Json waits = Json::array();
  for (const deadlock::Wait& wait : cycle) {
    Json object;
    object["lock"] = text(wait.lock);
    object["waiter"] = text(wait.waiter.who);
    object["ticket"] = to_hex(wait.waiter.ticket);
    object["holder"] = text(wait.holder);
    waits.push_back(std::move(object));
  }
  return waits;
}

Json cycles_json(const std::vector<deadlock::Cycle>& cycles) {
  Json all = Json::array();
  for (const deadlock::Cycle& cycle : cycles) all.push_back(cycle_json(cycle));
  return all;
}

Json process_json(const PingView& ping, const std::optional<StoreNow>& now) {
  Json object;
  object["process"] = name_json(ping, ping.process);
  if (!ping.record) {
    object["problem"] = text(ping.problem);
    return object;
  }
  object.update(ping_json(*ping.record, ping.now ? ping.now : now));
  object["holds"] = ping.holds;
  return object;
}

const char* condition_name(MemberState::Condition condition) {
  switch (condition) {
    case MemberState::Condition::counts:
      return "counts";
    case MemberState::Condition::away:
      return "away";
    case MemberState::Condition::empty:
      return "empty";
    case MemberState::Condition::kept_out:
      return "kept_out";
    case MemberState::Condition::strange:
      return "strange";
  }
  return "";
}

Json member_json(const MemberState& member, std::size_t number) {
  Json object;
  object["member"] = number;
  object["store"] = text(member.description);
  object["state"] = condition_name(member.condition);
  const auto& out_for = member.kept_out_for;
  object["kept_out_for_ms"] = out_for ? Json(out_for->count()) : Json(nullptr);
  object["lacks"] = member.lacks;
  object["clock_ahead_ms"] = member.ahead ? Json(member.ahead->count()) : Json(nullptr);
  object["skewed"] = is_skewed(member);
  const std::string problem = member.failure ? member.failure->what() : member.problem;
  object["problem"] = problem.empty() ? Json(nullptr) : Json(text(problem));
  return object;
}

Json left_over_json(const LockRecord& hold, const View& view) {
  Json object;
  object["name"] = text(hold.name);
  object["members"] = carriers_of(hold, view.members);
  add_hold(object, hold, view.now);
  return object;
}

// Of a mirrored store alone.
void add_members(Json& document, const View& view) {
  if (view.members.empty()) return;
  for (std::size_t i = 0; i < view.locks.size(); ++i) {
    if (!view.locks[i].record) continue;
    document["locks"][i]["members"] = carriers_of(*view.locks[i].record, view.members);
  }
  for (std::size_t i = 0; i < view.members.size(); ++i) {
    document["members"].push_back(member_json(view.members[i], i + 1));
  }
  document["left_over"] = Json::array();
  for (const LockRecord& hold : view.left_over) {
    document["left_over"].push_back(left_over_json(hold, view));
  }
}

}  // namespace

void print_json(std::ostream& out, const View& view) {
  Json document;
  document["store"] = text(view.store);
  add_time(document, "now", view.now ? std::optional(view.now->time) : std::nullopt);
  document["clock"] = view.now ? Json(text(view.now->clock)) : Json(nullptr);
  document["locks"] = Json::array();
  for (const LockView& lock : view.locks) document["locks"].push_back(lock_json(lock, view.now));
  document["pings"] = Json::array();
  for (const PingView& ping : view.pings) document["pings"].push_back(process_json(ping, view.now));
  document["deadlocks"] = cycles_json(view.deadlocks);
  document["possible_deadlocks"] = cycles_json(view.possible_deadlocks);
  add_members(document, view);
  // In ASCII, so that it can be shown on a terminal whatever others have stored.
  constexpr bool kAscii = true;
  out << document.dump(2, ' ', kAscii) << '\n';
}

}  // namespace distlock::cli
