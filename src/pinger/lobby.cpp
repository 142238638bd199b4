#include "pinger/lobby.h"

#include <algorithm>
#include <boost/thread/lock_guard.hpp>
#include <deque>
#include <map>
#include <new>
#include <utility>

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

struct Lobby::Waiting {
  explicit Waiting(const Judging& by) : judging(by) {}

  /// In order of arrival.
  Token made_up_ticket() const {
    Token ticket;
    std::uint64_t rest = number;
    for (std::size_t i = ticket.bytes.size(); rest > 0; rest >>= 8) {
      ticket.bytes.at(--i) = static_cast<std::uint8_t>(rest);
    }
    return ticket;
  }

  const Judging judging;
  Wake wake;
  // Guarded by the mutex of Queues.
  bool aside = false;
  bool stands = false;
  bool to_ring = false;
  std::uint64_t number = 0;
  std::string shown_thread;
  Heir* heir = nullptr;  // An open place has one, and no pass.
  std::optional<Pass> pass;
  Waiting* next_front = nullptr;  // Within one mark(): no ring takes memory.
};

struct Lobby::Queue {
  std::deque<std::shared_ptr<Waiting>> waiting;
  std::map<Judging, Failing> failing;  // By those who ask the store.
};

struct Lobby::Queues {
  boost::mutex mutex;
  std::map<std::string, Queue, std::less<>> by_lock;
  std::map<std::string, SteadyTime, std::less<>> passing_until;
  std::uint64_t numbered = 0;

  void ring(std::string_view name) { ring(name, Whom::all); }
  /// Those who stand in the store's line hear of their turns by the bell.
  void ring_others(std::string_view name) { ring(name, Whom::others); }

 private:
  enum class Whom : std::uint8_t { all, others };

  void ring(std::string_view name, Whom whom) {
    mark(name, whom);
    while (const auto one = take_marked(name)) one->wake.ring();
  }

  void mark(std::string_view name, Whom whom) {
    const Guard lock(mutex);
    const auto queue = by_lock.find(name);
    if (queue == by_lock.end()) return;
    Waiting* fronts = nullptr;
    for (const auto& one : queue->second.waiting) {
      const bool behind = judges_like_any(fronts, *one);
      const bool rung = one->aside || (one->stands ? whom == Whom::all : !behind);
      one->to_ring = one->to_ring || rung;
      if (behind || one->aside) continue;
      one->next_front = std::exchange(fronts, one.get());
    }
  }

  static bool judges_like_any(const Waiting* fronts, const Waiting& one) {
    while (fronts != nullptr && fronts->judging != one.judging) fronts = fronts->next_front;
    return fronts != nullptr;
  }

  std::shared_ptr<Waiting> take_marked(std::string_view name) {
    const Guard lock(mutex);
    const auto queue = by_lock.find(name);
    if (queue == by_lock.end()) return nullptr;
    for (const auto& one : queue->second.waiting) {
      if (std::exchange(one->to_ring, false)) return one;
    }
    return nullptr;
  }
};

Lobby::Lobby(std::shared_ptr<Store> store, std::string process)
    : process_(std::move(process)),
      queues_(std::make_shared<Queues>()),
      listening_(std::move(store), process_) {}

Lobby::Place::Place(Lobby& lobby, std::string name, const Judging& judging)
    : queues_(lobby.queues_), name_(std::move(name)), waiting_(std::make_shared<Waiting>(judging)) {
  lobby.listen();
  const Guard lock(queues_->mutex);
  queues_->by_lock[name_].waiting.push_back(waiting_);
  waiting_->number = ++queues_->numbered;
}

Lobby::Place::~Place() {
  if (fork_guard_.in_child()) return;
  bool stood = false;
  {
    const Guard lock(queues_->mutex);
    stood = waiting_->stands;
    const auto queue = queues_->by_lock.find(name_);
    auto& [waiting, failing] = queue->second;
    std::erase(waiting, waiting_);
    // A thread that comes later asks the store itself.
    const auto judges_alike = [&](const auto& one) { return one->judging == waiting_->judging; };
    if (std::none_of(waiting.begin(), waiting.end(), judges_alike))
      failing.erase(waiting_->judging);
    if (waiting.empty()) queues_->by_lock.erase(queue);
  }
  // The next thread may be the first now, or in the store's line the first in front of others.
  if (stood) {
    queues_->ring(name_);
  } else {
    queues_->ring_others(name_);
  }
}

Wake& Lobby::Place::wake() const { return waiting_->wake; }

std::shared_ptr<Wake> Lobby::Place::shared_wake() const { return {waiting_, &waiting_->wake}; }

bool Lobby::Place::first() const {
  const Guard lock(queues_->mutex);
  const auto& queue = queues_->by_lock.find(name_)->second.waiting;
  const auto first = std::find_if(queue.begin(), queue.end(), [&](const auto& one) {
    return one == waiting_ || (!one->aside && one->judging == waiting_->judging);
  });
  return *first == waiting_;
}

void Lobby::Place::step_aside() {
  {
    const Guard lock(queues_->mutex);
    if (std::exchange(waiting_->aside, true)) return;
  }
  queues_->ring(name_);
}

void Lobby::Place::stand() {
  const Guard lock(queues_->mutex);
  waiting_->aside = false;
  waiting_->stands = true;
  waiting_->heir = nullptr;
}

bool Lobby::Place::others_wait() const {
  const Guard lock(queues_->mutex);
  return queues_->by_lock.find(name_)->second.waiting.size() > 1;
}

void Lobby::Place::store_failed(const Failing& failing) {
  const Guard lock(queues_->mutex);
  queues_->by_lock.find(name_)->second.failing.insert_or_assign(waiting_->judging, failing);
}

void Lobby::Place::store_answered() {
  const Guard lock(queues_->mutex);
  queues_->by_lock.find(name_)->second.failing.erase(waiting_->judging);
}

std::optional<Failing> Lobby::Place::failing() const {
  const Guard lock(queues_->mutex);
  const auto& failing = queues_->by_lock.find(name_)->second.failing;
  const auto found = failing.find(waiting_->judging);
  return found == failing.end() ? std::nullopt : std::optional(found->second);
}

void Lobby::Place::show(std::string thread) {
  const Guard lock(queues_->mutex);
  waiting_->shown_thread = std::move(thread);
}

Token Lobby::Place::made_up_ticket() const {
  const Guard lock(queues_->mutex);
  return waiting_->made_up_ticket();
}

void Lobby::Place::open(Heir& heir) {
  const Guard lock(queues_->mutex);
  if (!waiting_->pass) waiting_->heir = &heir;
}

bool Lobby::Place::close() {
  const Guard lock(queues_->mutex);
  waiting_->heir = nullptr;
  return !waiting_->pass.has_value();
}

std::optional<Pass> Lobby::Place::take_pass() {
  const Guard lock(queues_->mutex);
  return std::exchange(waiting_->pass, std::nullopt);
}

SteadyTime Lobby::Place::passing_until() const {
  const Guard lock(queues_->mutex);
  const auto found = queues_->passing_until.find(name_);
  return found == queues_->passing_until.end() ? SteadyTime::min() : found->second;
}

void Lobby::set_passing(std::string_view name, SteadyTime until) noexcept {
  const Guard lock(queues_->mutex);
  const auto found = queues_->passing_until.find(name);
  if (until == SteadyTime::min()) {
    if (found != queues_->passing_until.end()) queues_->passing_until.erase(found);
    return;
  }
  // Without memory for it, the next thread takes a place in the store's line at once.
  try {
    queues_->passing_until.insert_or_assign(std::string(name), until);
  } catch (const std::bad_alloc&) {
  }
}

bool Lobby::pass_on(std::string_view name, const std::function<std::optional<Pass>(Heir&)>& give) {
  std::shared_ptr<Waiting> next;
  {
    const Guard lock(queues_->mutex);
    const auto queue = queues_->by_lock.find(name);
    if (queue == queues_->by_lock.end()) return false;
    for (const auto& one : queue->second.waiting) {
      if (one->heir == nullptr) continue;
      std::optional<Pass> pass = give(*one->heir);
      if (!pass) continue;
      one->heir = nullptr;
      one->pass = std::move(pass);
      next = one;
      break;
    }
  }
  if (next) next->wake.ring();
  return next != nullptr;
}

std::vector<deadlock::Hidden> Lobby::hidden() const {
  std::vector<deadlock::Hidden> hidden;
  const Guard lock(queues_->mutex);
  for (const auto& [name, queue] : queues_->by_lock) {
    for (const auto& one : queue.waiting) {
      if (one->stands || one->pass || one->shown_thread.empty()) continue;
      const Waiter waiter{one->made_up_ticket(), process_, one->shown_thread + ":0",
                          StoreTime::max(), std::nullopt};
      hidden.push_back({name, waiter});
    }
  }
  return hidden;
}

void Lobby::ring(std::string_view name) { queues_->ring(name); }

void Lobby::ring_others(std::string_view name) { queues_->ring_others(name); }

void Lobby::listen() {
  listening_.begin_wait([queues = std::weak_ptr(queues_)](std::string_view name) {
    if (const auto alive = queues.lock()) alive->ring(name);
  });
}

bool Lobby::quiet(SteadyTime now) {
  const bool nobody_waits = [&] {
    const Guard lock(queues_->mutex);
    return queues_->by_lock.empty();
  }();
  return listening_.quiet(nobody_waits, now);
}

}  // namespace distlock
