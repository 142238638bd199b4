#pragma once

#include <string>
#include <utility>

// A mutex of a library may belong to a thread that does not exist in a child of fork(). The child
// would wait for it for ever. So forks happen between calls of the library.
namespace distlock {

/// A library with mutexes that all threads of a process share.
enum class Library { sqlite, libmongoc };

/// While it lives, this thread may be in the middle of a call of the library. A fork waits for its
/// end, for 100 ms at most. The first of a thread waits for a fork that is under way, once and for
/// a second at most. Destroyed by the thread that made it.
class InCallOf {
 public:
  explicit InCallOf(Library library);
  ~InCallOf();
  InCallOf(InCallOf&& other) noexcept
      : library_(other.library_), counts_(std::exchange(other.counts_, false)) {}
  InCallOf& operator=(InCallOf&&) = delete;

 private:
  Library library_;
  bool counts_ = true;
};

/// While it lives, this thread waits in the middle of a call, and has no mutex of the library: a
/// fork need not wait for it. Its end waits as the beginning of a call does, and leaves errno as it
/// is.
class WaitInCallOf {
 public:
  explicit WaitInCallOf(Library library);
  ~WaitInCallOf();
  WaitInCallOf(const WaitInCallOf&) = delete;
  WaitInCallOf& operator=(const WaitInCallOf&) = delete;

 private:
  const Library library_;
  const int depth_;  // of the calls; 0 if there is none.
};

/// Whether this process, or one that it descends from by forks alone, was forked in the middle of
/// another thread's call. Then the library may hang here.
bool forked_in_call_of(Library library);

/// Before a store is opened, inside. Errors: `forked`, naming what is being done, if
/// forked_in_call_of().
void check_no_call_was_forked(Library library, const std::string& what);

}  // namespace distlock
