#include "program.h"

#include <signal.h>

#include <thread>

#include "distlock/clock.h"

namespace faults {

void pass_time(std::chrono::nanoseconds time, const std::stop_token& stop) {
  const auto clock = distlock::host_clock();
  clock->wait_until(clock->steady_now() + time, stop);
}

void end_on_signal(std::stop_source& end) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::thread([set, &end] {
    int signal = 0;
    sigwait(&set, &signal);
    end.request_stop();
  }).detach();
}

}  // namespace faults
