#pragma once

#include <boost/thread/mutex.hpp>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "distlock/options.h"

namespace distlock {

// THE WITNESS
//
// A file beside the database. Each process locks one byte of it, at a place that it draws at
// random, and states the place with its pings. The lock belongs to the open file. So it is shared
// with the children of fork(), and with the programs that they execute. The kernel ends it when the
// last of them has ended: after the last thread, and after its last write. A process that is
// stopped, or hangs, keeps it.
//
// So a byte that is free says that its process has ended, and all that it left behind (R23). That
// holds for the very file only that the process has locked. A living process keeps its file open,
// and no other file can have its number then. So the statement names the boot, the device, the
// file's number, and what stands in it, and the namespace of the process's number. A contender that
// finds another file, or none, or no such lock, knows nothing: then pings judge as ever.
//
// A mapping holds the lock as well as the descriptor. So a program that closes all its descriptors
// does not give it up. A file system on which it does not has no witnesses.
//
// No process removes the file, so that no other can look for its lock where it no longer is.

/// The witnesses of the processes that use one database: one's own, and those of others.
///
/// Threads: any number.
class SqliteWitness {
 public:
  /// `database` is the file's path, `boot` what the kernel calls this boot.
  SqliteWitness(const std::string& database, const std::string& boot, WitnessRule rule);
  /// A witness that was not given up lasts as long as this program.
  ~SqliteWitness();
  SqliteWitness(const SqliteWitness&) = delete;
  SqliteWitness& operator=(const SqliteWitness&) = delete;

  /// The statement that `process` is to make with its pings, true from now on. Nothing: there is no
  /// witness to be had, or it is not wanted. Both stay so until give_up(): a witness that came
  /// later would not be shared with the children that are there by then.
  std::optional<std::string> statement_of(std::string_view process);

  /// As Store::share_witness().
  int share(std::string_view process);

  /// `process` holds nothing and has no claim under way.
  void give_up(std::string_view process);

  /// Whether the process that made this statement has ended for sure, and all that it left behind.
  bool has_ended(std::string_view statement) const;

  /// Whether processes with a hold's token count for this statement, besides the witness.
  static bool counts_tokens(std::string_view statement);

  const std::string& path() const { return path_; }

 private:
  /// A lock of this process: as long as one of the two is there. Or that it has none.
  struct Kept {
    std::optional<std::string> statement;
    int file = -1;
    void* mapping = nullptr;
  };

  bool is_fit();
  Kept locked_byte();
  Kept inherited(int file, std::string statement) const;
  static bool has_descriptor(const Kept& kept) noexcept;
  static void close(const Kept& kept) noexcept;
  static void let_go(const Kept& kept);

  const std::string database_;
  const std::string path_;
  const std::string host_;  // The boot, and the namespace in which this process sees others.
  const WitnessRule rule_;
  boost::mutex mutex_;
  std::map<std::string, Kept, std::less<>> kept_;
  std::optional<bool> mapping_keeps_locks_;
  bool said_ = false;
};

}  // namespace distlock
