#include "stores/forks_between_calls.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "distlock/clock.h"
#include "distlock/error.h"
#include "stores/nap.h"

namespace distlock {
namespace {

using namespace std::chrono_literals;

// No thread waits for longer: what it waits for may itself wait for this thread, as a handler of
// the program's for forks may.
constexpr auto kForkWaits = 100ms;
constexpr auto kCallWaits = 1s;
constexpr auto kPause = 1ms;

constexpr std::size_t kLibraries = 2;

struct Calls {
  std::atomic<int> inside = 0;  // threads
  std::atomic<bool> forked_inside = false;
};

struct Use {
  std::array<Calls, kLibraries> of;
  std::atomic<int> forks = 0;  // under way
  std::atomic<std::uint64_t> forks_begun = 0;
};

// Never destroyed: stores may outlive all statics.
Use& use() {
  static auto& only_one = *new Use;
  return only_one;
}

Calls& calls_of(Library library) { return use().of[static_cast<std::size_t>(library)]; }

int& depth_of(Library library) {
  thread_local std::array<int, kLibraries> depths{};
  return depths[static_cast<std::size_t>(library)];
}

SteadyTime now() { return host_clock()->steady_now(); }

bool someone_is_inside() {
  const auto& all = use().of;
  return std::any_of(all.begin(), all.end(), [](const Calls& calls) { return calls.inside > 0; });
}

// Calls that begin now wait, and those under way end in time unless one is held up, as by another
// process that writes for long.
void before_fork() {
  ++use().forks_begun;
  ++use().forks;
  const SteadyTime until = now() + kForkWaits;
  while (someone_is_inside() && now() < until) nap(kPause);
}

void in_parent() { --use().forks; }

void in_child() {
  for (Calls& calls : use().of) {
    calls.forked_inside = calls.forked_inside || calls.inside > 0;
    calls.inside = 0;
  }
  use().forks = 0;
}

[[maybe_unused]] const int kWatched = (use(), pthread_atfork(before_fork, in_parent, in_child));

// A fork that begins at the same moment sees this thread, or this thread sees the fork. It waits
// for a fork once: the fork may want what this thread holds from one call to the next.
void enter(Library library) {
  thread_local std::uint64_t waited_for = 0;
  std::atomic<int>& inside = calls_of(library).inside;
  ++inside;
  if (use().forks == 0 || waited_for == use().forks_begun) return;
  waited_for = use().forks_begun;
  const SteadyTime until = now() + kCallWaits;
  const auto waits = [&] { return use().forks > 0 && now() < until; };
  for (; waits(); ++inside) {
    --inside;
    while (waits()) nap(kPause);
  }
}

}  // namespace

InCallOf::InCallOf(Library library) : library_(library) {
  if (depth_of(library)++ == 0) enter(library);
}

InCallOf::~InCallOf() {
  if (counts_ && --depth_of(library_) == 0) --calls_of(library_).inside;
}

WaitInCallOf::WaitInCallOf(Library library)
    : library_(library), depth_(std::exchange(depth_of(library), 0)) {
  if (depth_ > 0) --calls_of(library).inside;
}

WaitInCallOf::~WaitInCallOf() {
  if (depth_ == 0) return;
  const int error = errno;
  enter(library_);
  depth_of(library_) = depth_;
  errno = error;
}

bool forked_in_call_of(Library library) { return calls_of(library).forked_inside; }

void check_no_call_was_forked(Library library, const std::string& what) {
  if (!forked_in_call_of(library)) return;
  const bool sqlite = library == Library::sqlite;
  const std::string name = sqlite ? "SQLite" : "libmongoc";
  throw Error(Errc::forked,
              what + ": this process was forked in the middle of another thread's call of " + name +
                  " (perhaps of a ping), so " + name +
                  " could hang here; fork before the first lock on " +
                  (sqlite ? "a SQLite file" : "MongoDB") + ", or execute a program");
}

}  // namespace distlock
