#include "cli/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>

#include "cli/boot_timer.h"
#include "cli/descendants.h"

namespace distlock::cli {
namespace {

/// A message to the keeper.
struct Order {
  enum class Kind : std::int64_t { kill_at, group, dismiss };
  Kind kind = Kind::dismiss;
  std::int64_t value = 0;  ///< Nanoseconds of the steady clock, or a group's number.
};

// A keeper that has gone does no harm: the command's parent watches the deadline, too.
void give(int descriptor, const Order& order) {
  send(descriptor, &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/// The keeper's own process.
class Watch {
 public:
  Watch(int orders, pid_t parent) : orders_(orders), parent_(parent) {}

  void run() {
    while (true) {
      std::array<pollfd, 2> waited{{{.fd = orders_, .events = POLLIN, .revents = 0},
                                    {.fd = timer_.descriptor(), .events = POLLIN, .revents = 0}}};
      poll(waited.data(), waited.size(), -1);
      // An order that has moved the time on goes first.
      if (waited[0].revents != 0 && !obey_next()) return;
      if (waited[0].revents == 0 && waited[1].revents != 0) kill_all();
    }
  }

 private:
  /// False: nothing is left to be done.
  bool obey_next() {
    Order order;
    if (read(orders_, &order, sizeof order) != sizeof order) {
      if (group_ > 0) kill(-group_, SIGKILL);
      return false;
    }
    switch (order.kind) {
      case Order::Kind::kill_at:
        timer_.set(SteadyTime{std::chrono::nanoseconds{order.value}});
        return true;
      case Order::Kind::group:
        group_ = static_cast<pid_t>(order.value);
        return true;
      case Order::Kind::dismiss:
        break;
    }
    return false;
  }

  void kill_all() {
    if (group_ > 0) kill(-group_, SIGKILL);
    bool left = false;
    for (const pid_t id : descendants_of(parent_, getpid())) left |= kill(id, SIGKILL) == 0;
    // A process that was just forked gets the next one.
    const auto again = host_clock()->steady_now() + std::chrono::milliseconds{20};
    timer_.set(left ? again : SteadyTime::max());
  }

  int orders_;
  pid_t parent_;
  pid_t group_ = 0;
  BootTimer timer_;
};

// Lets go of the terminal and of all pipes, since other programs may wait for their end.
void let_go(int orders) {
  setsid();
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  prctl(PR_SET_NAME, "distlock-keeper");
  dup2(orders, STDIN_FILENO);
  const int nothing = open("/dev/null", O_RDWR);
  dup2(nothing, STDOUT_FILENO);
  dup2(nothing, STDERR_FILENO);
  close_range(STDERR_FILENO + 1, ~0U, 0);
  [[maybe_unused]] const int changed = chdir("/");
}

}  // namespace

Keeper::Keeper() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw std::system_error(errno, std::generic_category(), "socketpair");
  }
  orders_ = ends[1];
  const pid_t parent = getpid();
  id_ = fork();
  if (id_ == 0) {
    close(ends[1]);
    let_go(ends[0]);
    Watch(STDIN_FILENO, parent).run();
    _exit(0);
  }
  const int error = errno;
  close(ends[0]);
  if (id_ < 0) {
    close(orders_);
    throw std::system_error(error, std::generic_category(), "fork");
  }
  // By number: glibc 2.36 declares pidfd_open() without C linkage.
  handle_ = static_cast<int>(syscall(SYS_pidfd_open, id_, 0));
}

Keeper::~Keeper() {
  dismiss();
  // It may be stopped itself, and then an order would not end it.
  syscall(SYS_pidfd_send_signal, handle_, SIGKILL, nullptr, 0);
  while (waitpid(id_, nullptr, 0) < 0 && errno == EINTR) {
  }
  close(handle_);
  close(orders_);
}

void Keeper::set_kill_at(SteadyTime at) {
  if (at == last_sent_) return;
  last_sent_ = at;
  give(orders_, {Order::Kind::kill_at, at.time_since_epoch().count()});
}

void Keeper::dismiss() { give(orders_, {Order::Kind::dismiss, 0}); }

void enlist_with_keeper(int descriptor, pid_t group) {
  give(descriptor, {Order::Kind::group, group});
}

}  // namespace distlock::cli
