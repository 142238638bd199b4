#include "cli/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <system_error>
#include <vector>

#include "cli/boot_timer.h"
#include "cli/looks.h"
#include "cli/orders.h"
#include "cli/remains.h"

namespace distlock::cli {
namespace {

// How long a look waits for one process at most.
constexpr std::chrono::milliseconds kRestMost{1000};

/// The keeper's own process.
class Watch {
 public:
  Watch(const Notice& notice, int orders, pid_t parent, pid_t session)
      : notice_(notice), orders_(orders), parent_(parent), session_(session) {}

  void run() {
    while (!notice_.dismissed()) {
      std::array<pollfd, 2> waited{{{.fd = orders_, .events = POLLIN, .revents = 0},
                                    {.fd = timer_.descriptor(), .events = POLLIN, .revents = 0}}};
      poll(waited.data(), waited.size(), -1);
      // Orders go first: they tell of the command.
      if (waited[0].revents != 0 && !obey_next()) return;
      if (waited[0].revents == 0 && waited[1].revents != 0) look();
    }
  }

 private:
  /// False: nothing is left to be done.
  bool obey_next() {
    const Received received = receive(orders_);
    if (received.what == Received::What::end) outlive();
    if (received.what == Received::What::order) obey(received.order, received.enclosed);
    return received.what != Received::What::end;
  }

  void obey(const Order& order, int enclosed) {
    switch (order.kind) {
      case Order::Kind::look:
        await_time();
        return;
      case Order::Kind::guard:
        // The descriptor stays open until this process ends: nobody else has the lock of the
        // dead before that (R23).
        token_.assign(order.token.begin(), order.token.end());
        window_ = std::chrono::nanoseconds{order.value};
        return;
      case Order::Kind::command:
        command_ = enclosed;
        group_ = static_cast<pid_t>(order.value);
        await_time();  // It may have been over with nothing there to kill.
        return;
    }
  }

  void await_time() {
    looks_ = {};
    timer_.set(notice_.kill_at());
  }

  // The time may have been moved on without an order.
  void look() {
    const SteadyTime at = notice_.kill_at();
    if (host_clock()->steady_now() < at) return timer_.set(at);
    kill_all();
  }

  // The command's parent has been killed. The rest of the command may live until its time has come.
  void outlive() {
    kill_command();
    if (token_.empty()) return;
    Remains remains(token_, {.group = group_, .session = session_, .parent = parent_});
    const SteadyTime end = host_clock()->steady_now() + window_;
    Looks looks;
    while (!looks.enough()) {
      const SteadyTime now = host_clock()->steady_now();
      // By then others judge by its pings.
      if (now >= end) return;
      const Remains::Found left = remains.find();
      const bool kills = now >= notice_.kill_at();
      looks.take({now, left.none(), kills && kill_each(left.sure)}, notice_.kill_at());
      if (!left.sure.empty())
        await_end(left.sure.front(), std::min({notice_.kill_at(), end, now + kRestMost}));
      host_clock()->wait_until(std::min(looks.next(), end), {});
    }
  }

  // Or until that time.
  void await_end(pid_t id, SteadyTime until) {
    const int handle = static_cast<int>(syscall(SYS_pidfd_open, id, 0));
    timer_.set(until);
    std::array<pollfd, 2> waited{{{.fd = handle, .events = POLLIN, .revents = 0},
                                  {.fd = timer_.descriptor(), .events = POLLIN, .revents = 0}}};
    if (handle >= 0) poll(waited.data(), waited.size(), -1);
    close(handle);
  }

  // Known without /proc, which may not be there.
  void kill_command() const {
    if (group_ > 0) kill(-group_, SIGKILL);
    syscall(SYS_pidfd_send_signal, command_, SIGKILL, nullptr, 0);
  }

  void kill_all() {
    kill_command();
    const SteadyTime now = host_clock()->steady_now();
    const Descendants left = look_for_descendants(parent_, self_);
    const bool killed = kill_each(left.running);
    looks_.take({now, left.all && !killed, killed}, SteadyTime::min());
    timer_.set(looks_.enough() ? SteadyTime::max() : looks_.next());
  }

  // False: there was none that may be killed.
  static bool kill_each(const std::vector<pid_t>& processes) {
    bool killed = false;
    for (const pid_t id : processes) killed |= kill(id, SIGKILL) == 0;
    return killed;
  }

  const Notice& notice_;
  int orders_;
  const ProcessIdentity self_ = identity_of(getpid());
  pid_t parent_;
  pid_t session_;
  pid_t group_ = 0;
  int command_ = -1;  // A pidfd.
  std::string token_;
  std::chrono::nanoseconds window_{};
  Looks looks_;  // Of kill_all().
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
  const int nothing = open("/", O_PATH);  // Needs no /dev.
  dup2(nothing, STDOUT_FILENO);
  dup2(nothing, STDERR_FILENO);
  close_range(STDERR_FILENO + 1, ~0U, 0);
  [[maybe_unused]] const int changed = chdir("/");
}

// By number: a library that is loaded before glibc, as libfaketime, may take a mutex in
// clock_gettime(). Another thread may have had it at the fork.
SteadyTime kernel_now() {
  timespec now{};
  syscall(SYS_clock_gettime, CLOCK_BOOTTIME, &now);
  return SteadyTime{std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec}};
}

// Nothing that it fails by may come to the handlers of the tool's exit.
[[noreturn]] void keep(const Notice& notice, pid_t parent, pid_t session) {
  try {
    Watch(notice, STDIN_FILENO, parent, session).run();
  } catch (...) {
    _exit(1);
  }
  _exit(0);
}

}  // namespace

Keeper::Keeper() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw std::system_error(errno, std::generic_category(), "socketpair");
  }
  orders_ = ends[1];
  const pid_t parent = getpid();
  const pid_t session = getsid(0);
  // A signal to the whole group may come before it has blocked them itself.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  const pid_t id = fork();
  if (id == 0) {
    close(ends[1]);
    let_go(ends[0]);
    keep(notice_, parent, session);
  }
  const int error = errno;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  close(ends[0]);
  if (id < 0) {
    close(orders_);
    throw std::system_error(error, std::generic_category(), "fork");
  }
  process_ = identity_of(id);
  // By number: glibc 2.36 declares pidfd_open() without C linkage.
  handle_ = static_cast<int>(syscall(SYS_pidfd_open, id, 0));
}

Keeper::~Keeper() {
  dismiss();
  // It may be stopped itself, and then an order would not end it.
  syscall(SYS_pidfd_send_signal, handle_, SIGKILL, nullptr, 0);
  // It may have been waited for already, and its number be another's.
  siginfo_t ended{};
  while (handle_ >= 0 && waitid(P_PIDFD, static_cast<id_t>(handle_), &ended, WEXITED) < 0 &&
         errno == EINTR) {
  }
  close(handle_);
  close(orders_);
}

void Keeper::guard(std::string_view token, std::chrono::nanoseconds window, int witness) {
  Order order{Order::Kind::guard, window.count()};
  token.copy(order.token.data(), order.token.size());
  give(orders_, order, witness);
  if (witness >= 0) close(witness);
}

void Keeper::set_kill_at(SteadyTime at) {
  const SteadyTime before = notice_.kill_at();
  notice_.set_kill_at(at);
  // Of a later time it learns when it looks at the earlier one, unless it has done so.
  const bool looked = host_clock()->steady_now() >= before;
  if (at < before || looked) give(orders_, {Order::Kind::look});
}

// The kernel first: if this process is stopped between the two, the time seems to be over earlier.
std::chrono::nanoseconds Keeper::kernel_ahead() {
  const SteadyTime kernel = kernel_now();
  return kernel - host_clock()->steady_now();
}

bool Keeper::time_is_over(std::chrono::nanoseconds ahead) const {
  return kernel_now() - ahead >= notice_.kill_at();
}

void Keeper::dismiss() {
  notice_.dismiss();
  give(orders_, {Order::Kind::look});
}

void enlist_with_keeper(int descriptor, pid_t group) {
  const int self = static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0));
  give(descriptor, {Order::Kind::command, group}, self);
}

}  // namespace distlock::cli
