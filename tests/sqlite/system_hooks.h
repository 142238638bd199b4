#pragma once

#include <chrono>
#include <functional>

// Functions that this program puts between the library, with SQLite, and the system.
namespace distlock::testing {

/// How often a file was synced so far, by fsync() or fdatasync().
int syncs();
/// How often it was a folder.
int folder_syncs();

/// Something that happens on this thread after each sync that succeeded, but not within itself. It
/// is given the descriptor.
class AtSync {
 public:
  explicit AtSync(std::function<void(int)> act);
  ~AtSync();
  AtSync(const AtSync&) = delete;
  AtSync& operator=(const AtSync&) = delete;
};

/// Something that happens on this thread once, right after a file got its name.
class AtNaming {
 public:
  explicit AtNaming(std::function<void()> act);
  ~AtNaming();
  AtNaming(const AtNaming&) = delete;
  AtNaming& operator=(const AtNaming&) = delete;
};

/// Something that happens on this thread once, right before a file loses its name by unlink().
class BeforeRemoval {
 public:
  explicit BeforeRemoval(std::function<void()> act);
  ~BeforeRemoval();
  BeforeRemoval(const BeforeRemoval&) = delete;
  BeforeRemoval& operator=(const BeforeRemoval&) = delete;
};

/// Something that happens on this thread once, right before it locks a part of a file for itself
/// alone. The lock is of the kind that belongs to the open file.
class BeforeLocking {
 public:
  explicit BeforeLocking(std::function<void()> act);
  ~BeforeLocking();
  BeforeLocking(const BeforeLocking&) = delete;
  BeforeLocking& operator=(const BeforeLocking&) = delete;
};

/// The file system knows no rename that fails where the name is taken, for as long as one of these
/// lives.
class NoSuchRename {
 public:
  NoSuchRename();
  ~NoSuchRename();
  NoSuchRename(const NoSuchRename&) = delete;
  NoSuchRename& operator=(const NoSuchRename&) = delete;
};

/// Syncs fail for as long as one of these lives, as on a disk with an error.
class FailingSyncs {
 public:
  /// The next `number` of them.
  explicit FailingSyncs(int number = 1'000'000);
  ~FailingSyncs();
  FailingSyncs(const FailingSyncs&) = delete;
  FailingSyncs& operator=(const FailingSyncs&) = delete;
};

/// A sync has failed in another process: each descriptor that is open by now is told once, at its
/// next sync, as Linux does. Those that are opened later are told nothing.
class FailedElsewhere {
 public:
  FailedElsewhere();
  ~FailedElsewhere();
  FailedElsewhere(const FailedElsewhere&) = delete;
  FailedElsewhere& operator=(const FailedElsewhere&) = delete;
};

/// Syncs of all threads wait for as long as one of these lives, but for those that it lets go.
class HeldSyncs {
 public:
  HeldSyncs();
  ~HeldSyncs() { let_all_go(); }
  HeldSyncs(const HeldSyncs&) = delete;
  HeldSyncs& operator=(const HeldSyncs&) = delete;

  /// How many have begun since this was made.
  int begun() const;
  /// One more goes on.
  void let_one_go() const;
  /// Nothing is held any more.
  static void let_all_go();
};

/// CLOCK_BOOTTIME is ahead for this thread, by as much as it is set ahead.
class BootTimeAhead {
 public:
  BootTimeAhead() = default;
  ~BootTimeAhead();
  BootTimeAhead(const BootTimeAhead&) = delete;
  BootTimeAhead& operator=(const BootTimeAhead&) = delete;

  void add(std::chrono::milliseconds time) const;
  std::chrono::milliseconds all() const;
};

/// Something that happens whenever this thread reads a clock, but not within itself: before the
/// reading is taken, or after.
class AtClockReading {
 public:
  enum class When { before, after };

  AtClockReading(int clock, When when, std::function<void()> act);
  ~AtClockReading();
  AtClockReading(const AtClockReading&) = delete;
  AtClockReading& operator=(const AtClockReading&) = delete;
};

}  // namespace distlock::testing
