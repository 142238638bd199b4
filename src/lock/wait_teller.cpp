#include "lock/wait_teller.h"

#include <utility>

#include "turns.h"

namespace distlock {
namespace {

// A wait that is over sooner is not worth a word.
constexpr std::chrono::milliseconds kSilent{500};

std::optional<std::size_t> place_in(const std::vector<Waiter>& line,
                                    const std::optional<Token>& ticket) {
  if (!ticket) return std::nullopt;
  const auto place = line::find(*ticket, line);
  if (place == line.end()) return std::nullopt;
  return static_cast<std::size_t>(place - line.begin());
}

}  // namespace

WaitTeller::WaitTeller(std::shared_ptr<const Callback> callback, SteadyTime begun)
    : callback_(std::move(callback)), due_(begun + kSilent) {}

SteadyTime WaitTeller::due() const { return callback_ && !lock_told_ ? due_ : SteadyTime::max(); }

void WaitTeller::saw(const LockRecord& lock, const std::optional<Token>& ticket, SteadyTime now) {
  if (now < due()) return;
  lock_told_ = true;
  (*callback_)({lock, place_in(lock.line, ticket), {}});
}

void WaitTeller::failed(const Error& error, SteadyTime now) {
  if (!callback_ || now < due_ || std::exchange(failure_told_, true)) return;
  (*callback_)({std::nullopt, std::nullopt, error.what()});
}

}  // namespace distlock
