#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "distlock/record.h"

// Waits that can never end (R22): pure, over what a listing of those who wait shows. A thread waits
// for a lock, its holder is a thread that waits for another lock, and so on, back to the first
// thread.
namespace distlock::deadlock {

/// The end of a `who` whose hold may be passed on so many times (R21): it does not tell the thread
/// that holds.
std::string passed_on_up_to(std::int64_t times);
/// Whether a `who` ends so, or did before what having() adds.
bool may_be_passed_on(std::string_view who);
/// The end of a `who` in line whose thread has these holds, each of which may be passed on: so
/// other processes learn the thread. Names the first 8 of them.
std::string having(const std::vector<Token>& holds);
/// The same for holds of other processes, in whose commands this one is: they may be waiting for
/// its end. It stands before having(). An earlier version leaves it alone.
std::string inside(const std::vector<Token>& holds);

/// The end of a `who` in line whose wait has a deadline: it ends by itself. Stands before what
/// having() adds.
std::string with_deadline();

/// A thread in line for a lock, and the hold that it waits for.
struct Wait {
  std::string lock;
  Waiter waiter;
  Token hold;
  std::string holder;  ///< The hold's `who`.
  /// Its thread has got a lock since it came, by the clocks: it may have left this place.
  bool may_be_left = false;

  friend bool operator==(const Wait&, const Wait&) = default;
};

/// Each waits for a lock that the next wait's thread holds, and the last for the lock of the first.
/// The first is the wait that began last, and gives up.
using Cycle = std::vector<Wait>;

/// A thread that waits for a lock behind another of its process, without a place in the store. Its
/// ticket is made up, and `since` is StoreTime::max(): it came later than all in the store, and
/// later than a hidden one with a smaller ticket.
struct Hidden {
  std::string lock;
  Waiter waiter;
};

/// Every cycle among these locks, each once, with `hidden` as more waiters. A thread counts as
/// waiting at its newest place only. Nor does it wait there if it has got a lock since, or if that
/// wait has a deadline.
std::vector<Cycle> cycles(const std::vector<LockRecord>& all,
                          const std::vector<Hidden>& hidden = {});

/// Whether each wait is for a thread that waits itself. If not, some are for a process that runs a
/// command with the next waiter in it. Such a wait may end: the command need not wait for its own.
bool is_certain(const Cycle& cycle);

/// As cycles(), of those that are not certain: for each thread the shortest way back to it. Not for
/// one whose shortest way is certain.
std::vector<Cycle> possible_cycles(const std::vector<LockRecord>& all,
                                   const std::vector<Hidden>& hidden = {});

/// As in: `a:1:2:thread1 waits for "jobs", held by b:1:3:thread4, which waits for …`, or `…, held
/// by b:1:3:thread4, whose command contains c:1:4:thread1, which waits for …`. `first`: in place of
/// the first thread's name.
std::string in_words(const Cycle& cycle, const std::string& first = {});

}  // namespace distlock::deadlock
