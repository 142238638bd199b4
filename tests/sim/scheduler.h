#pragma once

#include <boost/context/fiber.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/random.h"

namespace distlock::sim {

/// The one true time: nanoseconds since the run began. Nobody in the simulated world can read it.
using Time = std::chrono::nanoseconds;
inline constexpr Time kNever = Time::max();

/// One process, as the scheduler sees it: all its fibers stand still until `paused_until`.
struct FiberGroup {
  Time paused_until{0};
};

struct Fiber;

/// Runs fibers and events of one world in one thread, in the order of true time; what is due at the
/// same time comes in an order that the seed decides. No real time passes, and nothing but the seed
/// has a say, so that a run can be had again.
class Scheduler {
 public:
  explicit Scheduler(std::uint64_t seed);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  Time now() const { return now_; }
  /// How often a fiber was resumed or an event happened.
  std::uint64_t steps() const { return steps_; }

  Fiber& spawn(FiberGroup& group, std::string name, std::function<void()> body);
  void at(Time when, std::function<void()> event);

  /// Of the running fiber: gives way until `when`, a wake(), or the end of a pause after that.
  void rest_until(Time when);
  /// The running fiber has waited for what was due already. If it does so again and again, it rests
  /// for good, which escaped() tells: no time would ever pass.
  void note_no_rest();
  /// Everybody else who is due now may come first.
  void yield() { rest_until(now_); }
  void wake(Fiber& fiber);
  void wake_all(const FiberGroup& group);
  /// Of one fiber alone.
  void pause(Fiber& fiber, Time until);
  /// Nobody stands still any more.
  void end_pauses();

  /// Null outside of fibers.
  Fiber* current() const { return current_; }

  /// Until nothing is left to do before `end`. True time is `end` then, unless `stop` said so.
  void run(Time end, const std::function<bool()>& stop);
  /// The text of an exception that escaped from a fiber, and so ended it; or of note_no_rest().
  const std::optional<std::string>& escaped() const { return escaped_; }
  /// The names of the fibers that have not ended.
  std::vector<std::string> unfinished() const;

 private:
  struct Event {
    Time when;
    std::uint64_t order;   // the high half drawn, the low half counted
    Fiber* fiber;          // or an event, if null
    std::uint64_t ticket;  // of the fiber, or the place in `actions_`
  };
  struct Later {
    bool operator()(const Event& a, const Event& b) const {
      return a.when != b.when ? a.when > b.when : a.order > b.order;
    }
  };

  void push(Time when, Fiber* fiber, std::uint64_t ticket);
  Event pop();
  void happen(const Event& event);
  void act(std::uint64_t place);
  void resume(Fiber& fiber);
  void switch_away();

  Random random_;
  Time now_{0};
  std::uint64_t steps_ = 0;
  std::uint64_t count_ = 0;
  std::vector<Event> events_;
  std::vector<std::function<void()>> actions_;
  std::vector<std::uint64_t> free_places_;  // in `actions_`
  std::vector<std::unique_ptr<Fiber>> fibers_;
  Fiber* current_ = nullptr;
  std::optional<std::string> escaped_;
  Time no_rest_at_{0};
  int no_rest_ = 0;
};

/// The group that a fiber runs for, and its name.
struct Fiber {
  FiberGroup* group = nullptr;
  std::string name;

 private:
  friend class Scheduler;
  boost::context::fiber context;
  boost::context::fiber back;
  Time paused_until{0};
  std::uint64_t ticket = 0;  // of the wake-up that counts; earlier ones are stale
  bool done = false;
  struct {
    void* caught;
    unsigned int uncaught;
  } exceptions{nullptr, 0};
};

}  // namespace distlock::sim
