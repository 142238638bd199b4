#include "cli/signals.h"

#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>

#include "cli/exit_status.h"

namespace distlock::cli {
namespace {

// The signals that were ignored before set_disposition() changed them.
sigset_t ignored_before;

void set_disposition(int number, void (*handler)(int)) {
  if (signal(number, handler) == SIG_IGN) sigaddset(&ignored_before, number);
}

}  // namespace

bool is_ignored(int number) {
  struct sigaction action {};
  return sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

std::string signal_name(int number) {
  const char* const name = sigabbrev_np(number);
  return name == nullptr ? "signal " + std::to_string(number) : std::string("SIG") + name;
}

void ignore(int number) { set_disposition(number, SIG_IGN); }

void heed_signals_as_first_process(pid_t process) {
  if (process != 1) return;
  for (const int number : kEndingSignals) {
    if (!is_ignored(number)) signal(number, [](int sent) { _exit(kSignalled + sent); });
  }
}

void restore_dispositions() {
  for (const int number : {SIGPIPE, SIGXFSZ, SIGCHLD}) {
    signal(number, sigismember(&ignored_before, number) == 1 ? SIG_IGN : SIG_DFL);
  }
  for (const int number : kEndingSignals) {
    if (!is_ignored(number)) signal(number, SIG_DFL);
  }
}

Signals::Signals(AfterSignals after) : after_(after) {
  // Our parent may have ignored it, and then we could not wait for a child.
  set_disposition(SIGCHLD, SIG_DFL);
  sigset_t ours;
  sigemptyset(&ours);
  sigaddset(&ours, SIGCHLD);
  for (const int number : kEndingSignals) {
    if (!is_ignored(number)) sigaddset(&ours, number);
  }
  pthread_sigmask(SIG_BLOCK, &ours, &mask_before_);
  descriptor_ = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
  if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "signalfd");
}

Signals::~Signals() {
  // A signal that is still pending was meant for the child, and must not end us in its place.
  while (next()) {
  }
  close(descriptor_);
  if (after_ == AfterSignals::as_before) pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

std::optional<Signal> Signals::next() const {
  signalfd_siginfo info{};
  if (read(descriptor_, &info, sizeof info) != sizeof info) return std::nullopt;
  // A terminal that goes away tells the leader of its session; the group hears of it from us.
  const bool to_us_alone = info.ssi_signo == SIGHUP && getsid(0) == getpid();
  return Signal{.number = static_cast<int>(info.ssi_signo),
                .to_group = info.ssi_code == SI_KERNEL && !to_us_alone};
}

StopOnSignal::StopOnSignal(const Signals& signals) : wake_(eventfd(0, EFD_CLOEXEC)) {
  if (wake_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  thread_ = std::thread([this, &signals] { watch(signals); });
}

StopOnSignal::~StopOnSignal() {
  end();
  close(wake_);
}

std::optional<int> StopOnSignal::end() {
  if (thread_.joinable()) {
    eventfd_write(wake_, 1);
    thread_.join();
  }
  const int number = number_;
  if (number == 0) return std::nullopt;
  return number;
}

void StopOnSignal::watch(const Signals& signals) {
  std::array<pollfd, 2> waited{{{.fd = signals.descriptor(), .events = POLLIN, .revents = 0},
                                {.fd = wake_, .events = POLLIN, .revents = 0}}};
  while (waited[1].revents == 0) {
    if (poll(waited.data(), waited.size(), -1) < 0) continue;
    const auto signal = signals.next();
    if (!signal || signal->number == SIGCHLD) continue;
    number_ = signal->number;
    stop_.request_stop();
    return;
  }
}

}  // namespace distlock::cli
