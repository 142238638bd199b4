#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stores/sqlite/own_descriptor.h"

namespace distlock {

// WORDS THAT PROCESSES SHARE
//
// A file of one page beside the database, whose words processes sleep on, as futexes, and wake each
// other by. A word is a hint: a wake-up may get lost, come twice or be forged.
//
// Programs touch the mapped page only by way of the kernel, so that a file that somebody cuts short
// is an error and no signal. A mark in the page says whose file it is, so that no other is written
// to.

/// One such file, for one process.
///
/// Threads: calls must not overlap, but for wait(). During that, other threads may call all but
/// open() and close().
class SqlitePage {
 public:
  static constexpr std::size_t kSize = 4096;
  using Words = std::array<std::uint32_t, kSize / sizeof(std::uint32_t)>;
  /// The first word that is free for any use. Before it stand word 0, which is free as well, and
  /// the mark.
  static constexpr std::size_t kFirstWord = 32;

  static constexpr std::size_t kMarkSize = 64;  ///< At most.

  /// The file is `database` with `suffix` added.
  SqlitePage(std::string database, std::string_view suffix, std::string_view mark);
  /// Removes the file if nobody has the database open any more. A process that opens it at that
  /// moment, and sleeps in wait() on the removed file, is woken.
  ~SqlitePage();
  SqlitePage(const SqlitePage&) = delete;
  SqlitePage& operator=(const SqlitePage&) = delete;

  /// Opens the file that has the name now. False: there is none, or it is something else.
  bool open();
  void close() noexcept;
  /// Makes the file, if there is none, or only zeros are left of it, for whoever may use the
  /// database.
  void make() const noexcept;

  const std::string& path() const { return path_; }
  int file() const { return file_ ? file_->number() : -1; }
  /// How many files it has opened, one after the other: a new one lacks what the last one had.
  int files() const { return files_; }

  // Of the file that is open.
  bool is_removed() const noexcept;
  std::uint32_t word(std::size_t index) const;
  Words words() const;
  /// Sleeps while the word is `heard`, for `time` at most. False: the file has no such page.
  bool wait(std::size_t index, std::uint32_t heard, std::chrono::milliseconds time) const;
  void add_one(std::size_t index) const noexcept { ring(index, 0); }
  /// Adds one to the word and wakes at most `sleepers` of those who wait on it, the longest sleeper
  /// first. Gives how many were woken.
  int ring(std::size_t index, int sleepers) const noexcept;

 private:
  bool log_is_gone() const noexcept;
  void remove() const noexcept;
  bool map(dev_t device, ino_t number);
  bool is_marked() const;
  std::uint32_t* at(std::size_t index) const { return static_cast<std::uint32_t*>(page_) + index; }

  std::string database_;
  std::string path_;
  std::string log_path_;  // Made beforehand: the destructor takes no memory.
  std::string_view mark_;
  std::optional<OwnDescriptor> file_;
  void* page_ = nullptr;
  dev_t device_ = 0;
  ino_t number_ = 0;
  int files_ = 0;
};

}  // namespace distlock
