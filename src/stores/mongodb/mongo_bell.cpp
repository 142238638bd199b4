#include "stores/mongodb/mongo_bell.h"

#include <pthread.h>

#include <algorithm>
#include <boost/thread/lock_guard.hpp>
#include <boost/thread/thread.hpp>
#include <chrono>
#include <functional>
#include <stop_token>
#include <utility>

#include "log.h"
#include "stores/mongodb/mongo_bell_commands.h"
#include "stores/mongodb/mongo_documents.h"
#include "text.h"

namespace distlock {
namespace {

using Guard = boost::lock_guard<boost::mutex>;

// How long the server lets one getMore wait. When a client dies, the server waits for the rest of
// that in vain. A collection that is dropped is noticed after it.
constexpr std::chrono::milliseconds kAwaitMost{2000};
constexpr std::chrono::milliseconds kBeforeNextTry{500};
constexpr std::chrono::minutes kRefusedMost{5};

// A server that cannot be asked fails the next command too.
bool heeds(const std::function<void()>& send) {
  try {
    send();
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Throws where there is anything else than rings.
void check_bells(const MongoCall& call) {
  bool others = false;
  call.read_each(find_other_than_rings_command(), ReadConcern::local,
                 [&](const Document&) { others = true; });
  if (others)
    throw Error(Errc::permission_denied,
                call.what() + ": the collection " + in_quotes(kLockBells) +
                    " has other documents than rings, by which distlock wakes waiters: rename it, "
                    "or give distlock another database");
}

}  // namespace

struct MongoBell::Ear {
  Ear(MongoPool& given_pool, MongoSettings given_settings, std::string given_process,
      Rung given_rung, std::shared_ptr<BellRefusals> given_refusals)
      : pool(given_pool),
        settings(std::move(given_settings)),
        process(std::move(given_process)),
        rung(std::move(given_rung)),
        refusals(std::move(given_refusals)) {}

  void run() {
    pthread_setname_np(pthread_self(), "LockBell");
    const std::shared_ptr<Clock> clock = host_clock();
    const std::stop_token stopped = stop.get_token();
    while (!stopped.stop_requested()) {
      bool refused = false;
      try {
        ring_oneself();
        listens = true;
        if (!stopped.stop_requested()) listen(stopped);
      } catch (const Error& error) {
        refused = error.errc() == Errc::permission_denied;
        if (refused) say_once(error);
      } catch (...) {
        // Waiters look by themselves until the trouble has passed.
      }
      listens = false;
      const std::chrono::milliseconds pause = pause_of_bell(refusals->pause, refused);
      refusals->pause = refused ? pause : std::chrono::milliseconds{};
      clock->wait_until(clock->steady_now() + pause, stopped);
    }
  }

  // Trouble that passes is not worth a word.
  void say_once(const Error& refusal) const {
    if (!refusals->told.exchange(true)) log::bell_refused(refusal.what());
  }

  // A tail on a collection with nothing in it is dead at once.
  void ring_oneself() const {
    const MongoCall call(pool, settings, Doing{"ringing", process});
    make_bells(call);
    ring_bell(call, "", {process});
  }

  // Without making the collection: behind a getMore there is one. A server that hangs costs each
  // command its limit.
  void end_waiting() const {
    ring_bell(MongoCall(pool, settings, Doing{"ringing", process}), "", {process});
  }

  void listen(const std::stop_token& stopped) const {
    const MongoCall call(pool, settings, Doing{"listening for", process});
    const auto hear_all = [&](const std::vector<Document>& bells) {
      std::for_each(bells.begin(), bells.end(), [this](const Document& bell) { hear(bell); });
      return !stopped.stop_requested();
    };
    if (call.follow(listen_command(process), bell_await(settings), hear_all)) return;
    // Somebody has removed the collection, and a ring came before it was made anew.
    check_bells(call);
    call.write_quickly(cap_bells_command());
  }

  void hear(const Document& bell) const {
    const auto* name = field_as<std::string>(bell, "lock");
    if (name != nullptr && !name->empty()) rung(*name);
  }

  MongoPool& pool;
  const MongoSettings settings;
  const std::string process;
  const Rung rung;
  const std::shared_ptr<BellRefusals> refusals;
  std::atomic<bool> listens = false;  // Else no getMore waits.
  std::stop_source stop;
  boost::thread thread;
};

std::chrono::milliseconds bell_await(const MongoSettings& settings) {
  constexpr std::chrono::milliseconds kLeast{1};  // The server takes 0 for its own second.
  return std::clamp(settings.server_limit / 2, kLeast, kAwaitMost);
}

std::chrono::milliseconds pause_of_bell(std::chrono::milliseconds last, bool refused) {
  if (!refused) return kBeforeNextTry;
  return std::clamp<std::chrono::milliseconds>(2 * last, kBeforeNextTry, kRefusedMost);
}

MongoBell::MongoBell(MongoPool& pool, const MongoSettings& settings, std::string process, Rung rung,
                     std::shared_ptr<BellRefusals> refusals)
    : ear_(std::make_shared<Ear>(pool, settings, std::move(process), std::move(rung),
                                 std::move(refusals))) {
  try {
    ear_->thread = boost::thread([ear = ear_.get()] { ear->run(); });
  } catch (const boost::thread_resource_error& error) {
    throw Error(Errc::not_applied, std::string("no thread for the bell: ") + error.what());
  }
}

MongoBell::~MongoBell() {
  const boost::this_thread::disable_interruption no_interruption;
  ear_->stop.request_stop();
  try {
    // Nothing else ends a getMore that waits.
    if (ear_->listens) ear_->end_waiting();
  } catch (...) {
    // The getMore ends by itself, within seconds.
  }
  if (ear_->thread.joinable()) ear_->thread.join();
}

bool RefusedRings::may_ring(SteadyTime now) const {
  const Guard lock(mutex_);
  return now >= over_;
}

// Refusals of rings that were sent at the same time are one.
void RefusedRings::refused(SteadyTime now) {
  const Guard lock(mutex_);
  if (now < over_) return;
  pause_ = pause_of_bell(pause_, true);
  over_ = now + pause_;
}

void RefusedRings::heeded() {
  const Guard lock(mutex_);
  pause_ = {};
}

void make_bells(const MongoCall& call) {
  if (heeds([&] { call.write_quickly(create_bells_command()); })) return;
  if (heeds([&] { call.read(explain_tail_command(), ReadConcern::local); })) return;
  check_bells(call);
}

void ring_bell(const MongoCall& call, std::string_view name,
               const std::vector<std::string>& processes) {
  call.write_quickly(ring_command(name, processes));
}

}  // namespace distlock
