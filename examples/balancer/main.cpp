// balancer NAME URI FOLDER LEDGER [TAKEOVER-MS [PING-MS]]
//
// One process of the balancer demo (tools/demo starts several): does rounds until SIGTERM or
// Ctrl-C. All processes of one run share URI and FOLDER; each has a NAME and a LEDGER of its own.

#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include "distlock/distributed_lock.h"
#include "distlock/error.h"
#include "distlock/stores.h"
#include "rounds.h"

namespace {

struct Arguments {
  std::string name, uri, folder, ledger;
  std::chrono::milliseconds takeover_after{3000};
  std::chrono::milliseconds ping_every{300};
};

/// A stop source that SIGINT and SIGTERM stop. Made before any other thread, so that none of them
/// takes the signals.
class StopOnSignal {
 public:
  StopOnSignal() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    std::thread([signals = signals_, source = source_]() mutable {
      int signal = 0;
      sigwait(&signals, &signal);
      source.request_stop();
    }).detach();
    // A limit on the size of files is to be an error like any other (tools/demo sets one).
    std::signal(SIGXFSZ, SIG_IGN);
  }
  std::stop_token token() const { return source_.get_token(); }

 private:
  sigset_t signals_{};
  std::stop_source source_;
};

/// Waits for a store that is slow to answer, as on a machine that starts many processes at once.
std::shared_ptr<distlock::Store> opened(const Arguments& arguments, distlock::Clock& clock,
                                        const std::stop_token& stop) {
  using namespace std::chrono_literals;
  // Two calls have to fit between a ping and the deadline that it gives.
  const distlock::StoreOptions options{.call_limit = arguments.takeover_after / 6};
  const distlock::SteadyTime give_up_at = clock.steady_now() + 10s;
  while (true) {
    try {
      return distlock::open_store(distlock::ConnectionString{arguments.uri}, options);
    } catch (const distlock::Error& error) {
      const bool may_pass = error.errc() == distlock::Errc::not_applied;
      if (!may_pass || stop.stop_requested() || clock.steady_now() >= give_up_at) throw;
    }
    clock.wait_until(clock.steady_now() + 100ms, stop);
  }
}

int balance(const Arguments& arguments, const std::stop_token& stop) {
  const auto clock = distlock::host_clock();
  const auto store = opened(arguments, *clock, stop);
  const auto pinger = std::make_shared<distlock::DistributedLockPinger>(
      distlock::Environment{.store = store, .clock = clock, .process = {}, .random = {}},
      distlock::PingerOptions{.ping_every = arguments.ping_every});
  distlock::DistributedLock balance_lock(pinger, "balancer",
                                         {.takeover_after = arguments.takeover_after});

  balancer::Ledger ledger(arguments.ledger, arguments.name, *clock);
  ledger.note("start", 0, pinger->process());
  balancer::Rounds(balance_lock, *clock, arguments.name, arguments.folder, ledger).run(stop);
  ledger.note("stop", 0);
  return 0;
}

}  // namespace

int main(int count, char** words) try {
  if (count < 5 || count > 7) {
    std::cerr << "usage: balancer NAME URI FOLDER LEDGER [TAKEOVER-MS [PING-MS]]\n";
    return 64;
  }
  const StopOnSignal stop;
  Arguments arguments{words[1], words[2], words[3], words[4]};
  if (count > 5) arguments.takeover_after = std::chrono::milliseconds{std::atol(words[5])};
  if (count > 6) arguments.ping_every = std::chrono::milliseconds{std::atol(words[6])};
  return balance(arguments, stop.token());
} catch (const std::exception& error) {
  std::cerr << "balancer: " << error.what() << '\n';
  return 69;
}
