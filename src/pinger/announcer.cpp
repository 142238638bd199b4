#include "pinger/announcer.h"

#include <pthread.h>

#include <algorithm>
#include <boost/thread/lock_guard.hpp>

#include "failure.h"
#include "log.h"

namespace distlock {
namespace {

using Guard = boost::lock_guard<boost::mutex>;

constexpr int kThreadsLeast = 2;
// How often a thread looks whether the others get on before it takes them for blocked.
constexpr int kLooks = 100;

}  // namespace

Announcer::~Announcer() {
  const auto dispose = [](Announcement* one) {
    const std::unique_ptr<Announcement> owned(one);
    Listener& to = *owned->to;
    to.waiting.erase(to.waiting.iterator_to(*one));
  };
  tokens_.clear_and_dispose(dispose);
  callbacks_.clear_and_dispose(dispose);
}

void Announcer::start() {
  if (announce_on_ == AnnounceOn::caller) return;
  for (int i = 0; i < kThreadsLeast; ++i) {
    crew_.start([self = shared_from_this()](Crew::Member& member) { self->work(member); });
    const Guard lock(mutex_);
    ++threads_;
  }
}

void Announcer::close() noexcept {
  {
    const Guard lock(mutex_);
    closed_ = true;
    something_waits_.notify_all();
  }
  crew_.join();
}

void Announcer::add(Announcements& announcements) noexcept {
  if (announcements.empty()) return;
  const Guard lock(mutex_);
  while (!announcements.empty()) {
    Announcement& one = announcements.front();
    announcements.pop_front();
    put(one);
  }
  something_waits_.notify_one();
}

void Announcer::put(Announcement& announcement) noexcept {
  const bool has_token = announcement.stop.stop_possible();
  (has_token ? tokens_ : callbacks_).push_back(announcement);
  announcement.to->waiting.push_back(announcement);
}

Announcement* Announcer::next() noexcept {
  if (!tokens_.empty()) return &tokens_.front();
  return callbacks_.empty() ? nullptr : &callbacks_.front();
}

void Announcer::work(Crew::Member& self) noexcept {
  pthread_setname_np(pthread_self(), "LockAnnouncer");
  Lock lock(mutex_);
  bool none_to_be_had = false;
  while (!closed_) {
    Announcement* const one = next();
    const int others = threads_ - busy_ - 1;
    if (one == nullptr) {
      if (others >= kThreadsLeast) break;
      something_waits_.wait(lock);
    } else if (!none_to_be_had && others < (tokens_.empty() ? 2 : 1)) {
      none_to_be_had = !another_is_free(lock);
      continue;
    } else if (tokens_.empty() && others == 0) {
      wait_for_another(lock);
    } else {
      run(*one, self, lock);
      if (!lock.owns_lock()) return;
    }
    none_to_be_had = false;
  }
  --threads_;
  lock.unlock();
  crew_.leave(self);
}

void Announcer::run(Announcement& announcement, Crew::Member& self, Lock& lock) noexcept {
  wanting_ = false;
  ++busy_;
  self.busy = true;
  something_waits_.notify_one();
  tell(announcement, lock);
  if (!lock.owns_lock()) return;
  self.busy = false;
  --busy_;
}

// The last free thread is for tokens. The caller of try_again() will come back to it.
void Announcer::wait_for_another(Lock& lock) noexcept {
  shortage_ = true;
  if (std::exchange(wanting_, true)) return something_waits_.wait(lock);
  std::stop_source wake = wake_;
  lock.unlock();
  wake.request_stop();
  lock.lock();
}

// Gives whether another thread is free: a busy one that has got on, or a new one. Lets go of the
// mutex meanwhile.
bool Announcer::another_is_free(Lock& lock) noexcept {
  const auto told = told_;
  for (int look = 0; busy_ > 0 && look < kLooks; ++look) {
    lock.unlock();
    boost::this_thread::yield();
    lock.lock();
    if (told_ != told || closed_) return true;
  }
  lock.unlock();
  bool started = true;
  try {
    crew_.start([self = shared_from_this()](Crew::Member& member) { self->work(member); });
  } catch (...) {
    started = false;
  }
  lock.lock();
  if (started) ++threads_;
  return started;
}

// Stops its token, or calls its callback. The user's code ends before this is over.
void Announcer::tell(Announcement& announcement, Lock& lock) noexcept {
  Announcements& from = announcement.stop.stop_possible() ? tokens_ : callbacks_;
  const std::shared_ptr<Listener> to = announcement.to;
  from.erase(from.iterator_to(announcement));
  to->waiting.erase(to->waiting.iterator_to(announcement));
  Listener::Running running;
  to->running.push_back(running);
  std::unique_ptr<Announcement> owned(&announcement);
  lock.unlock();
  if (announcement.stop.stop_possible()) {
    announcement.stop.request_stop();
    announcement.stop = std::stop_source(std::nostopstate);
    if (!announcement.on_lost) owned.reset();
  } else {
    call(announcement);
    owned.reset();
  }
  // A callback that forked has come back in the child, where nothing of this is ours.
  if (fork_guard_.in_child()) return;
  lock.lock();
  ++told_;
  to->running.erase(to->running.iterator_to(running));
  if (finishing_ > 0) something_told_.notify_all();
  if (!owned) return;
  if (!to->finished) return put(*owned.release());
  // A stop_callback has destroyed the lock.
  lock.unlock();
  owned.reset();
  lock.lock();
}

void Announcer::call(const Announcement& announcement) noexcept {
  // An exception of a callback has nowhere else to go, and the process must not end for it.
  try {
    if (announcement.on_lost) (*announcement.on_lost)(announcement.reason);
    if (announcement.on_at_risk) (*announcement.on_at_risk)(announcement.valid_until);
  } catch (...) {
    log::callback_threw(announcement.to->lock_name, current_failure().what);
  }
}

void Announcer::tell_on_caller() noexcept {
  if (announce_on_ == AnnounceOn::own_threads) return;
  Lock lock(mutex_);
  for (Announcement* one = next(); one != nullptr && lock.owns_lock(); one = next())
    tell(*one, lock);
}

bool Announcer::finish(Listener& listener) noexcept {
  const boost::this_thread::disable_interruption no_interruption;
  const auto self = boost::this_thread::get_id();
  Lock lock(mutex_);
  ++finishing_;
  for (;;) {
    if (!listener.waiting.empty()) {
      tell(listener.waiting.front(), lock);
      if (!lock.owns_lock()) return false;
    } else if (std::all_of(listener.running.begin(), listener.running.end(),
                           [&](const auto& running) { return running.thread == self; })) {
      break;
    } else {
      something_told_.wait(lock);
    }
  }
  listener.finished = true;
  --finishing_;
  return true;
}

bool Announcer::try_again(const std::stop_source& wake) noexcept {
  const Guard lock(mutex_);
  wake_ = wake;
  wanting_ = wanting_ && !callbacks_.empty();
  if (wanting_) something_waits_.notify_one();
  return wanting_;
}

}  // namespace distlock
