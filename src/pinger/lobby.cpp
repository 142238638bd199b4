#include "pinger/lobby.h"

#include <algorithm>
#include <boost/thread/lock_guard.hpp>
#include <deque>
#include <map>

#include "distlock/error.h"

namespace distlock {
namespace {

using Guard = boost::lock_guard<boost::mutex>;

}  // namespace

std::stop_token Wake::arm() {
  const Guard lock(mutex_);
  if (next_.stop_requested()) next_ = std::stop_source{};
  return next_.get_token();
}

void Wake::ring() {
  std::stop_source rung(std::nostopstate);
  {
    const Guard lock(mutex_);
    rung = next_;
  }
  rung.request_stop();
}

struct Lobby::Queues {
  boost::mutex mutex;
  std::map<std::string, std::deque<std::shared_ptr<Wake>>, std::less<>> by_lock;

  void ring_first(std::string_view name) {
    std::shared_ptr<Wake> first;
    {
      const Guard lock(mutex);
      const auto queue = by_lock.find(name);
      if (queue != by_lock.end()) first = queue->second.front();
    }
    if (first) first->ring();
  }
};

Lobby::Lobby(std::shared_ptr<Store> store, std::string process)
    : store_(std::move(store)), process_(std::move(process)), queues_(std::make_shared<Queues>()) {}

Lobby::Place::Place(Lobby& lobby, std::string name)
    : queues_(lobby.queues_), name_(std::move(name)), wake_(std::make_shared<Wake>()) {
  lobby.listen_once();
  const Guard lock(queues_->mutex);
  queues_->by_lock[name_].push_back(wake_);
}

Lobby::Place::~Place() {
  if (fork_guard_.in_child()) return;
  {
    const Guard lock(queues_->mutex);
    const auto queue = queues_->by_lock.find(name_);
    std::erase(queue->second, wake_);
    if (queue->second.empty()) queues_->by_lock.erase(queue);
  }
  queues_->ring_first(name_);  // The next thread may be the first now.
}

bool Lobby::Place::first() const {
  const Guard lock(queues_->mutex);
  return queues_->by_lock.find(name_)->second.front() == wake_;
}

void Lobby::close() {
  std::shared_ptr<void> ending;
  {
    const Guard lock(listening_mutex_);
    closed_ = true;
    ending.swap(listening_);
  }
}

void Lobby::ring(std::string_view name) { queues_->ring_first(name); }

// From the first wait on. A store that cannot be listened to is asked again at the next wait; until
// then waiters find out by looking (R19).
void Lobby::listen_once() {
  Line* line = store_->line();
  if (line == nullptr) return;
  const Guard lock(listening_mutex_);
  if (listening_ || closed_) return;
  try {
    const auto rung = [queues = std::weak_ptr(queues_)](std::string_view name) {
      if (const auto alive = queues.lock()) alive->ring_first(name);
    };
    listening_ = line->listen(process_, rung);
  } catch (const Error&) {
  }
}

}  // namespace distlock
