// A client of the fault rig: locks, works, unlocks, again and again until SIGTERM, and writes a
// line of JSON for all that happens. Settings and events are described in docs/developer/faults.md.

#include <unistd.h>

#include <iostream>
#include <optional>
#include <random>
#include <stdexcept>

#include "../support/leave.h"
#include "distlock/distributed_lock.h"
#include "distlock/log.h"
#include "distlock/stores.h"
#include "events.h"
#include "program.h"
#include "resource.h"
#include "settings.h"

namespace faults {
namespace {

using namespace distlock;
using std::chrono::milliseconds;

constexpr milliseconds kLook{10};  // Between two questions whether the hold is valid.

std::stop_source end;

void say(std::string_view event, std::initializer_list<Field> fields = {}) {
  tell(boot_now(), event, fields);
}

void say_error(std::string_view during, const Error& error) {
  say("error",
      {text("during", during), text("code", error.code().message()), text("what", error.what())});
}

void wait(milliseconds time) { pass_time(time, end.get_token()); }

StoreOptions store_options(const Settings& settings) {
  const bool none = settings.text("witness") == "none";
  return {.call_limit = settings.milliseconds("call"),
          .witness = none ? WitnessRule::none : WitnessRule::children};
}

// Before it could begin.
class Ended {};

class Worker {
 public:
  explicit Worker(const Settings& settings)
      : settings_(settings), random_(static_cast<unsigned>(settings.number("seed"))) {
    const ConnectionString store(settings.text("store"));
    pinger_ = patiently([&] {
      return std::make_shared<DistributedLockPinger>(
          Environment{.store = open_store(store, store_options(settings))},
          PingerOptions{.ping_every = settings.milliseconds("ping")});
    });
    lock_ = std::make_unique<DistributedLock>(
        pinger_, settings.text("lock"),
        LockOptions{.takeover_after = settings.milliseconds("lease"),
                    .poll_min = settings.milliseconds("poll_min"),
                    .poll_max = settings.milliseconds("poll_max")});
    if (settings.text("work") == "counter")
      resource_ = patiently([&] { return make_resource(store); });
    say("start", {number("pid", getpid()), text("id", pinger_->process()),
                  number("lease", settings.number("lease"))});
  }

  void run() {
    while (!end.stop_requested()) {
      try {
        if (lock_->try_lock_for(settings_.milliseconds("wait"), end.get_token(),
                                settings_.text("name"))) {
          hold();
        } else {
          say("busy");
        }
      } catch (const Error& error) {
        say_error("lock", error);
        wait(settings_.milliseconds("rest"));
      }
    }
    say("end");
  }

 private:
  // Calls `make` until the store is no longer away, and gives the result.
  template <class Maker>
  auto patiently(const Maker& make) const -> decltype(make()) {
    while (true) {
      try {
        return make();
      } catch (const std::runtime_error& error) {
        say("error", {text("during", "start"), text("what", error.what())});
        if (end.stop_requested()) throw Ended();
        wait(settings_.milliseconds("rest"));
      }
    }
  }

  std::unique_ptr<Resource> make_resource(const ConnectionString& store) const {
    const std::string name = settings_.text("lock");
    const bool guarded = settings_.text("guarded") == "true";
    if (store.kind() == StoreKind::sqlite) return make_sqlite_resource(store.path(), name, guarded);
    return make_mongo_resource(settings_.text("resource"), name, guarded);
  }

  void hold() {
    const std::int64_t granted = boot_now();
    hold_ = lock_->record();
    until_ = boot_time(lock_->valid_until());
    const Fence fence = hold_.fence;
    tell(granted, "grant",
         {text("lock", lock_->name()), number("fence", fence), text("ts", to_hex(*hold_.ts)),
          number("when", hold_.when->time_since_epoch().count()), number("valid_until", until_)});
    noticed_ = false;
    lock_->on_lost([fence](LossReason reason) {
      say("lost", {number("fence", fence), text("reason", to_text(reason))});
    });
    work();
    say("unlocking", {number("fence", fence)});
    const UnlockResult result = lock_->unlock(*hold_.ts);
    say("unlocked", {number("fence", fence), number("result", static_cast<int>(result))});
    wait(some(settings_.milliseconds("rest")));
  }

  void work() {
    const std::string kind = settings_.text("work");
    if (kind == "counter") {
      count();
    } else {
      const bool for_ever = kind == "hold";
      think(for_ever ? std::chrono::hours{1000} : some(settings_.milliseconds("hold")), true);
    }
  }

  // Read, think, write; the write is not asked whether the hold is still valid: a guard will.
  void count() try {
    const auto value = resource_->read(hold_);
    if (!value) return say("read", {text("outcome", "refused"), number("fence", hold_.fence)});
    say("read", {text("outcome", "ok"), number("value", *value), number("fence", hold_.fence)});
    think(some(settings_.milliseconds("hold")), false);
    write(*value + 1);
  } catch (const Error& error) {
    say_error("read", error);
  } catch (const std::runtime_error& error) {
    say("error", {text("during", "read"), text("what", error.what())});
  }

  void write(std::int64_t value) {
    std::string outcome = "unknown";
    const std::int64_t sent = boot_now();
    try {
      const bool written = resource_->write(hold_, value) == guarded::Outcome::written;
      outcome = written ? "ok" : "refused";
    } catch (const Error& error) {
      if (error.errc() != Errc::outcome_unknown) outcome = "failed";
      say_error("write", error);
    }
    say("write", {text("outcome", outcome), number("value", value), number("sent", sent),
                  number("fence", hold_.fence)});
  }

  void think(milliseconds time, bool until_lost) {
    const auto clock = host_clock();
    const SteadyTime done = clock->steady_now() + time;
    // The last look is after the time, so that who was stopped for all of it looks as well.
    while (look() || !until_lost) {
      if (clock->steady_now() >= done || end.stop_requested()) return;
      wait(std::min(kLook, time));
    }
  }

  // Whether the hold is valid, as any user would ask. `at` is the moment before the question.
  bool look() {
    const std::int64_t at = boot_now();
    try {
      lock_->check();
    } catch (const Error&) {
      if (!noticed_) say("noticed", {number("fence", hold_.fence)});
      noticed_ = true;
      return false;
    }
    // A client that passes the check is believed to hold, also if the deadline says otherwise.
    const std::int64_t until = std::max(boot_time(lock_->valid_until()), at);
    if (until > until_)
      tell(at, "valid", {number("fence", hold_.fence), number("valid_until", until)});
    until_ = std::max(until, until_);
    return true;
  }

  milliseconds some(milliseconds about) {
    return milliseconds{std::uniform_int_distribution<std::int64_t>(
        about.count() / 2, about.count() * 3 / 2)(random_)};
  }

  const Settings& settings_;
  std::mt19937 random_;
  std::shared_ptr<DistributedLockPinger> pinger_;
  std::unique_ptr<DistributedLock> lock_;
  std::unique_ptr<Resource> resource_;
  LockRecord hold_;
  std::int64_t until_ = 0;
  bool noticed_ = false;
};

constexpr int kUsage = 64;

// The exit status.
int work_by(const Settings& settings) try {
  tell_as(settings.text("name"));
  end_on_signal(end);
  Worker(settings).run();
  return 0;
} catch (const Ended&) {
  say("end");
  return 0;
} catch (const std::exception& error) {
  say("failed", {text("what", error.what())});
  return 1;
}

}  // namespace
}  // namespace faults

int main(int argc, char** argv) {
  distlock::set_log_level(distlock::LogLevel::off);
  std::optional<faults::Settings> settings;
  try {
    settings.emplace(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "faults_client: " << error.what() << "\n";
    return faults::kUsage;
  }
  // Without what a program ends with: nss_wrapper gives up its tables there, in which a thread of
  // the library or the driver may be looking up a name.
  distlock::testing::leave(faults::work_by(*settings));
}
