#pragma once

#include <atomic>
#include <boost/thread/condition_variable.hpp>
#include <boost/thread/mutex.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "stores/sqlite/own_descriptor.h"

namespace distlock {

// ONE SYNC FOR SEVERAL THREADS
//
// A write to a SQLite file is committed when it stands in the log, and others see it from then on.
// It is durable when the log was synced after that. The two are apart here: a thread commits in its
// turn, lets the next one in, and waits for a sync that covers its commit. The first that waits
// syncs for all who have committed by then; who commits meanwhile waits for the next sync. So no
// call returns before its sync, and sixteen threads share one.
//
// Another process may see a claim that is not durable yet. It only waits for it: nothing was
// granted by it until its call has returned. A power failure then takes it back and harms nobody.

/// The syncs of the write-ahead log of one connection.
///
/// Threads: any number; committed() is for whoever has the connection's turn.
class SqliteSyncs {
 public:
  /// `database` is the file's path; its log is there. From here on no sync that fails is missed, in
  /// other processes either: the system tells each descriptor that was open by then. Errors:
  /// `not_applied` if none is to be had.
  explicit SqliteSyncs(std::string database);
  SqliteSyncs(const SqliteSyncs&) = delete;
  SqliteSyncs& operator=(const SqliteSyncs&) = delete;

  /// Gives a write that was committed right now its number.
  std::uint64_t committed() noexcept { return ++committed_; }
  /// Returns once a sync that began after this commit has succeeded. Errors: `outcome_unknown` if a
  /// sync failed, or none has succeeded by the time that since_boot() is `give_up_at`.
  void cover(std::uint64_t number, std::chrono::milliseconds give_up_at);

  /// The last commit whose thread has not waited for its sync, if none has covered it since. It is
  /// seen, and whatever shows it has to cover() it first.
  std::optional<std::uint64_t> owed() const noexcept {
    const std::uint64_t number = owed_;
    return number == 0 ? std::nullopt : std::optional(number);
  }

  /// Whether a commit may be missing on the disk, although it is seen: a sync failed. The system
  /// takes what it could not write for written, and another sync shows nothing. The log's later
  /// parts would be lost with it. So nothing more is confirmed until the log is empty.
  bool in_doubt() const noexcept { return in_doubt_; }
  /// The log is empty: all is in the database, on the disk.
  void settle() noexcept { in_doubt_ = false; }

 private:
  void sync_for_all(boost::unique_lock<boost::mutex>& lock);
  int sync();
  [[noreturn]] void fail(int error);
  [[noreturn]] void throw_unknown(int error) const;

  const std::string database_;
  const OwnDescriptor log_;
  bool folder_synced_ = false;
  std::atomic<std::uint64_t> committed_ = 0;
  std::atomic<std::uint64_t> owed_ = 0;
  std::atomic<bool> in_doubt_ = false;
  boost::mutex mutex_;
  boost::condition_variable synced_more_;
  std::uint64_t synced_ = 0;
  bool syncing_ = false;
};

}  // namespace distlock
