#include <algorithm>
#include <boost/thread/lock_guard.hpp>
#include <memory>

#include "lock/contender.h"
#include "lock/standing.h"
#include "pinger/identity.h"
#include "thread_number.h"

// Waiting behind other threads of the process, until it is this thread's turn to stand in the line
// of the store (R20).
namespace distlock {

using std::chrono::nanoseconds;

namespace {

Judging judging_of(const LockOptions& options) {
  return {options.takeover_after.count(),
          options.max_clock_skew.value_or(std::chrono::milliseconds{-1}).count(),
          static_cast<std::int64_t>(options.takeover_rule),
          static_cast<std::int64_t>(options.missing_ping), options.unstated_window.count()};
}

// Those in front have asked the store for this thread, too (R15).
void check_patience(const std::optional<Failing>& failing, const WaitRequest& request,
                    SteadyTime now, nanoseconds patience) {
  if (!failing || request.stop.stop_requested()) return;
  const bool impatient = now - std::max(failing->since, request.begun) >= patience;
  if (impatient || now >= request.deadline) throw Error(failing->error);
}

}  // namespace

bool Contender::wait_in_line(const WaitRequest& request) {
  protocol::check_why(request.why);
  session->check_usable();
  Lobby::Place place(session->lobby, name, judging_of(options));
  auto ring = [guard = session->fork_guard, wake = place.shared_wake()] {
    if (!guard.in_child()) wake->ring();
  };
  using OnStop = LeftInChild<std::stop_callback<decltype(ring)>>;
  const OnStop on_stop(request.stop, ring);
  const OnStop on_end(session->stopping.get_token(), ring);
  const auto give_back = [&](Lobby::Place* of) { relinquish(*of); };
  const std::unique_ptr<Lobby::Place, decltype(give_back)> leaving(&place, give_back);
  bool unsettled = false;  // Of a hold that came by a pass.
  try {
    const Turn turn = wait_for_this_object(place, request, unsettled);
    return turn == Turn::to_stand ? wait_standing(place, request) : turn == Turn::held;
  } catch (const Error& error) {
    if (!unsettled) throw;
    throw of_all(error);
  }
}

bool Contender::wait_standing(Lobby::Place& place, const WaitRequest& request) {
  AcquiringPhase acquiring{*this};
  limit = {request.deadline, request.stop};
  acquiring.held = with_errors_of_all([&] { return StandingInLine(*this, place, request).wait(); });
  return acquiring.held;
}

// Until it is this thread's turn in the process, and no other thread has the object. A thread that
// has it already waits for nobody: those in front may wait for just that hold. Nobody's turn comes
// while a hold of this process may be passed on: that is how it comes here then (R21).
Contender::Turn Contender::wait_for_this_object(Lobby::Place& place, const WaitRequest& request,
                                                bool& unsettled) {
  Clock& clock = *session->environment.clock;
  DeadlockWatch deadlocks = request.deadlock_watch(options, *session);
  bool to_look = request.other != nullptr;
  SteadyTime look_from = SteadyTime::min();
  const auto look_due = [&] {
    return std::max(look_from, to_look ? SteadyTime::min() : request.teller->due());
  };
  // A wait that ends by itself is in no deadlock.
  const std::string thread = request.for_ever ? this_thread_of(session->environment) : "";
  place.show(thread);
  for (;;) {
    session->check_usable();  // In a child, before it takes a mutex that a thread had at the fork.
    const std::stop_token rung = place.wake().arm();
    place.open(*this);
    if (accept(place, unsettled)) return Turn::held;
    session->check_usable();
    const SteadyTime now = clock.steady_now();
    const bool ours = held_by_this_thread();
    if (!ours) check_patience(place.failing(), request, now, patience());
    const SteadyTime passing = place.passing_until();
    const bool our_turn = (now >= passing && place.first()) || ours;
    if (our_turn && begin_acquiring(request.other)) {
      place.stand();
      return Turn::to_stand;
    }
    if (our_turn) place.store_answered();  // Nobody asks it for those behind.
    to_look = to_look && !our_turn;        // A busy object has told whom it waits for.
    if (our_turn && holds_what_is_lost()) place.step_aside();
    if (request.stop.stop_requested() || now >= request.deadline) {
      if (place.close()) return Turn::over;
      continue;
    }
    // While it is busy with the store or the program, no hold waits for it.
    if (now >= std::min(look_due(), deadlocks.due()) && !place.close()) continue;
    if (now >= look_due()) {
      place.show({});  // The program may wait for another lock meanwhile.
      const bool answered = tell_behind_another(request);
      to_look = to_look && !answered;
      const SteadyTime ended = clock.steady_now();
      // However long it lasted, and whatever rings meanwhile: one that failed has a pause (R15).
      if (look_due() <= ended) look_from = ended + nanoseconds{options.recheck};
      session->check_usable();  // The program may have forked, or stopped the pinger.
      place.show(thread);
    }
    if (request.stop.stop_requested()) continue;
    // No other process sees its cycle, so none needs a ping of this one for it.
    if (now >= deadlocks.due()) (void)deadlocks.look(place.made_up_ticket(), clock);
    place.open(*this);
    SteadyTime next = std::min({clock.steady_now() + nanoseconds{options.recheck}, request.deadline,
                                deadlocks.due(), look_due()});
    const SteadyTime kept = hold->validity.until();
    if (our_turn && kept > now) next = std::min(next, kept);
    if (passing > now) next = std::min(next, passing);
    clock.wait_until(next, rung);
  }
}

bool Contender::holds_what_is_lost() const {
  const SteadyTime now = session->environment.clock->steady_now();
  const boost::lock_guard<boost::mutex> lock(mutex);
  return phase == Phase::holding && hold->validity.over(now);
}

bool Contender::held_by_this_thread() const {
  const boost::lock_guard<boost::mutex> lock(mutex);
  return phase == Phase::holding && holder == this_thread_number();
}

}  // namespace distlock
