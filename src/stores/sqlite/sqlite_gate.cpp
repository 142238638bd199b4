#include "stores/sqlite/sqlite_gate.h"

#include <sys/file.h>

#include <algorithm>

#include "stores/nap.h"
#include "stores/sqlite/sqlite_clock.h"

namespace distlock {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kBell = 0;
constexpr milliseconds kLookAgain{10};
// So many writes of one process for each time that it lets the others come first. To change after
// each costs a tenth of what all write together, and this a twentieth.
constexpr int kInARow = 4;
// How much longer than it was waited for a gate is ignored that lets nobody in.
constexpr int kIgnoredFor = 10;

}  // namespace

SqliteGate::SqliteGate(const std::string& database)
    : page_(database, "-gate", "distlock gate 1\n") {}

bool SqliteGate::enter(milliseconds give_up_at) {
  const milliseconds began = since_boot();
  if (ignored_until_ && began < *ignored_until_) return false;
  ignored_until_.reset();
  // Anew each time. So a file that was removed or replaced is noticed. A child of fork() keeps
  // nobody out, unless it was forked in the middle of a write.
  if (!page_.open()) return false;
  // Once the bell has been rung again, the one that comes first has been in.
  bool look = !others_first_ || page_.word(kBell) != left_at_;
  others_first_ = false;
  for (milliseconds now = began; now < give_up_at; now = since_boot()) {
    // Before the look, so that a ring between the two is not slept through.
    const std::uint32_t heard = page_.word(kBell);
    if (look && flock(page_.file(), LOCK_EX | LOCK_NB) == 0) return true;
    look = true;
    const milliseconds left = std::min(kLookAgain, give_up_at - now);
    if (!page_.wait(kBell, heard, left)) nap(std::chrono::microseconds{500});
  }
  // A ring that was meant for this one is the next one's.
  page_.ring(kBell, 1);
  page_.close();
  ignored_until_ = give_up_at + kIgnoredFor * (give_up_at - began);
  return false;
}

void SqliteGate::leave() noexcept {
  if (page_.file() < 0) return;
  left_at_ = page_.word(kBell) + 1;
  flock(page_.file(), LOCK_UN);
  others_first_ = page_.ring(kBell, 1) > 0 && ++in_a_row_ == kInARow;
  if (others_first_) in_a_row_ = 0;
  page_.close();
}

}  // namespace distlock
