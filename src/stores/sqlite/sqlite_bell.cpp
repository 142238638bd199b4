#include "stores/sqlite/sqlite_bell.h"

#include <pthread.h>

#include <boost/thread/lock_guard.hpp>
#include <boost/thread/thread.hpp>
#include <climits>
#include <map>
#include <new>
#include <stop_token>
#include <utility>

#include "distlock/clock.h"
#include "distlock/error.h"
#include "log.h"

namespace distlock {
namespace {

using Guard = boost::lock_guard<boost::mutex>;

constexpr std::string_view kSuffix = "-bell";
constexpr std::string_view kMark = "distlock bell 1\n";

// The first half of the words that are free are for processes, the second for locks.
constexpr std::size_t kWords = SqlitePage::kSize / sizeof(std::uint32_t);
constexpr std::size_t kFirstForLocks = kWords / 2;

// FNV-1a, which is the same in every program.
std::size_t hash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : text) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  return static_cast<std::size_t>(hash ^ (hash >> 32U));
}

std::size_t word_to_sleep_on(std::string_view process) {
  return SqlitePage::kFirstWord + hash(process) % (kFirstForLocks - SqlitePage::kFirstWord);
}

}  // namespace

// Earlier versions know the first kind alone.
std::size_t SqliteBell::word_of(std::string_view process, std::string_view name, News news) {
  std::string all(process);
  all.append(1, '\0').append(name);
  if (news == News::holder) all.append(1, '\0');
  return kFirstForLocks + hash(all) % (kWords - kFirstForLocks);
}

// A listener, and the tickets of its process.
class SqliteBell::Ear {
 public:
  Ear(const SqliteBell& bell, std::string_view process, Line::Rung rung)
      : process_(process),
        rung_(std::move(rung)),
        look_again_(bell.look_again_),
        said_(bell.said_),
        page_(bell.database_, kSuffix, kMark) {
    open();
    thread_ = boost::thread([this] { run(); });
  }
  ~Ear() {
    const boost::this_thread::disable_interruption no_interruption;
    stop_.request_stop();
    {
      const Guard lock(mutex_);
      if (page_.file() >= 0) page_.ring(word_to_sleep_on(process_), INT_MAX);
    }
    thread_.join();
  }
  Ear(const Ear&) = delete;
  Ear& operator=(const Ear&) = delete;

  bool attend(std::string_view process, const Token& ticket, std::string_view name) {
    if (process != process_) return false;
    const Guard lock(mutex_);
    if (attended_.contains(ticket)) return false;
    const auto now = [&](News news) {
      const std::size_t word = SqliteBell::word_of(process, name, news);
      return Heard{word, page_.word(word)};
    };
    attended_.emplace(ticket, Attended{std::string(name), now(News::turn), now(News::holder)});
    return true;
  }

  void ignore(const Token& ticket) {
    const Guard lock(mutex_);
    attended_.erase(ticket);
  }

  bool take_ring(const Token& ticket) {
    const Guard lock(mutex_);
    const auto found = attended_.find(ticket);
    return found != attended_.end() && std::exchange(found->second.rung, false);
  }

 private:
  struct Heard {
    bool changed(const SqlitePage::Words& words) const { return words.at(word) != count; }
    void hear(const SqlitePage::Words& words) { count = words.at(word); }
    std::size_t word;
    std::uint32_t count;
  };
  struct Attended {
    bool has_news(const SqlitePage::Words& words) const {
      return missed || turn.changed(words) || holder.changed(words);
    }
    std::string name;
    Heard turn;
    Heard holder;
    bool rung = false;
    bool missed = false;  // Perhaps a ring.
  };

  bool open() {
    const Guard lock(mutex_);
    const int files = page_.files();
    const bool opened = open_or_make();
    if (page_.files() == files) return opened;
    for (auto& [ticket, attended] : attended_) attended.missed = true;
    return opened;
  }

  bool open_or_make() {
    if (page_.open()) return true;
    page_.make();
    if (page_.open()) return true;
    if (!said_->exchange(true)) log::no_bell(page_.path());
    return false;
  }

  void run() {
    pthread_setname_np(pthread_self(), "LockBell");
    const std::shared_ptr<Clock> clock = host_clock();
    const std::stop_token stopped = stop_.get_token();
    while (!stopped.stop_requested()) {
      if (!open() || !listen(stopped, clock->steady_now() + look_again_, *clock)) {
        clock->wait_until(clock->steady_now() + look_again_, stopped);
      }
    }
  }

  // To the file that is open now. False: it has gone.
  bool listen(const std::stop_token& stopped, SteadyTime until, const Clock& clock) {
    const std::size_t own = word_to_sleep_on(process_);
    for (SteadyTime now = clock.steady_now(); now < until; now = clock.steady_now()) {
      // Before the look, so that a ring between the two is not slept through.
      const std::uint32_t heard = page_.word(own);
      tell();
      if (stopped.stop_requested() || page_.is_removed()) return true;
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - now);
      if (!page_.wait(own, heard, left)) return false;
    }
    return true;
  }

  void tell() {
    try {
      for (const std::string& name : rung_for()) rung_(name);
    } catch (const std::bad_alloc&) {
      // The next look may get some.
    }
  }

  std::vector<std::string> rung_for() {
    std::vector<std::string> names;
    const Guard lock(mutex_);
    if (attended_.empty()) return names;
    names.reserve(attended_.size());
    const SqlitePage::Words words = page_.words();
    // Heard once all are named: want of memory must not lose the news of the first.
    for (const auto& [ticket, attended] : attended_) {
      if (attended.has_news(words)) names.push_back(attended.name);
    }
    for (auto& [ticket, attended] : attended_) {
      if (!attended.has_news(words)) continue;
      attended.rung = attended.rung || attended.turn.changed(words);
      attended.turn.hear(words);
      attended.holder.hear(words);
      attended.missed = false;
    }
    return names;
  }

  const std::string process_;
  const Line::Rung rung_;
  const std::chrono::milliseconds look_again_;
  const std::shared_ptr<std::atomic<bool>> said_;
  boost::mutex mutex_;
  SqlitePage page_;  // Opened and closed under the mutex by the thread alone.
  std::map<Token, Attended> attended_;
  std::stop_source stop_;
  boost::thread thread_;
};

SqliteBell::SqliteBell(const std::string& database, std::chrono::milliseconds look_again)
    : database_(database), look_again_(look_again), ringing_(database, kSuffix, kMark) {}

std::shared_ptr<void> SqliteBell::listen(std::string_view process, Line::Rung rung) {
  std::shared_ptr<Ear> ear;
  try {
    ear = std::make_shared<Ear>(*this, process, std::move(rung));
  } catch (const boost::thread_resource_error& error) {
    throw Error(Errc::not_applied, std::string("no thread for the bell: ") + error.what());
  }
  const Guard lock(ears_mutex_);
  std::erase_if(ears_, [](const auto& known) { return known.expired(); });
  ears_.push_back(ear);
  return ear;
}

void SqliteBell::ring(std::string_view name, const std::vector<std::string>& processes, News news) {
  const Guard lock(ringing_mutex_);
  // Nobody listens where there is none.
  if (!ringing_.open()) return;
  for (const std::string& process : processes) {
    ringing_.add_one(word_of(process, name, news));
    ringing_.ring(word_to_sleep_on(process), INT_MAX);
  }
  ringing_.close();
}

std::vector<std::shared_ptr<SqliteBell::Ear>> SqliteBell::ears() {
  std::vector<std::shared_ptr<Ear>> living;
  const Guard lock(ears_mutex_);
  for (const auto& known : ears_) {
    if (auto ear = known.lock()) living.push_back(std::move(ear));
  }
  return living;
}

bool SqliteBell::attend(std::string_view process, const Token& ticket, std::string_view name) {
  bool anew = false;
  for (const auto& ear : ears()) anew = ear->attend(process, ticket, name) || anew;
  return anew;
}

void SqliteBell::ignore(const Token& ticket) {
  for (const auto& ear : ears()) ear->ignore(ticket);
}

bool SqliteBell::take_ring(const Token& ticket) {
  bool rung = false;
  for (const auto& ear : ears()) rung = ear->take_ring(ticket) || rung;
  return rung;
}

}  // namespace distlock
