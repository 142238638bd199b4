#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "distlock/distributed_lock.h"
#include "distlock/log.h"
#include "distlock/stores.h"

// The plug-in that unload_program loads and unloads: it uses distlock.
namespace {

using namespace std::chrono_literals;

struct Held {
  explicit Held(const char* uri)
      : pinger(std::make_shared<distlock::DistributedLockPinger>(
            distlock::Environment{.store = distlock::open_store(distlock::ConnectionString{uri})},
            distlock::PingerOptions{.ping_every = 20ms})),
        lock(pinger, "jobs") {}

  std::shared_ptr<distlock::DistributedLockPinger> pinger;
  distlock::DistributedLock lock;
};

// Destroyed when this module is unloaded.
std::optional<Held> in_this_module;

}  // namespace

extern "C" int hold(const char* uri, const char* way) {
  distlock::set_log_level(distlock::LogLevel::off);
  const bool leaks = way == std::string("leak");
  Held& held = leaks ? *new Held(uri) : in_this_module.emplace(uri);
  return held.lock.lock_try("until the end") ? 0 : 3;
}
