#include "stores/sqlite/sqlite_deaths.h"

#include <poll.h>
#include <pthread.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/thread/lock_guard.hpp>
#include <boost/thread/thread.hpp>
#include <map>
#include <new>
#include <optional>
#include <stop_token>
#include <utility>

#include "distlock/clock.h"
#include "distlock/error.h"
#include "stores/sqlite/own_descriptor.h"

namespace distlock {
namespace {

using Guard = boost::lock_guard<boost::mutex>;
using std::chrono::milliseconds;

// A witness's file may have been replaced, and its watch with it.
constexpr milliseconds kLookAnyhow{2000};
constexpr milliseconds kLookUntold{100};
// After a word of the kernel: 1 ms, 8 ms, 64 ms. A process that is killed lets go of its files one
// after the other.
constexpr int kLooksGrow = 8;
constexpr milliseconds kLooksEnd{512};

// Sockets, since each has an inode of its own, and a write without a reader ends no program. None:
// -1 twice.
std::array<int, 2> socket_pair() {
  std::array<int, 2> ends{-1, -1};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    return {-1, -1};
  }
  return ends;
}

}  // namespace

// A listener, and the tickets of its process.
class SqliteDeaths::Ear {
 public:
  Ear(const SqliteWitness& witness, Line::Rung rung)
      : witness_(witness),
        rung_(std::move(rung)),
        told_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)),
        wake_(ends_[0]),
        waker_(ends_[1]) {
    thread_ = boost::thread([this] { run(); });
  }
  ~Ear() {
    const boost::this_thread::disable_interruption no_interruption;
    stop_.request_stop();
    wake();
    thread_.join();
  }
  Ear(const Ear&) = delete;
  Ear& operator=(const Ear&) = delete;

  // The watch is there before the look at the witness, so that no end in between is missed.
  bool attend(const Token& ticket, std::string_view name, std::string_view statement) {
    const Guard lock(mutex_);
    const char* file = witness_.path().c_str();
    watched_ = told_.is_there() && inotify_add_watch(told_.number(), file, IN_CLOSE_WRITE) >= 0;
    attended_.erase(ticket);
    if (witness_.has_ended(statement)) return true;
    const bool was_empty = attended_.empty();
    attended_.emplace(ticket, Attended{std::string(name), std::string(statement)});
    if (was_empty) wake();
    return false;
  }

  void ignore(const Token& ticket) {
    const Guard lock(mutex_);
    attended_.erase(ticket);
  }

 private:
  struct Attended {
    std::string name;
    std::string statement;
  };

  void wake() const {
    if (waker_.is_there()) send(waker_.number(), "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  void run() {
    pthread_setname_np(pthread_self(), "LockDeaths");
    milliseconds pause{1};
    while (!stop_.stop_requested()) {
      try {
        while (const auto name = next_ended()) rung_(*name);
      } catch (const std::bad_alloc&) {
        // The next look may get some.
      }
      pause = wait(pause) ? milliseconds{1} : std::min(kLooksGrow * pause, kLooksEnd);
    }
  }

  // Whether there was a word of the kernel, or a first ticket.
  bool wait(milliseconds pause) const {
    const milliseconds time = time_to_wait(pause);
    if (!wake_.is_there()) {
      clock_->wait_until(clock_->steady_now() + std::min(time, kLookUntold), stop_.get_token());
      return false;
    }
    std::array<pollfd, 2> waited{
        {{.fd = wake_.number(), .events = POLLIN, .revents = 0},
         {.fd = told_.is_there() ? told_.number() : -1, .events = POLLIN, .revents = 0}}};
    poll(waited.data(), waited.size(), static_cast<int>(time.count()));
    std::array<char, 4096> news{};
    const bool first = wake_.is_there() && waited[0].revents == POLLIN &&
                       recv(wake_.number(), news.data(), news.size(), MSG_DONTWAIT) > 0;
    // Once: what is left is there for the next wait, and no read waits where none of ours is left.
    const bool told = told_.is_there() && waited[1].revents == POLLIN &&
                      ::read(told_.number(), news.data(), news.size()) > 0;
    return first || told;
  }

  milliseconds time_to_wait(milliseconds pause) const {
    const Guard lock(mutex_);
    if (attended_.empty()) return kLookAnyhow;
    if (pause < kLooksEnd) return pause;
    return watched_ && told_.is_there() ? kLookAnyhow : kLookUntold;
  }

  // A lock whose holder has ended. It is attended no more.
  std::optional<std::string> next_ended() {
    const Guard lock(mutex_);
    const auto ended = std::find_if(attended_.begin(), attended_.end(), [&](const auto& known) {
      return witness_.has_ended(known.second.statement);
    });
    if (ended == attended_.end()) return std::nullopt;
    std::optional<std::string> name(std::move(ended->second.name));
    attended_.erase(ended);
    return name;
  }

  const SqliteWitness& witness_;
  const Line::Rung rung_;
  const std::shared_ptr<Clock> clock_ = host_clock();
  const OwnDescriptor told_;
  const std::array<int, 2> ends_ = socket_pair();
  const OwnDescriptor wake_;
  const OwnDescriptor waker_;
  std::stop_source stop_;
  mutable boost::mutex mutex_;
  std::map<Token, Attended> attended_;
  bool watched_ = false;
  boost::thread thread_;
};

std::shared_ptr<void> SqliteDeaths::listen(Line::Rung rung) {
  std::shared_ptr<Ear> ear;
  try {
    ear = std::make_shared<Ear>(witness_, std::move(rung));
  } catch (const boost::thread_resource_error& error) {
    throw Error(Errc::not_applied, std::string("no thread for ended holders: ") + error.what());
  }
  const Guard lock(mutex_);
  std::erase_if(ears_, [](const auto& known) { return known.expired(); });
  ears_.push_back(ear);
  return ear;
}

std::vector<std::shared_ptr<SqliteDeaths::Ear>> SqliteDeaths::ears() {
  std::vector<std::shared_ptr<Ear>> living;
  const Guard lock(mutex_);
  for (const auto& known : ears_) {
    if (auto ear = known.lock()) living.push_back(std::move(ear));
  }
  return living;
}

// An end is final: a witness that has not ended for one of them may have for the next.
bool SqliteDeaths::attend(const Token& ticket, std::string_view name, std::string_view statement) {
  for (const auto& ear : ears()) {
    if (ear->attend(ticket, name, statement)) return true;
  }
  return witness_.has_ended(statement);
}

void SqliteDeaths::ignore(const Token& ticket) {
  for (const auto& ear : ears()) ear->ignore(ticket);
}

}  // namespace distlock
