#include "cli/open_apart.h"

#include <exception>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>

#include "cli/leaving.h"

namespace distlock::cli {
namespace {

// Shared with the thread, which may outlast its caller.
struct Opening {
  std::stop_source over;

  std::mutex mutex;
  // Guarded by `mutex`.
  bool ended = false;
  std::shared_ptr<Store> store;
  std::exception_ptr failure;
};

void open_into(Opening& opening, const Open& open) {
  std::shared_ptr<Store> store;
  std::exception_ptr failure;
  try {
    store = open();
  } catch (...) {
    failure = std::current_exception();
  }
  {
    const std::lock_guard<std::mutex> lock(opening.mutex);
    opening.store = std::move(store);
    opening.failure = std::move(failure);
    opening.ended = true;
  }
  opening.over.request_stop();
}

// Where there is no thread to be had, on this one: the pinger then says what is wrong.
void start_opening(const std::shared_ptr<Opening>& opening, const Open& open) try {
  std::thread([opening, open] { open_into(*opening, open); }).detach();
} catch (const std::system_error&) {
  open_into(*opening, open);
}

}  // namespace

std::shared_ptr<Store> open_apart(const Open& open, Clock& clock, const OpeningEnd& end) {
  const auto opening = std::make_shared<Opening>();
  start_opening(opening, open);
  {
    const std::stop_callback signal(end.stop, [&] { opening->over.request_stop(); });
    clock.wait_until(end.time, opening->over.get_token());
  }
  const std::lock_guard<std::mutex> lock(opening->mutex);
  if (!opening->ended) leave_a_thread_behind();
  if (!opening->ended || end.stop.stop_requested()) return nullptr;
  if (opening->failure) std::rethrow_exception(std::exchange(opening->failure, nullptr));
  return std::move(opening->store);
}

}  // namespace distlock::cli
