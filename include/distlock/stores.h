#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "distlock/clock.h"
#include "distlock/connection_string.h"
#include "distlock/export.h"
#include "distlock/options.h"
#include "distlock/store.h"

namespace distlock {

/// Opens the store that the connection string names, making a SQLite file that is missing, but no
/// folder. All handles on `memory:` that live at one time in a process are on one store. Of a
/// mirrored store a minority of the members may be away or fail, if the others are a set (M6).
///
/// Errors:
///   `not_applied`        the store cannot be reached
///   `permission_denied`  the user may not use it
///   `bad_record`         the SQLite file is no database of ours, or its schema is newer
///   `invalid_argument`   options out of range, a folder that is not there, or a server that cannot
///                        serve: a secondary, an arbiter, a mongos, MongoDB before 4.2
///   `forked`             in a child that was forked in the middle of another thread's call: of
///                        SQLite for a file, of libmongoc for a MongoDB server (R16)
DISTLOCK_EXPORT std::shared_ptr<Store> open_store(const ConnectionString& connection,
                                                  const StoreOptions& options = {});

/// A store inside this process, timed by `clock`. For tests, simulation and examples.
DISTLOCK_EXPORT std::shared_ptr<Store> make_memory_store(
    std::shared_ptr<Clock> clock = host_clock(), const StoreOptions& options = {});

/// The threads that call the members of a mirrored store.
enum class MirrorDrive {
  own_threads,  ///< One a member: all members are asked at once.
  caller,       ///< The caller's: one member after the other. For tests and simulation.
};

struct MirrorOptions {
  MirrorDrive drive = MirrorDrive::own_threads;
  /// Gives 64 random bits a call. By default the system's.
  std::function<std::uint64_t()> random = {};
  /// The longest LockOptions::takeover_after of a set that this process founds, 365 days at most;
  /// others take it from the members. A claim with a longer one is refused. A member that lost its
  /// data is kept out for so long (M6).
  std::chrono::milliseconds longest_takeover = std::chrono::hours{1};
  OpeningRule opening = OpeningRule::to_lock;  ///< As of StoreOptions.
};

/// A mirrored store: 1, 3, 5, 7 or 9 member stores that do not know each other. A process holds a
/// lock if a majority of the members says so (M1). All processes must name the same members in the
/// same order. The first call that finds all members empty makes them one set. A mirrored store has
/// no line, so waits poll (R15). Members that do not answer are waited for by `clock`. MongoDB
/// members should have a `maxPoolSize` of 37 or more, so that no call keeps their pings waiting.
///
/// Errors: `invalid_argument` for another number of members, for one store given twice, for a null
/// member or clock, or for options out of range.
DISTLOCK_EXPORT std::shared_ptr<Store> make_mirrored_store(
    const std::vector<std::shared_ptr<Store>>& members, std::shared_ptr<Clock> clock = host_clock(),
    const MirrorOptions& options = {});

}  // namespace distlock
