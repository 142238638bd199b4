#include "lock_thread.h"

#include "events.h"
#include "program.h"

namespace faults {
namespace {

using namespace distlock;

std::string_view name_of(UnlockResult result) {
  if (result == UnlockResult::released) return "released";
  return result == UnlockResult::pending ? "pending" : "not_ours";
}

void tell_grant(const Command& command, const DistributedLock& lock) {
  const std::int64_t at = boot_now();
  const LockRecord record = lock.record();
  tell(at, "grant",
       {text("id", command.id), text("lock", lock.name()), number("fence", record.fence),
        text("ts", to_hex(*record.ts)), number("valid_until", boot_time(lock.valid_until()))});
}

// The end is told before the release, so that nobody can have been granted the lock before it.
void give_up(const Command& command, DistributedLock& lock) {
  tell(boot_now(), "unlocking", {text("id", command.id), text("lock", lock.name())});
  const UnlockResult result = lock.unlock();
  tell(boot_now(), "unlocked",
       {text("id", command.id), text("lock", lock.name()), text("result", name_of(result))});
}

void tell_busy(const Command& command, const LockRecord& other) {
  tell(boot_now(), "busy",
       {text("id", command.id), text("lock", other.name), text("holder", other.process)});
}

void tell_error(const Command& command, const std::string& lock, const Error& error) {
  tell(boot_now(), "error",
       {text("id", command.id), text("lock", lock), text("code", error.code().message()),
        text("what", error.what())});
}

}  // namespace

LockThread::LockThread(const std::shared_ptr<distlock::DistributedLockPinger>& pinger,
                       const std::string& name, const distlock::LockOptions& options)
    : pinger_(pinger),
      options_(options),
      lock_(pinger, name, options),
      thread_([this](const std::stop_token& stop) { work(stop); }) {}

void LockThread::take(Command command) {
  const std::lock_guard lock(mutex_);
  commands_.push_back(std::move(command));
  come_.notify_one();
}

void LockThread::work(const std::stop_token& stop) {
  for (;;) {
    std::unique_lock lock(mutex_);
    if (!come_.wait(lock, stop, [this] { return !commands_.empty(); })) return;
    const Command command = std::move(commands_.front());
    commands_.pop_front();
    lock.unlock();
    obey(command, stop);
  }
}

void LockThread::obey(const Command& command, const std::stop_token& stop) {
  try {
    if (command.verb == "unlock") return give_up(command, lock_);
    if (command.verb == "spin") return spin(command, stop);
    attempt(command, stop);
  } catch (const Error& error) {
    tell_error(command, lock_.name(), error);
  }
}

void LockThread::attempt(const Command& command, const std::stop_token& stop) {
  LockRecord other{.name = lock_.name()};
  const bool got =
      command.verb == "try"
          ? lock_.lock_try("", &other)
          : lock_.try_lock_for(std::chrono::milliseconds{std::stoi(command.words.at(1))}, stop, "",
                               &other);
  if (!got) return tell_busy(command, other);
  tell_grant(command, lock_);
  if (command.verb != "turn") return;
  pass_time(std::chrono::milliseconds{std::stoi(command.words.at(2))}, stop);
  give_up(command, lock_);
}

void LockThread::spin(const Command& command, const std::stop_token& stop) {
  const std::chrono::microseconds hold{std::stoi(command.words.at(0))};
  std::deque<DistributedLock> locks;
  for (std::size_t i = 1; i < command.words.size(); ++i)
    locks.emplace_back(pinger_, command.words[i], options_);
  while (!stop.stop_requested()) {
    for (DistributedLock& lock : locks) {
      try {
        if (!lock.lock_try("")) continue;
        tell_grant(command, lock);
        pass_time(hold, stop);
        give_up(command, lock);
      } catch (const Error& error) {
        tell_error(command, lock.name(), error);
      }
    }
    pass_time(std::chrono::microseconds{500}, stop);
  }
}

}  // namespace faults
