#include "pinger/running_pingers.h"

#include <boost/thread/lock_guard.hpp>
#include <boost/thread/mutex.hpp>
#include <cstdlib>
#include <vector>

namespace distlock {
namespace {

void join_at_exit();

struct Running {
  Running() { (void)std::atexit(join_at_exit); }

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
