#include <algorithm>
#include <boost/thread/lock_guard.hpp>

#include "lock/contender.h"
#include "lock/standing.h"
#include "pinger/identity.h"
#include "thread_number.h"

// Waiting behind other threads of the process, until it is this thread's turn to stand in the line
// of the store (R20).
namespace distlock {

using std::chrono::nanoseconds;

bool Contender::wait_in_line(const WaitRequest& request) {
  protocol::check_why(request.why);
  session->check_usable();
  Lobby::Place place(session->lobby, name);
  auto ring = [guard = session->fork_guard, wake = place.shared_wake()] {
    if (!guard.in_child()) wake->ring();
  };
  using OnStop = LeftInChild<std::stop_callback<decltype(ring)>>;
  const OnStop on_stop(request.stop, ring);
  const OnStop on_end(session->stopping.get_token(), ring);
  if (!wait_for_this_object(place, request)) return false;
  AcquiringPhase acquiring{*this};
  limit = {request.deadline, request.stop};
  acquiring.held = StandingInLine(*this, place, request).wait();
  return acquiring.held;
}

// Until it is this thread's turn in the process, and no other thread has the object. A thread that
// has it already waits for nobody: those in front may wait for just that hold.
bool Contender::wait_for_this_object(Lobby::Place& place, const WaitRequest& request) {
  Clock& clock = *session->environment.clock;
  DeadlockWatch deadlocks = request.deadlock_watch(options, *session);
  for (;;) {
    const std::stop_token rung = place.wake().arm();
    session->check_usable();
    const bool our_turn = place.first() || held_by_this_thread();
    if (our_turn && begin_acquiring(request.other)) {
      place.stand();
      return true;
    }
    if (our_turn && holds_what_is_lost()) place.step_aside();
    const SteadyTime now = clock.steady_now();
    if (request.stop.stop_requested() || now >= request.deadline) return false;
    const SteadyTime told = request.teller->due();
    if (now >= told) {
      tell_behind_another(*request.teller);
      session->check_usable();  // The program may have forked, or stopped the pinger.
    }
    if (request.stop.stop_requested()) return false;
    if (now >= deadlocks.due()) look_for_deadlock(deadlocks);
    const SteadyTime next =
        std::min({now + nanoseconds{options.recheck}, request.deadline, deadlocks.due()});
    clock.wait_until(told > now ? std::min(next, told) : next, rung);
  }
}

void Contender::look_for_deadlock(DeadlockWatch& deadlocks) const {
  const Environment& environment = session->environment;
  const Waiter hidden{.ticket = {},
                      .process = environment.process,
                      .who = this_thread_of(environment) + ":0",
                      .since = StoreTime::max(),
                      .passed_over = {}};
  deadlocks.look_from_behind(*environment.store, name, hidden, *environment.clock);
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
