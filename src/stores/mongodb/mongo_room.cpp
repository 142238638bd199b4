#include "stores/mongodb/mongo_room.h"

#include <boost/chrono/duration.hpp>
#include <boost/thread/lock_guard.hpp>
#include <boost/thread/lock_types.hpp>
#include <boost/thread/thread.hpp>

#include "distlock/error.h"

namespace distlock {

MongoRoom::Place MongoRoom::enter() {
  // As the wait for a connection, which nothing interrupts either.
  const boost::this_thread::disable_interruption to_the_end;
  boost::unique_lock<boost::mutex> lock(mutex_);
  if (free_ > 0) {
    --free_;
    return Place(this);
  }
  Waiter waiter;
  const auto place = waiting_.insert(waiting_.end(), &waiter);
  const boost::chrono::milliseconds limit(limit_.count());
  if (waiter.called.wait_for(lock, limit, [&] { return waiter.is_in; })) return Place(this);
  waiting_.erase(place);
  throw Error(Errc::not_applied, "no free MongoDB connection");
}

// The place goes over to the first that waits. None that comes later can have it.
void MongoRoom::leave() noexcept {
  const boost::lock_guard<boost::mutex> lock(mutex_);
  if (waiting_.empty()) {
    ++free_;
    return;
  }
  Waiter& first = *waiting_.front();
  waiting_.pop_front();
  first.is_in = true;
  first.called.notify_one();
}

}  // namespace distlock
