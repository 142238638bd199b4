#include "log.h"

#include <atomic>
#include <boost/log/keywords/channel.hpp>
#include <boost/log/keywords/severity.hpp>
#include <boost/log/sources/record_ostream.hpp>
#include <boost/log/sources/severity_channel_logger.hpp>
#include <boost/log/trivial.hpp>
#include <boost/thread/thread.hpp>

#include "distlock/log.h"
#include "text.h"

namespace distlock {
namespace {

std::atomic<LogLevel> least_level{LogLevel::debug};

}  // namespace

void set_log_level(LogLevel least) noexcept { least_level = least; }

namespace log {
namespace {

using boost::log::trivial::severity_level;
using Logger = boost::log::sources::severity_channel_logger_mt<severity_level, std::string>;

// Never destroyed: locks that are static objects log while the program ends.
Logger& logger() {
  static auto& on_our_channel = *new Logger(boost::log::keywords::channel = "distlock");
  return on_our_channel;
}

bool wanted(severity_level level) {
  switch (least_level.load(std::memory_order_relaxed)) {
    case LogLevel::debug:
      return true;
    case LogLevel::info:
      return level >= severity_level::info;
    case LogLevel::warning:
      return level >= severity_level::warning;
    case LogLevel::error:
      return level >= severity_level::error;
    case LogLevel::off:
      return false;
  }
  return true;
}

template <class... Parts>
void write(severity_level level, const Parts&... parts) {
  if (!wanted(level)) return;
  // A sink of the program's may throw anything. That must not cost a lock.
  try {
    boost::log::record record = logger().open_record(boost::log::keywords::severity = level);
    if (!record) return;
    // Where a sink waits, an interruption would come out. It stays for the program's own waits.
    const boost::this_thread::disable_interruption no_interruption;
    boost::log::record_ostream stream(record);
    (stream << ... << parts);
    stream.flush();
    logger().push_record(std::move(record));
  } catch (...) {
  }
}

std::string whole_minutes(std::chrono::milliseconds duration) {
  return std::to_string(std::chrono::floor<std::chrono::minutes>(duration).count());
}

/// A record that becomes text only when it is written.
struct Described {
  const LockRecord& lock;
};

std::string text_of(const LockRecord& lock) {
  std::string text = "{ _id: \"" + escaped(lock.name) +
                     "\", state: " + std::to_string(static_cast<int>(lock.state)) + ", who: \"" +
                     escaped(lock.who) + "\", process: \"" + escaped(lock.process) + "\", why: \"" +
                     escaped(lock.why) + "\"";
  if (lock.ts) text += ", ts: " + to_hex(*lock.ts);
  return text + " }";
}

template <class Stream>
Stream& operator<<(Stream& stream, const Described& described) {
  stream << text_of(described.lock);
  return stream;
}

Described described(const LockRecord& lock) { return {lock}; }

}  // namespace

void creating_ping_thread(std::string_view process) {
  write(severity_level::info, "creating dist lock ping thread for: ", escaped(process));
}

void pinged(std::string_view process, bool every_tenth) {
  write(every_tenth ? severity_level::info : severity_level::debug,
        "dist_lock pinged successfully for: ", escaped(process));
}

void ping_failed(std::string_view process, std::string_view error) {
  write(severity_level::warning, "dist_lock pinger: ping failed for ", escaped(process), ": ",
        error);
}

void taken_by_old_process(const LockRecord& lock) {
  write(severity_level::error,
        "lock is taken by old process? remove the following lock if the process is not active "
        "anymore: ",
        described(lock));
}

void clock_skew(const LockRecord& lock, std::chrono::milliseconds skew) {
  write(severity_level::warning, "dist_lock has detected clock skew of ", skew.count(),
        "ms: the last ping is later than now: ", described(lock));
}

void elapsed_seems_impossible(const LockRecord& lock, std::chrono::milliseconds elapsed) {
  write(severity_level::warning,
        "dist_lock elapsed time seems impossible: ", whole_minutes(elapsed),
        " minutes: ", described(lock));
}

void lock_failed_because_taken(const LockRecord& lock, std::chrono::milliseconds elapsed) {
  write(severity_level::debug, "dist_lock lock failed because taken by: ", described(lock),
        " elapsed minutes: ", whole_minutes(elapsed));
}

void forcefully_taking_over(const LockRecord& lock, std::chrono::milliseconds elapsed) {
  write(severity_level::info, "dist_lock forcefully taking over from: ", described(lock),
        " elapsed minutes: ", whole_minutes(elapsed));
}

void could_not_take_over(const LockRecord& lock) {
  write(severity_level::warning, "dist_lock could not take over from: ", described(lock),
        ": the document changed meanwhile, or is being changed");
}

void lost_race(std::string_view name) {
  write(severity_level::info, "dist_lock error trying to acquire lock \"", escaped(name),
        "\": the document changed meanwhile, or is being changed");
}

void acquired(const LockRecord& lock) {
  write(severity_level::debug, "dist_lock acquired: ", described(lock));
}

void unlocked(std::string_view name) {
  write(severity_level::debug, "dist_lock unlock: \"", escaped(name), "\"");
}

void unlock_attempt_failed(std::string_view name, int attempt, std::string_view error) {
  write(severity_level::warning, "dist_lock failed to contact config server in unlock attempt ",
        attempt, " for \"", escaped(name), "\": ", error);
}

void unlock_not_consummated(std::string_view name, std::chrono::milliseconds takeover_after) {
  write(severity_level::warning, "dist_lock couldn't consummate unlock request. lock \"",
        escaped(name), "\" will be taken over after ", whole_minutes(takeover_after), " minutes (",
        takeover_after.count(), " ms)");
}

void taken_under_another_clock(const LockRecord& lock, std::chrono::milliseconds watched) {
  write(severity_level::debug, "dist_lock lock failed because taken by: ", described(lock),
        "; its ping cannot be judged by this clock, watched for ", watched.count(), " ms");
}

void wall_clock_skew(const LockRecord& lock, std::chrono::milliseconds skew) {
  write(severity_level::warning, "dist_lock: clock skew of ", skew.count(),
        "ms between this host and the store: not taking over from: ", described(lock));
}

void store_clock_stepped(std::string_view clock) {
  write(severity_level::warning, "dist_lock: the store's clock ", escaped(clock),
        " was seen to step: nothing is taken over until a whole window has passed");
}

void not_ours_any_more(std::string_view name) {
  write(severity_level::warning, "dist_lock unlock: \"", escaped(name),
        "\" is not ours any more; nothing was changed");
}

void claim_outcome_unknown(std::string_view name, std::string_view error) {
  write(severity_level::warning, "dist_lock: outcome of the claim of \"", escaped(name),
        "\" is unknown, reading it back: ", error);
}

void claim_came_too_late(std::string_view name) {
  write(severity_level::warning, "dist_lock: the claim of \"", escaped(name),
        "\" took longer than its deadline allows; giving it back");
}

void pending_release_settled(std::string_view name) {
  write(severity_level::info, "dist_lock: late unlock of \"", escaped(name), "\" is settled");
}

void pending_release_failed(std::string_view name, std::string_view error) {
  write(severity_level::warning, "dist_lock: late unlock of \"", escaped(name),
        "\" failed, to be tried again: ", error);
}

void stray_hold(std::string_view name) {
  write(severity_level::warning, "dist_lock: a claim of \"", escaped(name),
        "\" took effect after it was given up; freeing it");
}

void ping_late(std::string_view process, std::chrono::milliseconds silence) {
  write(severity_level::warning, "dist_lock pinger: no successful ping for ", silence.count(),
        " ms for ", escaped(process), ": this process's locks may be taken over");
}

void ping_recovered(std::string_view process, std::chrono::milliseconds silence) {
  write(severity_level::warning, "dist_lock pinger: pinging again after ", silence.count(),
        " ms for ", escaped(process));
}

void forgot_pings(std::int64_t count) {
  write(severity_level::debug, "dist_lock pinger: removed ", count, " old pings");
}

void chore_failed(std::string_view what, std::string_view error) {
  write(severity_level::warning, "dist_lock pinger: ", what, " failed: ", error);
}

void no_bell(std::string_view file) {
  write(severity_level::warning, "dist_lock: \"", escaped(file),
        "\" cannot be used; waiters look every few seconds");
}

void place_not_given_up(std::string_view name, std::string_view error) {
  write(severity_level::debug, "dist_lock: the place in line for \"", escaped(name),
        "\" is not given up: ", error);
}

void store_failed_while_waiting(std::string_view name, std::string_view error) {
  write(severity_level::debug, "dist_lock: waiting for \"", escaped(name),
        "\" goes on after: ", error);
}

void lost(std::string_view name, LossReason reason) {
  write(severity_level::warning, "dist_lock: lost \"", escaped(name), "\": ", to_text(reason));
}

void callback_threw(std::string_view name, std::string_view what) {
  write(severity_level::error, "dist_lock: a callback of \"", escaped(name), "\" threw: ", what);
}

void no_thread_to_announce(std::string_view process) {
  write(severity_level::error, "dist_lock: no thread to be had for callbacks of ", escaped(process),
        ": one runs at a time, and the others wait");
}

}  // namespace log
}  // namespace distlock
