#pragma once

#include <atomic>
#include <boost/thread/mutex.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "distlock/clock.h"
#include "stores/mongodb/mongo_call.h"
#include "stores/mongodb/mongo_handles.h"

namespace distlock {

/// Shared by the listeners of a store, of which one follows the other: a refusal is told of once,
/// and each one found again makes the pause longer.
struct BellRefusals {
  std::atomic<bool> told{false};
  std::atomic<std::chrono::milliseconds> pause{};  ///< The last, or 0 after a try that was heeded.
};

/// Listens to the bell for one process, on a thread of its own, as long as it lives (R19). A cursor
/// that dies, as with a fail-over, is opened anew; meanwhile rings are lost.
class MongoBell {
 public:
  using Rung = std::function<void(std::string_view name)>;

  /// `pool` must outlive it. Errors: `not_applied` if there is no thread to be had.
  MongoBell(MongoPool& pool, const MongoSettings& settings, std::string process, Rung rung,
            std::shared_ptr<BellRefusals> refusals = std::make_shared<BellRefusals>());
  ~MongoBell();
  MongoBell(const MongoBell&) = delete;
  MongoBell& operator=(const MongoBell&) = delete;

 private:
  struct Ear;
  std::shared_ptr<Ear> ear_;
};

/// How long the server may let a getMore of the bell wait. Much shorter than the socket waits, so
/// that a bell that nobody rings keeps its connection.
std::chrono::milliseconds bell_await(const MongoSettings& settings);

/// How long a listener waits before its next try, after it has waited `last`: longer and longer
/// while it may not ring or hear, since each try is a line in the server's log.
std::chrono::milliseconds pause_of_bell(std::chrono::milliseconds last, bool refused);

/// After a ring that was refused, for want of a right or beside documents of others, no other is
/// sent until a pause_of_bell() is over. Rings in between are lost (R19).
///
/// Threads: any number.
class RefusedRings {
 public:
  bool may_ring(SteadyTime now) const;
  void refused(SteadyTime now);
  void heeded();

 private:
  mutable boost::mutex mutex_;
  // Guarded by `mutex_`.
  std::chrono::milliseconds pause_{};
  SteadyTime over_ = SteadyTime::min();
};

/// Makes the bell's collection if there is none. If there is, it has to be capped, or to have
/// nothing but rings: another one would grow with each ring, for ever.
/// Errors: as MongoCall::read_each(); `permission_denied` where documents of others are in it, or
/// in the view that has its name. Then waiters look by themselves.
void make_bells(const MongoCall& call);

/// Rings. Errors: as MongoCall::write_quickly().
void ring_bell(const MongoCall& call, std::string_view name,
               const std::vector<std::string>& processes);

}  // namespace distlock
