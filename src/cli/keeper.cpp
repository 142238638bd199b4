#include "cli/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <system_error>

#include "cli/boot_timer.h"
#include "cli/descendants.h"
#include "cli/remains.h"

namespace distlock::cli {
namespace {

/// A message to the keeper.
struct Order {
  enum class Kind : std::int64_t { kill_at, guard, group, dismiss };
  Kind kind = Kind::dismiss;
  /// Nanoseconds of the steady clock, the window's nanoseconds, or a group's number.
  std::int64_t value = 0;
  std::array<char, 24> token{};  ///< Of the hold to guard.
};

/// A message of the socket, and perhaps a descriptor that goes with it.
class Letter {
 public:
  explicit Letter(Order& order) : part_{&order, sizeof order} {
    message_.msg_iov = &part_;
    message_.msg_iovlen = 1;
  }

  void enclose(int descriptor) {
    make_room();
    cmsghdr* header = CMSG_FIRSTHDR(&message_);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  void make_room() {
    message_.msg_control = room_.data();
    message_.msg_controllen = room_.size();
  }
  int enclosed() {
    const cmsghdr* header = CMSG_FIRSTHDR(&message_);
    if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return -1;
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    return descriptor;
  }
  msghdr* get() { return &message_; }

 private:
  iovec part_;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room_{};
  msghdr message_{};
};

// A keeper that has gone does no harm: the command's parent watches the deadline, too.
void give(int keeper, Order order, int descriptor = -1) {
  Letter letter(order);
  if (descriptor >= 0) letter.enclose(descriptor);
  sendmsg(keeper, letter.get(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

constexpr std::chrono::milliseconds kRestLeast{1};
constexpr std::chrono::milliseconds kRestMost{1000};

/// The keeper's own process.
class Watch {
 public:
  Watch(int orders, pid_t parent, pid_t session)
      : orders_(orders), parent_(parent), session_(session) {}

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
    Letter letter(order);
    letter.make_room();
    const ssize_t got = recvmsg(orders_, letter.get(), MSG_CMSG_CLOEXEC | MSG_TRUNC);
    if (got == 0 || (got < 0 && errno != EINTR)) {
      outlive();
      return false;
    }
    if (got != sizeof order) return true;  // No order: no word of the parent's end either.
    const std::chrono::nanoseconds time{order.value};
    switch (order.kind) {
      case Order::Kind::kill_at:
        kill_at_ = SteadyTime{time};
        timer_.set(kill_at_);
        return true;
      case Order::Kind::guard:
        // Open until this process ends: nobody else has the lock of the dead before that (R23).
        letter.enclosed();
        token_.assign(order.token.begin(), order.token.end());
        window_ = time;
        return true;
      case Order::Kind::group:
        group_ = static_cast<pid_t>(order.value);
        return true;
      case Order::Kind::dismiss:
        return false;
    }
    return true;
  }

  // The command's parent has been killed. The rest of the command may live until its time has come.
  // Two looks must find nothing, since a process may be forked during one.
  void outlive() {
    if (group_ > 0) kill(-group_, SIGKILL);
    if (token_.empty()) return;
    Remains remains(token_, {.group = group_, .session = session_, .parent = parent_});
    const SteadyTime end = host_clock()->steady_now() + window_;
    int empty_looks = 0;
    for (auto pause = kRestLeast; empty_looks < 2; pause = std::min(2 * pause, kRestMost)) {
      const SteadyTime now = host_clock()->steady_now();
      // By then others judge by its pings.
      if (now >= end) return;
      const Remains::Found left = remains.find();
      empty_looks = left.none() ? empty_looks + 1 : 0;
      if (now >= kill_at_) {
        for (const pid_t id : left.sure) kill(id, SIGKILL);
      }
      if (!left.sure.empty())
        await_end(left.sure.front(), std::min({kill_at_, end, now + kRestMost}));
      if (!left.none()) host_clock()->wait_until(now + pause, {});
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
  pid_t session_;
  pid_t group_ = 0;
  std::string token_;
  std::chrono::nanoseconds window_{};
  SteadyTime kill_at_ = SteadyTime::max();
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

}  // namespace

Keeper::Keeper() {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw std::system_error(errno, std::generic_category(), "socketpair");
  }
  orders_ = ends[1];
  const pid_t parent = getpid();
  const pid_t session = getsid(0);
  id_ = fork();
  if (id_ == 0) {
    close(ends[1]);
    let_go(ends[0]);
    Watch(STDIN_FILENO, parent, session).run();
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

void Keeper::guard(std::string_view token, std::chrono::nanoseconds window, int witness) {
  Order order{Order::Kind::guard, window.count()};
  token.copy(order.token.data(), order.token.size());
  give(orders_, order, witness);
  if (witness >= 0) close(witness);
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
