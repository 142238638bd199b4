#include "stores/sqlite/sqlite_turns.h"

#include <boost/chrono/duration.hpp>
#include <boost/thread/thread.hpp>

#include "stores/sqlite/sqlite_clock.h"

namespace distlock {
namespace {

// How often a thread looks whether its turn has come before it goes to sleep. Mostly a turn is over
// sooner than a thread could be put to sleep and woken.
constexpr int kLooks = 50;

SqliteTurns::Turn wait_for(boost::timed_mutex& mutex, std::chrono::milliseconds give_up_at) {
  SqliteTurns::Turn turn(mutex, boost::try_to_lock);
  for (int i = 0; i < kLooks && !turn.owns_lock(); ++i) {
    boost::this_thread::yield();
    turn.try_lock();
  }
  // Again and again, for libfaketime ends such a wait at once where the wall clock was set back.
  for (auto left = give_up_at - since_boot(); !turn.owns_lock() && left > left.zero();
       left = give_up_at - since_boot()) {
    turn.try_lock_for(boost::chrono::milliseconds(left.count()));
  }
  return turn;
}

}  // namespace

SqliteTurns::Turn SqliteTurns::enter(std::chrono::milliseconds give_up_at) {
  while (true) {
    Turn turn = wait_for(connection_, give_up_at);
    if (!turn.owns_lock() || first_waiting_ == 0) return turn;
    turn.unlock();
    if (!wait_for(place_, give_up_at).owns_lock()) return {};
  }
}

SqliteTurns::Turn SqliteTurns::enter_first(std::chrono::milliseconds give_up_at) {
  ++first_waiting_;
  const Turn place = wait_for(place_, give_up_at);
  Turn turn = place.owns_lock() ? wait_for(connection_, give_up_at) : Turn{};
  --first_waiting_;
  return turn;
}

}  // namespace distlock
