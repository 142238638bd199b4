#pragma once

#include <boost/thread/mutex.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "distlock/line.h"
#include "stores/sqlite/sqlite_witness.h"

namespace distlock {

/// Wakes the waiters of this process when a holder ends that they wait for (R23). Its witness's
/// file is closed then, which the kernel tells (inotify). That may be a little before the witness
/// is free, so each such word is followed by some looks. Where the kernel tells nothing, it looks
/// ten times a second. As a ring of the bell it is a hint (R19).
///
/// Threads: any number.
class SqliteDeaths {
 public:
  explicit SqliteDeaths(const SqliteWitness& witness) : witness_(witness) {}

  /// Calls `rung` with the name of each lock whose holder has ended, of those that attend() names,
  /// as long as the result lives. As Line::listen().
  std::shared_ptr<void> listen(Line::Rung rung);

  /// `ticket` waits for lock `name`, whose holder states this witness. True: that has ended
  /// already, and nothing more is to be told of it.
  bool attend(const Token& ticket, std::string_view name, std::string_view statement);
  void ignore(const Token& ticket);

 private:
  class Ear;

  std::vector<std::shared_ptr<Ear>> ears();

  const SqliteWitness& witness_;
  boost::mutex mutex_;
  std::vector<std::weak_ptr<Ear>> ears_;
};

}  // namespace distlock
