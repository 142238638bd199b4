#pragma once

#include <atomic>
#include <boost/thread/mutex.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "distlock/line.h"
#include "stores/sqlite/sqlite_page.h"

namespace distlock {

// THE BELL
//
// A file beside the database (sqlite_page.h). A process that waits for locks sleeps on the word of
// its process id. A ring adds one to the word of the process and the lock together. Then it adds
// one to the word of the process, and wakes the sleepers there. A process that wakes up looks which
// words have changed of the locks that it stands in line for. Each process and lock have two such
// words: one for rings, and one that says that there is a new holder.
//
// Words are found by a hash, so that two may share one: then a ring is heard by one too many, which
// costs a look at the store (R19). There is a bell once somebody waits, until the last who has the
// database open closes it. A listener whose bell was removed opens another, and looks at all locks
// that it waits for: rings may be lost. A process that cannot use a bell looks by itself.

/// The bell of one database, for one process.
///
/// Threads: any number.
class SqliteBell {
 public:
  /// `database` is the file's path. How often a listener looks whether somebody has removed the
  /// bell, cut it short, or put something in its place.
  explicit SqliteBell(const std::string& database,
                      std::chrono::milliseconds look_again = std::chrono::seconds{2});

  /// As Line::listen(), for the tickets that attend() names.
  std::shared_ptr<void> listen(std::string_view process, Line::Rung rung);
  /// As Line::ring().
  void ring(std::string_view name, const std::vector<std::string>& processes) {
    ring(name, processes, News::turn);
  }
  /// Tells the next in line that there is a new holder, whose end it is to attend (R23).
  void tell_of_holder(std::string_view name, const std::string& process) {
    ring(name, {process}, News::holder);
  }

  /// Before `process` gets a place: from now on rings for `name` are for it. Gives whether they
  /// were not before.
  bool attend(std::string_view process, const Token& ticket, std::string_view name);
  void ignore(const Token& ticket);
  /// Whether a ring for `ticket` was heard since this was asked last.
  bool take_ring(const Token& ticket);

 private:
  class Ear;
  enum class News { turn, holder };

  static std::size_t word_of(std::string_view process, std::string_view name, News news);
  void ring(std::string_view name, const std::vector<std::string>& processes, News news);
  std::vector<std::shared_ptr<Ear>> ears();

  const std::string database_;
  const std::chrono::milliseconds look_again_;
  // For all listeners, of which one follows the other: that there is no bell.
  const std::shared_ptr<std::atomic<bool>> said_ = std::make_shared<std::atomic<bool>>(false);
  boost::mutex ringing_mutex_;
  SqlitePage ringing_;  // Guarded by `ringing_mutex_`.
  boost::mutex ears_mutex_;
  std::vector<std::weak_ptr<Ear>> ears_;  // Guarded by `ears_mutex_`.
};

}  // namespace distlock
