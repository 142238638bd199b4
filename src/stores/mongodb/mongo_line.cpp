#include "stores/mongodb/mongo_line.h"

#include <atomic>

#include "distlock/clock.h"
#include "stores/document.h"
#include "stores/mongodb/mongo_bell.h"
#include "stores/mongodb/mongo_documents.h"
#include "stores/mongodb/mongo_line_commands.h"
#include "stores/mongodb/mongo_lists.h"
#include "turns.h"

namespace distlock {
namespace {

class MongoLine : public Line {
 public:
  MongoLine(MongoPool& pool, const MongoSettings& settings, MongoRoom& room)
      : pool_(pool), settings_(settings), room_(room) {}

  Standing stand(std::string_view name, const Claim& claim) override;
  void leave(std::string_view name, const Token& ticket) override;
  Freed release_and_tell(std::string_view name, const Token& ts, ReleaseRule rule) override;
  void ring(std::string_view name, const std::vector<std::string>& processes) override;
  Listing list_waits(const std::vector<std::string>& names) override {
    return distlock::list_waits(call("looking for deadlocks", {}), names);
  }
  std::shared_ptr<void> listen(std::string_view process, MongoBell::Rung rung) override {
    return std::make_shared<MongoBell>(pool_, settings_, std::string(process), std::move(rung),
                                       bell_refusals_);
  }

 private:
  MongoCall call(std::string_view verb, std::string_view lock) {
    return {pool_, settings_, Doing{verb, lock}, &room_};
  }

  MongoPool& pool_;
  const MongoSettings& settings_;
  MongoRoom& room_;
  const std::shared_ptr<Clock> clock_ = host_clock();
  std::atomic<bool> bells_made_{false};
  RefusedRings refused_rings_;
  const std::shared_ptr<BellRefusals> bell_refusals_ = std::make_shared<BellRefusals>();
};

// Whether a malformed document may be what the claim has just left. A grant names its hold and its
// thread, so that what names neither, or another one, is none.
bool may_be_of(const Claim& claim, const Document& document) {
  if (const auto* ts = field_as<Token>(document, "ts")) return *ts == claim.ts;
  const auto* who = field_as<std::string>(document, "who");
  return who != nullptr && *who == claim.who;
}

Standing MongoLine::stand(std::string_view name, const Claim& claim) {
  check_fences(claim);
  const MongoCall call = this->call("standing in line for lock", name);
  // Another clock than the one that the cutoff is by cannot tell whether it has passed (R4, R8).
  if (call.clock() != claim.cutoff.clock) return {};
  const auto document = value_of(call, call.write(stand_command(name, claim)));
  if (!document) call.odd("shows no lock", Effect::writes);
  // A free document may have the `ts` of a grant of before, that somebody has freed since.
  if (carries(*document, claim.ts) && state_in(*document) != LockState::free) {
    LockRecord hold = granted(call, *document, claim);
    hold.line.clear();
    return {std::move(hold)};
  }
  const LockRecord lock =
      may_be_of(claim, *document) ? written(*document, lock_from) : lock_from(*document);
  const bool in_line = !lock.line.empty();
  check_room_for_fences(lock, claim);
  return {std::nullopt, in_line, !lock.taken()};
}

void MongoLine::leave(std::string_view name, const Token& ticket) {
  call("leaving the line for lock", name).write(leave_command(name, ticket));
}

Freed MongoLine::release_and_tell(std::string_view name, const Token& ts, ReleaseRule rule) {
  const MongoCall call = this->call("release of lock", name);
  const Bson command = release_and_tell_command(name, ts);
  const bool quick = rule == ReleaseRule::quick;
  const auto before = value_of(call, quick ? call.write_quickly(command) : call.write(command));
  if (!before) return {};
  if (required_state(*before) == LockState::free) return {.result = ReleaseResult::already_free};
  return line::freed(line_of(*before));
}

// Each refused one would be a line in the server's log.
void MongoLine::ring(std::string_view name, const std::vector<std::string>& processes) {
  if (!refused_rings_.may_ring(clock_->steady_now())) return;
  try {
    const MongoCall call = this->call("ringing for lock", name);
    // A ring into a collection that is not there would make one that is not capped.
    if (!bells_made_) make_bells(call);
    bells_made_ = true;
    ring_bell(call, name, processes);
    refused_rings_.heeded();
  } catch (const Error& error) {
    if (error.errc() == Errc::permission_denied) refused_rings_.refused(clock_->steady_now());
    throw;
  }
}

}  // namespace

std::unique_ptr<Line> make_mongo_line(MongoPool& pool, const MongoSettings& settings,
                                      MongoRoom& room) {
  return std::make_unique<MongoLine>(pool, settings, room);
}

}  // namespace distlock
