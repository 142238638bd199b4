#include "sim/sim_store.h"

#include "sim/events.h"
#include "sim/forked_child.h"
#include "stores/memory/memory_documents.h"
#include "stores/mirrored/identity.h"

namespace distlock::sim {

SimStore::SimStore(Servers& servers, Scheduler& scheduler, Faults& faults, Oracle& oracle,
                   Trace& trace, std::string process, std::chrono::milliseconds call_limit,
                   Random random)
    : servers_(servers),
      scheduler_(scheduler),
      faults_(faults),
      oracle_(oracle),
      trace_(trace),
      process_(std::move(process)),
      call_limit_(call_limit),
      random_(random) {}

void SimStore::check_allowed(const Call& call) {
  if (ForkedChild::running()) {
    oracle_.violate("a forked child of " + process_ +
                    " calls the store: " + std::string(call.verb));
  }
  const bool identity = call.verb == "inspect" && call.object == mirrored::kIdentityName;
  if (silent_ && call.verb != "release" && call.verb != "carried" && call.verb != "leave" &&
      !identity) {
    oracle_.violate(process_ + " calls the store after stop(): " + std::string(call.verb));
  }
  const bool claims = call.verb == "claim" || call.verb == "stand" || call.verb == "ping";
  if (claimless_ && claims) {
    oracle_.violate(process_ + " claims or pings after stop(): " + std::string(call.verb));
  }
}

void SimStore::begin(Call& call) {
  if (dead_) throw Error(Errc::not_applied, "the process is gone");
  check_allowed(call);
  call.process = process_;
  call.caller = scheduler_.current();
  point_(call);
  scheduler_.yield();
  if (dead_) throw Error(Errc::not_applied, "the process is gone");
  call.give_up_at = scheduler_.now() + call_limit_;
}

bool SimStore::gets_lost(const Call& call) {
  if (call.verb == "claim" && std::exchange(loses_next_claim_, false) &&
      faults_.enabled(Fault::pause_when_granted)) {
    return true;
  }
  if (!faults_.strikes(Fault::lost_request)) return false;
  const bool decides = call.verb == "claim" || call.verb == "release";
  if (decides) faults_.mattered(Fault::lost_request);
  return true;
}

void SimStore::send(const std::shared_ptr<Call>& call) {
  trace_.say(process_, [&] { return "sends " + std::string(call->verb) + " of " + call->object; });
  const auto arrive_after = [&](Time delay) {
    scheduler_.at(scheduler_.now() + delay, [this, call] { servers_.arrive(call); });
  };
  if (scheduler_.now() < cut_off_until_) return;
  if (gets_lost(*call)) {
    trace_.say(process_, [&] { return "its " + std::string(call->verb) + " is lost"; });
    return;
  }
  if (call->writes && faults_.strikes(Fault::late_request)) {
    call->late = true;
    return arrive_after(call_limit_ + random_.between(Time{0}, Time{call_limit_} * 8));
  }
  Time usual = random_.between(Time{100'000}, Time{3'000'000});
  if (servers_.slow()) usual = random_.between(Time{0}, Time{call_limit_} * 3 / 2);
  arrive_after(usual);
  if (call->writes && call->may_be_doubled && faults_.strikes(Fault::doubled_request)) {
    arrive_after(usual + random_.between(Time{0}, Time{call_limit_} * 4));
  }
}

void SimStore::await(Call& call) {
  point_(call);
  while (!dead_ && !call.replied && scheduler_.now() < call.give_up_at) {
    scheduler_.rest_until(call.give_up_at);
  }
  if (!dead_) point_(call);
  call.caller = nullptr;
  if (dead_) throw Error(Errc::not_applied, "the process is gone");
  if (!call.replied) {
    trace_.say(process_, [&] { return "gives up its " + std::string(call.verb); });
    throw Error(call.writes ? Errc::outcome_unknown : Errc::not_applied, "no answer in time");
  }
  if (call.failure) {
    trace_.say(process_,
               [&] { return "its " + std::string(call.verb) + " fails: " + call.failure->what(); });
    throw Error(*call.failure);
  }
  trace_.say(process_, [&] { return "has the answer to its " + std::string(call.verb); });
}

Inspection SimStore::inspect(std::string_view name, Freshness freshness) {
  const bool one_server = servers_.kind() == StoreKind::steady;
  const bool fresh = one_server || freshness == Freshness::fresh;
  Inspection seen = call("inspect", name, false, fresh,
                         [lock = std::string(name)](MemoryTables& tables, const StoreNow& now) {
                           return tables.inspect(lock, now);
                         });
  seen.fresh = fresh;
  if (!seen.lock && !absent_tells_time_) seen.now.reset();
  if (seen.now) clocks_read_.insert(seen.now->clock);
  return seen;
}

std::optional<Carried> SimStore::carried(std::string_view name) {
  try {
    return call("carried", name, false, true,
                [lock = std::string(name)](MemoryTables& tables, const StoreNow&) {
                  return tables.carried(lock);
                });
  } catch (const Error&) {
    oracle_.could_not_look(process_, name);
    throw;
  }
}

std::optional<LockRecord> SimStore::claim(std::string_view name, const ClaimBasis& basis,
                                          const Claim& claim) {
  struct Answer {
    std::optional<LockRecord> record;
    bool not_yet = false;
    int refusal = 0;
  };
  oracle_.claims_again(claim.ts);
  Answer answer = call(
      "claim", name, true, true,
      [this, lock = std::string(name), basis, claim](MemoryTables& tables, const StoreNow& now) {
        Answer given{.record = tables.claim(lock, basis, claim, now), .refusal = oracle_.refusal()};
        // For those in line, who may let the turn pass before it arrives once more. And a
        // fail-over may bring back the clock that the cutoff names, and a step the time before it.
        const auto left = tables.raw_lock(lock);
        const bool in_line =
            left && state_in(*left) == LockState::free && find_field(*left, "line");
        given.not_yet = in_line || past_cutoff(claim, now);
        return given;
      });
  if (!answer.record && !answer.not_yet) oracle_.refused(claim.ts, answer.refusal);
  return std::move(answer.record);
}

ReleaseResult SimStore::release(std::string_view name, const Token& ts) {
  return call("release", name, true, true,
              [lock = std::string(name), ts](MemoryTables& tables, const StoreNow& now) {
                return tables.release(lock, ts, now);
              });
}

Standing SimStore::stand(std::string_view name, const Claim& claim) {
  oracle_.claims_again(claim.ts);
  const auto stand = [lock = std::string(name), claim](MemoryTables& tables, const StoreNow& now) {
    return tables.stand(lock, claim, now);
  };
  const auto call = std::make_shared<CallOf<decltype(stand)>>(stand);
  call->verb = "claim";
  call->object = name;
  call->writes = call->fresh = true;
  // A wait sends it anew by itself, and so reckons with a late one, but not with a double of what
  // was answered: no store makes one.
  call->may_be_doubled = false;
  Standing standing = perform(call);
  if (standing.in_line) count(Event::stood_in_line);
  if (standing.hold && faults_.strikes(Fault::pause_when_granted)) {
    faults_.mattered(Fault::pause_when_granted);
    loses_next_claim_ = random_.chance(0.5);
    granted_();
  }
  return standing;
}

void SimStore::leave(std::string_view name, const Token& ticket) {
  count(Event::left_line);
  call("leave", name, true, true,
       [lock = std::string(name), ticket](MemoryTables& tables, const StoreNow&) {
         tables.leave(lock, ticket);
         return true;
       });
}

Freed SimStore::release_and_tell(std::string_view name, const Token& ts, ReleaseRule rule) {
  const auto release = [lock = std::string(name), ts](MemoryTables& tables, const StoreNow& now) {
    return tables.release_and_tell(lock, ts, now);
  };
  const auto call = std::make_shared<CallOf<decltype(release)>>(release);
  call->verb = "release";
  call->object = name;
  call->writes = call->fresh = true;
  call->quick = rule == ReleaseRule::quick;
  return perform(call);
}

// Nobody waits for the answer, and any ring may get lost.
void SimStore::ring(std::string_view name, const std::vector<std::string>& processes) {
  if (dead_) throw Error(Errc::not_applied, "the process is gone");
  for (const std::string& process : processes) {
    if (faults_.strikes(Fault::lost_request)) continue;
    ring_for(process, std::string(name));
  }
}

void SimStore::ring_for(const std::string& process, const std::string& name) {
  const Time delay = random_.between(Time{100'000}, Time{5'000'000});
  const std::vector<Waiter> places = servers_.places_of(name);
  const bool stands = std::any_of(places.begin(), places.end(),
                                  [&](const Waiter& waiter) { return waiter.process == process; });
  if (faults_.strikes(Fault::ring_lost)) {
    if (stands && !servers_.taken(name)) faults_.mattered(Fault::ring_lost);
    return;
  }
  servers_.bell().ring(process, name, delay);
  if (faults_.strikes(Fault::ring_again)) {
    if (stands) faults_.mattered(Fault::ring_again);
    servers_.bell().ring(process, name, delay + random_.between(Time{0}, Time{2 * call_limit_}));
  }
  if (!places.empty() && faults_.strikes(Fault::ring_astray)) {
    const std::string& astray = places[random_.below(places.size())].process;
    if (astray != process) faults_.mattered(Fault::ring_astray);
    servers_.bell().ring(astray, name, delay);
  }
}

std::shared_ptr<void> SimStore::listen(std::string_view process, Rung rung) {
  return servers_.bell().listen(process, std::move(rung));
}

PingRecord SimStore::ping(std::string_view process, const PingHealth& health) {
  const Time sent = scheduler_.now();
  PingRecord ping =
      call("ping", process, true, true,
           [id = std::string(process), health](MemoryTables& tables, const StoreNow& now) {
             return tables.ping(id, health, now);
           });
  clocks_read_.insert(*ping.clock);
  oracle_.heard_of_durable_write(process, sent);
  durable_ = std::max(durable_, sent);
  return ping;
}

void SimStore::remove_ping(std::string_view process) {
  call("remove_ping", process, true, true,
       [id = std::string(process)](MemoryTables& tables, const StoreNow&) {
         tables.remove_ping(id);
         return true;
       });
}

std::int64_t SimStore::forget_pings(std::chrono::milliseconds age) {
  return call("forget_pings", "", true, true, [age](MemoryTables& tables, const StoreNow& now) {
    return tables.forget_pings(age, now);
  });
}

std::vector<StoredHold> SimStore::holds(std::string_view process) {
  const Time asked = scheduler_.now();
  oracle_.asks_for_holds(process);
  const auto list = [id = std::string(process)](MemoryTables& tables, const StoreNow&) {
    return tables.holds(id);
  };
  const auto call = std::make_shared<CallOf<decltype(list)>>(list);
  call->verb = "holds";
  call->object = process;
  call->fresh = false;
  auto stored = perform(call);
  if (!call->deposed) oracle_.heard_of_holds(process);
  const bool one_server = servers_.kind() == StoreKind::steady;
  listed_since_ = call->deposed ? Time{0} : one_server ? asked : durable_;
  return stored;
}

Listing SimStore::list() {
  return call("list", "", false, false,
              [](MemoryTables& tables, const StoreNow& now) { return tables.list(now); });
}

Listing SimStore::list_waits(const std::vector<std::string>& names) {
  return call(
      "list of waits", "", false, false,
      [names](MemoryTables& tables, const StoreNow& now) { return tables.list_waits(names, now); });
}

}  // namespace distlock::sim
