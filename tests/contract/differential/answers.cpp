#include "contract/differential/answers.h"

#include <array>
#include <map>
#include <sstream>
#include <stdexcept>

#include "contract/contract.h"
#include "distlock/error.h"

// Stores may differ in this, which is made equal here:
// - Times and the names of clocks. A time is said as hours before the store's now, a clock as this
//   or another one.
// - `now` where there is no lock, and `fresh` of a read that need not be: left out.
// - How a process's pings fared, which store.h lets a store leave out: left out. SQLite gives it in
//   listings only, and a plain ping() takes it away there.
// - The order of holds().
// - What a message says of a wrong value's type: only the code and the field's name are compared.
// - A claim from no document past its cutoff may leave a free document (store.h):
//   leave_a_free_document() sees to it that there is one. stand() past its cutoff likewise.
// - Whether stand() is refused or an error where the lock's document is malformed.
// - Whether stand() past its cutoff takes a mark off: it is not asked.
// - When the lock was freed last, in a hold that is granted: left out.
// - How long ago a lock was freed, when a turn is a matter of milliseconds: each release is made to
//   look as if it was hours ago, so that every turn has come.
namespace distlock::testing {
namespace {

using namespace std::chrono_literals;

std::string hours_ago(StoreTime time, const StoreNow& now) {
  return std::to_string(std::chrono::round<std::chrono::hours>(now.time - time).count()) + "h ago";
}

std::string shown(const LockRecord& lock, const StoreNow& now) {
  std::ostringstream out;
  out << lock.name << " state " << static_cast<int>(lock.state) << " process " << lock.process
      << " who " << lock.who << " why " << lock.why << " fence " << lock.fence;
  if (lock.when) out << " when " << hours_ago(*lock.when, now);
  if (lock.ts) out << " ts " << to_hex(*lock.ts);
  if (lock.takeover_after) out << " takeover_after " << lock.takeover_after->count();
  if (lock.freed_at) out << " freed " << hours_ago(*lock.freed_at, now);
  for (const Waiter& waiter : lock.line) {
    out << " [" << to_hex(waiter.ticket) << ' ' << waiter.process << ' ' << waiter.who << ' '
        << hours_ago(waiter.since, now) << (waiter.passed_over ? " marked" : "") << ']';
  }
  return out.str();
}

std::string shown(const PingRecord& ping, const StoreNow& now) {
  std::ostringstream out;
  out << ping.process << " pinged " << hours_ago(ping.ping, now);
  if (ping.clock) out << (*ping.clock == now.clock ? " by this clock" : " by another clock");
  return out.str();
}

std::string after_ping(const PingRecord& ping, const StoreNow& now) {
  return shown(ping, now) + " after " + std::to_string(ping.health->successes) + " good ones";
}

std::string granted(LockRecord hold, const StoreNow& now) {
  hold.freed_at.reset();
  return "granted " + shown(hold, now);
}

// `field "x"` of a message that names one.
std::string field_in(const std::string& message) {
  const auto begin = message.find("field \"");
  if (begin == std::string::npos) return "no field";
  return message.substr(begin, message.find('"', begin + 7) - begin + 1);
}

template <class Record>
std::string shown(const std::vector<Listed<Record>>& all, const StoreNow& now) {
  std::string lines;
  for (const auto& [id, record, problem, named, fence] : all) {
    const std::string told = fence ? " with the fence " + std::to_string(*fence) : "";
    const std::string malformed = id + " malformed " + field_in(problem) + told;
    lines += "  " + (record ? shown(*record, now) : malformed) + '\n';
  }
  return lines;
}

bool is_marked(const LockRecord& lock, std::size_t place) {
  return place < lock.line.size() && lock.line[place].passed_over;
}

ClaimBasis basis_of(const Step& step, const Token& ts) {
  switch (step.basis) {
    case Basis::absent:
      return FromAbsent{};
    case Basis::free:
      return FromFree{};
    case Basis::free_of_hold:
      return FromFree{ts};
    case Basis::hold:
      return FromHold{ts};
  }
  throw std::logic_error("no such basis");
}

void set_times(std::vector<Waiter>& line, StoreTime now) {
  for (Waiter& waiter : line) {
    waiter.since = now + waiter.since.time_since_epoch();
    if (waiter.passed_over) *waiter.passed_over = now + waiter.passed_over->time_since_epoch();
  }
}

StoreNow cutoff_of(const Step& step, StoreNow now) {
  now.time += step.cutoff == Cutoff::past ? -1s : 60s;
  if (step.cutoff == Cutoff::of_another_clock) now.clock += " of another";
  return now;
}

}  // namespace

Answering::Answering(std::unique_ptr<StoreUnderTest> under_test)
    : under_test_(std::move(under_test)),
      store_(under_test_->open()),
      another_(under_test_->open()) {}

std::string Answering::answer(const Step& step) {
  try {
    return call(step);
  } catch (const Error& error) {
    return "error " + error.code().message() + ", " + field_in(error.what());
  }
}

std::string Answering::state() {
  const Listing listing = another_->list();
  return shown(listing.locks, listing.now) + shown(listing.pings, listing.now);
}

std::string Answering::call(const Step& step) {
  switch (step.call) {
    case Call::inspect:
      return inspection(step);
    case Call::claim:
      return claim(step);
    case Call::release:
      return after_release(step, store_->release(step.name, ts_for(step)));
    case Call::stand:
      return stand(step);
    case Call::leave:
      store_->line()->leave(step.name, ticket_for(step));
      return "left";
    case Call::release_and_tell:
      return release_and_tell(step);
    case Call::ping:
      return after_ping(store_->ping(step.process, step.health), store_->list().now);
    case Call::remove_ping:
      store_->remove_ping(step.process);
      return "done";
    case Call::forget_pings:
      return "forgot " + std::to_string(store_->forget_pings(step.age));
    case Call::holds: {
      std::map<std::string, Token> all;
      for (const StoredHold& hold : store_->holds(step.process)) all.emplace(hold.name, hold.ts);
      std::string holds = "holds";
      for (const auto& [name, ts] : all) {
        holds += ' ' + name + ' ' + to_hex(ts);
      }
      return holds;
    }
    case Call::put_lock:
    case Call::put_ping:
      return put(step);
  }
  throw std::logic_error("no such call");
}

std::string Answering::inspection(const Step& step) {
  const Inspection seen = store_->inspect(step.name, step.freshness);
  if (!seen.lock) return "no lock";
  std::string text = "sees " + shown(*seen.lock, *seen.now);
  if (seen.ping) text += "; " + shown(*seen.ping, *seen.now);
  if (step.freshness == Freshness::fresh) text += seen.fresh ? "; fresh" : "; not fresh";
  return text;
}

Claim Answering::claim_of(const Step& step, const Token& ts) {
  return {.process = step.process,
          .who = step.process + ":main:$1",
          .why = "to differ",
          .ts = ts,
          .takeover_after = 16min,
          .cutoff = cutoff_of(step, store_->list().now)};
}

std::string Answering::stand(const Step& step) {
  for (const auto& [id, lock, problem, named, fence] : store_->list().locks) {
    if (id == step.name && !lock) return stand_for_malformed(step);
    if (id == step.name && step.cutoff != Cutoff::ahead && is_marked(*lock, step.place)) {
      return "late";
    }
  }
  const Standing standing = store_->line()->stand(step.name, claim_of(step, ticket_for(step)));
  if (standing.hold) return granted(*standing.hold, store_->list().now);
  leave_a_free_document(step);
  if (step.cutoff != Cutoff::ahead) return "refused";
  return std::string(standing.in_line ? "waits" : "full") + (standing.free ? " for a turn" : "");
}

std::string Answering::stand_for_malformed(const Step& step) {
  try {
    const Standing standing = store_->line()->stand(step.name, claim_of(step, step.new_ts));
    if (standing.hold) return "granted though malformed";
    if (standing.in_line) return "waits though malformed";
  } catch (const Error& error) {
    if (error.errc() != Errc::bad_record) throw;
  }
  return "malformed";
}

std::string Answering::release_and_tell(const Step& step) {
  const Freed freed = store_->line()->release_and_tell(step.name, ts_for(step), ReleaseRule::quick);
  std::string told = after_release(step, freed.result);
  // Nobody is rung for what was not freed.
  if (freed.result != ReleaseResult::freed) return told;
  for (const std::string& process : freed.next) told += ", next " + process;
  return freed.then.empty() ? told : told + ", then " + freed.then;
}

std::string Answering::after_release(const Step& step, ReleaseResult result) {
  constexpr std::array kResults{"freed", "already free", "not ours"};
  if (result == ReleaseResult::freed) {
    const StoreTime long_ago = store_->list().now.time - 2h;
    under_test_->put_lock(with(*under_test_->raw_lock(step.name), "freed_at", long_ago));
  }
  return kResults.at(static_cast<std::size_t>(result));
}

std::string Answering::claim(const Step& step) {
  const StoreNow now = store_->list().now;
  const auto lock =
      store_->claim(step.name, basis_of(step, ts_for(step)), claim_of(step, step.new_ts));
  if (lock) return granted(*lock, now);
  leave_a_free_document(step);
  return "refused";
}

void Answering::leave_a_free_document(const Step& step) {
  const bool claims_from_nothing = step.call == Call::stand || step.basis == Basis::absent;
  if (!claims_from_nothing || step.cutoff == Cutoff::ahead) return;
  if (!under_test_->raw_lock(step.name)) under_test_->put_lock(free_lock(step.name));
}

std::string Answering::put(const Step& step) {
  const StoreNow now = store_->list().now;
  Document document = step.document;
  for (auto& [field, value] : document) {
    if (auto* time = std::get_if<StoreTime>(&value)) *time = now.time + time->time_since_epoch();
    if (auto* line = std::get_if<std::vector<Waiter>>(&value)) set_times(*line, now.time);
    if (value == Value{std::string(kThisClock)}) value = now.clock;
  }
  step.call == Call::put_lock ? under_test_->put_lock(document) : under_test_->put_ping(document);
  return "put";
}

Token Answering::ticket_for(const Step& step) {
  for (const auto& [id, lock, problem, named, fence] : store_->list().locks) {
    if (id == step.name && lock && step.place < lock->line.size()) {
      return lock->line[step.place].ticket;
    }
  }
  return step.new_ts;
}

// A lock without a token gives one that no hold has.
Token Answering::ts_for(const Step& step) {
  if (!step.right_ts) return step.other_ts;
  for (const auto& [id, lock, problem, named, fence] : store_->list().locks) {
    if (id == step.name && lock && lock->ts) return *lock->ts;
  }
  return step.other_ts;
}

}  // namespace distlock::testing
