#include "stores/sqlite/sqlite_syncs.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/chrono/duration.hpp>
#include <boost/thread/lock_types.hpp>
#include <boost/thread/thread.hpp>
#include <cerrno>
#include <filesystem>
#include <new>
#include <utility>

#include "distlock/error.h"
#include "failure.h"
#include "stores/sqlite/sqlite_clock.h"
#include "stores/sqlite/sqlite_file.h"
#include "text.h"

namespace distlock {
namespace {

// Gives the system's error, or 0. A folder that this user may not read is left to the system, as
// SQLite leaves it. For want of descriptors nothing is left.
int sync_folder(const std::string& folder) noexcept {
  const int opened = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (opened < 0) return errno == EMFILE || errno == ENFILE ? errno : 0;
  const int error = fsync(opened) == 0 ? 0 : errno;
  close(opened);
  return error;
}

}  // namespace

// By a descriptor of its own, as SQLite's belongs to whoever has the connection's turn.
SqliteSyncs::SqliteSyncs(std::string database)
    : database_(std::move(database)), log_(open_log(database_)) {}

void SqliteSyncs::cover(std::uint64_t number, std::chrono::milliseconds give_up_at) {
  // The commit is there: an interrupted thread has to learn what became of it.
  const boost::this_thread::disable_interruption to_the_end;
  boost::unique_lock<boost::mutex> lock(mutex_);
  while (synced_ < number) {
    const auto left = give_up_at - since_boot();
    if (in_doubt_) fail(EIO);
    if (!syncing_) {
      sync_for_all(lock);
    } else if (left <= left.zero()) {
      owed_ = std::max(owed_.load(), number);
      throw_unknown(ETIMEDOUT);
    } else {
      synced_more_.wait_for(lock, boost::chrono::milliseconds(left.count()));
    }
  }
}

void SqliteSyncs::sync_for_all(boost::unique_lock<boost::mutex>& lock) {
  const std::uint64_t covered = committed_;
  syncing_ = true;
  lock.unlock();
  int error = ENOMEM;
  try {
    error = sync();
  } catch (const std::bad_alloc&) {
    // Those who wait for this sync must not wait for ever.
  }
  lock.lock();
  syncing_ = false;
  synced_more_.notify_all();
  if (error != 0) fail(error);
  synced_ = covered;
  if (owed_ <= covered) owed_ = 0;
}

// A new file is there after a power failure only if its folder was synced, too.
int SqliteSyncs::sync() {
  if (!folder_synced_) {
    const int error = sync_folder(std::filesystem::path(database_).parent_path());
    if (error != 0) return error;
    folder_synced_ = true;
  }
  if (!log_.is_there()) return EBADF;
  return fdatasync(log_.number()) == 0 ? 0 : errno;
}

void SqliteSyncs::fail(int error) {
  in_doubt_ = true;
  throw_unknown(error);
}

void SqliteSyncs::throw_unknown(int error) const {
  const char* of_disk = error == EMFILE ? "" : "; look at the disk, and for room on it";
  throw Error(Errc::outcome_unknown, in_quotes(database_) +
                                         ": what was written may not be on the disk, " +
                                         system_failure(error) + of_disk);
}

}  // namespace distlock
