#include "pinger/running_pingers.h"

#include <pthread.h>

#include <boost/thread/lock_guard.hpp>
#include <boost/thread/mutex.hpp>
#include <vector>

#include "at_exit.h"

namespace distlock {
namespace {

void join_at_exit();

constinit AtExit join_at_end{join_at_exit};
[[maybe_unused]] const int kBeforeForks =
    pthread_atfork([] { join_at_end.before_fork(); }, nullptr, nullptr);

struct Running {
  Running() { join_at_end.ensure(); }

  boost::mutex mutex;
  std::vector<std::weak_ptr<Session>> pingers;
};

PerProcess<Running> running_in_this_process;

void join_at_exit() {
  Running* running = running_in_this_process.find();
  if (running == nullptr) return;
  std::vector<std::weak_ptr<Session>> pingers;
  {
    const boost::lock_guard<boost::mutex> lock(running->mutex);
    pingers.swap(running->pingers);
  }
  for (const auto& weak : pingers) {
    if (const auto pinger = weak.lock()) pinger->join_threads();
  }
}

}  // namespace

void add_running(const std::shared_ptr<Session>& pinger) {
  Running& running = running_in_this_process.get();
  const boost::lock_guard<boost::mutex> lock(running.mutex);
  std::erase_if(running.pingers, [](const auto& weak) { return weak.expired(); });
  running.pingers.push_back(pinger);
}

}  // namespace distlock
