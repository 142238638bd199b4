#include "cli/notice.h"

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <new>
#include <system_error>

namespace distlock::cli {

struct Notice::Words {
  std::atomic<std::int64_t> kill_at{SteadyTime::max().time_since_epoch().count()};
  std::atomic<bool> dismissed{false};

  static_assert(std::atomic<std::int64_t>::is_always_lock_free);  // Or processes cannot share it.
};

Notice::Notice() {
  constexpr int kShared = MAP_SHARED | MAP_ANONYMOUS;
  void* const room = mmap(nullptr, sizeof(Words), PROT_READ | PROT_WRITE, kShared, -1, 0);
  if (room == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  words_ = new (room) Words;
}

Notice::~Notice() { munmap(words_, sizeof(Words)); }

SteadyTime Notice::kill_at() const { return SteadyTime{std::chrono::nanoseconds{words_->kill_at}}; }
void Notice::set_kill_at(SteadyTime at) { words_->kill_at = at.time_since_epoch().count(); }

bool Notice::dismissed() const { return words_->dismissed; }
void Notice::dismiss() { words_->dismissed = true; }

}  // namespace distlock::cli
