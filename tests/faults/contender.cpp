#include "contender.h"

#include "events.h"
#include "program.h"

namespace faults {
namespace {

using namespace distlock;
using std::chrono::milliseconds;

}  // namespace

std::string lock_name(int number) { return "contended-" + std::to_string(number); }

distlock::LockOptions contended_options() {
  return {.takeover_after = milliseconds{2000}, .poll_max = milliseconds{200}};
}

Contender::Contender(std::shared_ptr<distlock::DistributedLockPinger> pinger, std::string name,
                     const std::string& folder, unsigned seed)
    : pinger_(std::move(pinger)), name_(std::move(name)), random_(seed) {
  for (int number = 0; number < kLocks; ++number) {
    contended_[number].count = std::make_unique<CountFile>(folder + "/" + lock_name(number));
    make_lock(number);
  }
}

int Contender::random(int least, int most) {
  return std::uniform_int_distribution<>(least, most)(random_);
}

// Also in place of another, which unlocks in its destructor.
void Contender::make_lock(int number) {
  contended_[number].lock =
      std::make_unique<DistributedLock>(pinger_, lock_name(number), contended_options());
}

void Contender::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    try {
      deed(stop);
    } catch (const Error& error) {
      tell(boot_now(), "error",
           {text("contender", name_), text("code", error.code().message()),
            text("what", error.what())});
    }
    pass_time(milliseconds{random(20, 80)}, stop);
  }
}

void Contender::deed(const std::stop_token& stop) {
  const int number = random(0, kLocks - 1);
  Contended& contended = contended_[number];
  const int which = random(0, 99);
  if (which < 1) return break_hold(lock_name(number));
  if (which < 3) return make_lock(number);
  if (which < 6) return static_cast<void>(pinger_->store().list());
  const bool got = which < 70
                       ? contended.lock->lock_try(name_)
                       : contended.lock->try_lock_for(milliseconds{random(10, 400)}, stop, name_);
  if (got) work(contended, stop);
}

void Contender::work(Contended& contended, const std::stop_token& stop) {
  DistributedLock& lock = *contended.lock;
  const std::int64_t at = boot_now();
  const distlock::LockRecord hold = lock.record();
  const auto of_hold = [&](std::int64_t when, std::string_view event, const Field& more) {
    tell(when, event,
         {text("contender", name_), text("lock", hold.name), number("fence", hold.fence), more});
  };
  tell(at, "grant",
       {text("contender", name_), text("lock", hold.name), number("fence", hold.fence),
        text("ts", to_hex(*hold.ts)), number("valid_until", boot_time(lock.valid_until()))});
  lock.on_lost([name = name_, of = hold.name, fence = hold.fence](LossReason reason) {
    tell(boot_now(), "lost",
         {text("contender", name), text("lock", of), number("fence", fence),
          text("reason", to_text(reason))});
  });
  count(contended, hold.fence, stop);
  const std::int64_t asked = boot_now();  // A loss may come before the answer is told.
  const std::int64_t until = boot_time(lock.valid_until());
  if (until > 0) of_hold(asked, "valid", number("valid_until", until));
  of_hold(boot_now(), "unlocking", text("by", name_));
  const auto result = lock.unlock(*hold.ts);
  of_hold(boot_now(), "unlocked", number("result", static_cast<int>(result)));
}

// Read, think, write, and no look at the deadline: the fence is to keep late writes out.
void Contender::count(Contended& contended, Fence fence, const std::stop_token& stop) {
  const auto value = contended.count->read(fence);
  const bool long_thought = random(0, 24) == 0;
  pass_time(milliseconds{long_thought ? random(300, 1500) : random(1, 15)}, stop);
  if (random(0, 9) == 0) {
    try {
      static_cast<void>(contended.lock->still_held());
    } catch (const Error&) {
      // Then nothing new is known.
    }
  }
  const bool written = value && contended.count->write(fence, *value + 1);
  tell(boot_now(), "write",
       {text("contender", name_), text("lock", contended.lock->name()),
        text("outcome", written ? "ok" : "refused"), number("value", value.value_or(-1) + 1),
        number("fence", fence)});
}

// As an operator would. The hold's owner may act on it until its next ping, so its belief counts
// until the moment before only.
void Contender::break_hold(const std::string& lock) {
  const auto seen = pinger_->store().inspect(lock, distlock::Freshness::fresh).lock;
  if (!seen || !seen->taken()) return;
  tell(boot_now(), "breaking",
       {text("contender", name_), text("lock", lock), number("fence", seen->fence),
        text("ts", to_hex(*seen->ts))});
  if (pinger_->store().release(lock, *seen->ts) == ReleaseResult::freed)
    tell(boot_now(), "broken", {text("contender", name_), text("lock", lock)});
}

}  // namespace faults
