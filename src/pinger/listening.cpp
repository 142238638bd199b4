#include "pinger/listening.h"

#include <boost/thread/lock_guard.hpp>
#include <chrono>
#include <utility>

#include "distlock/error.h"

namespace distlock {
namespace {

using Guard = boost::lock_guard<boost::mutex>;

constexpr std::chrono::minutes kQuietFor{1};

}  // namespace

void Listening::begin_wait(const Line::Rung& rung) {
  Line* line = store_->line();
  if (line == nullptr) return;
  note_wait();
  const Guard lock(mutex_);
  if (listening_ || closed_) return;
  try {
    listening_ = line->listen(process_, rung);
  } catch (const Error&) {
    return;
  }
  const Guard quiet_lock(quiet_mutex_);
  listens_ = true;
}

void Listening::note_wait() {
  const Guard lock(quiet_mutex_);
  waited_ = true;
  quiet_ = false;
}

bool Listening::quiet(bool nobody_waits, SteadyTime now) {
  const Guard lock(quiet_mutex_);
  if (!listens_) return false;
  if (std::exchange(waited_, false) || !nobody_waits) {
    quiet_since_ = now;
    return false;
  }
  quiet_ = now - quiet_since_ >= kQuietFor;
  return quiet_;
}

bool Listening::is_quiet() const {
  const Guard lock(quiet_mutex_);
  return quiet_;
}

// A wait that begins meanwhile keeps the bell, or listens anew.
void Listening::end_quiet() noexcept {
  if (!is_quiet()) return;       // Waits for no thread that begins to listen.
  std::shared_ptr<void> ending;  // Ends without a mutex.
  const Guard lock(mutex_);
  const Guard quiet_lock(quiet_mutex_);
  if (!std::exchange(quiet_, false)) return;
  listens_ = false;
  ending.swap(listening_);
}

void Listening::close() {
  std::shared_ptr<void> ending;
  const Guard lock(mutex_);
  closed_ = true;
  ending.swap(listening_);
}

}  // namespace distlock
