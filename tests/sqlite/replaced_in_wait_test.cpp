// Files that are moved away or replaced while a write waits.
#include <time.h>

#include <algorithm>
#include <atomic>
#include <boost/thread/thread.hpp>
#include <filesystem>
#include <functional>
#include <iterator>
#include <vector>

#include "distlock/line.h"
#include "sqlite/file_under_fault.h"
#include "sqlite/system_hooks.h"
#include "stores/sqlite/sqlite_clock.h"
#include "stores/sqlite/sqlite_line.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

/// The error of a call that waits for `writer`. While it does, `then` happens, and the writer ends.
template <class Call>
auto error_of_waiting(SqliteFile& writer, const Call& call, const std::function<void()>& then) {
  // A call reads the clock a few times, and then again each time that it looks for its turn.
  constexpr int kWaits = 30;
  writer.execute("BEGIN IMMEDIATE");
  int readings = 0;
  const AtClockReading moves(CLOCK_BOOTTIME, AtClockReading::When::before, [&] {
    if (++readings != kWaits) return;
    then();
    writer.execute("COMMIT");
  });
  auto error = error_of(call);
  CHECK(readings > kWaits);
  return error;
}

}  // namespace

TEST_CASE("a write that waits while the link to its file is set elsewhere is no success",
          "[sqlite][R1]") {
  const TemporaryFolder folder;
  const auto link = folder.path() / "link.db";
  open_at(folder.path() / "locks.db");
  fs::create_symlink(folder.path() / "locks.db", link);
  const auto store = open_at(link);
  SqliteFile writer((folder.path() / "locks.db").string());
  const auto error = error_of_waiting(
      writer, [&] { store->ping("holder"); }, [&] { fs::remove(link); });
  REQUIRE(error);
  CHECK(error->errc() == Errc::store_replaced);
  CHECK(writer.integer("SELECT count(*) FROM lockpings") == 0);
}

TEST_CASE("a write that waits while its file is moved away changes nothing, and is no success",
          "[sqlite][R1]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "locks.db";
  const auto moved = folder.path() / "moved.db";
  const auto store = open_with(folder, "");
  const LockRecord lock = held(*store, "jobs");
  store->release("mail", *held(*store, "mail").ts);
  const Claim claim = claim_by(*store, "contender");
  const ReleaseRule quick = ReleaseRule::quick;
  const auto call = GENERATE_REF(values<std::function<void()>>({
      [&] { store->claim("new", FromAbsent{}, claim); },
      [&] { store->claim("mail", FromFree{}, claim); },
      [&] { store->claim("jobs", FromHold{.ts = *lock.ts, .when = {}}, claim); },
      [&] { store->line()->stand("mail", claim); },
      [&] { store->line()->stand("jobs", claim); },
      [&] { store->line()->release_and_tell("jobs", *lock.ts, quick); },
      [&] { store->release("jobs", *lock.ts); },
      [&] { store->ping("holder"); },
  }));
  SqliteFile writer(path.string());
  const auto error = error_of_waiting(writer, call, [&] { fs::rename(path, moved); });
  REQUIRE(error);
  CHECK(error->errc() == Errc::store_replaced);
  CHECK_THAT(error->what(), Catch::Contains("replaced or removed"));
  CHECK(writer.integer("SELECT count(*) FROM locks WHERE process = 'contender'") == 0);
  CHECK(writer.integer("SELECT state FROM locks WHERE _id = 'jobs'") == 1);
  CHECK(writer.integer("SELECT count(*) FROM waiters") == 0);
  CHECK(writer.integer("SELECT count(*) FROM lockpings WHERE _id = 'holder'") == 0);
}

TEST_CASE("a write that waits while its file cannot be looked at is not told that it was replaced",
          "[sqlite][R15]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "locks.db";
  const auto moved = folder.path() / "moved.db";
  const auto store = open_with(folder, "");
  SqliteFile writer(path.string());
  const auto ping = [&] { store->ping("holder"); };
  const auto error = error_of_waiting(writer, ping, [&] {
    fs::rename(path, moved);
    fs::create_symlink(path, path);
  });
  REQUIRE(error);
  CHECK(error->errc() == Errc::not_applied);
  CHECK_THAT(error->what(), Catch::Contains("cannot be looked at"));
  fs::remove(path);
  fs::rename(moved, path);
  CHECK_FALSE(error_of(ping));
}

TEST_CASE("a write whose file is replaced while it waits is told so, whatever was told before",
          "[sqlite][R15]") {
  const auto told = [](bool cannot_be_looked_at) {
    const TemporaryFolder folder;
    const auto path = folder.path() / "locks.db";
    const auto store = open_with(folder, "");
    SqliteFile writer(path.string());
    const auto ping = [&] { store->ping("holder"); };
    const auto error = error_of_waiting(writer, ping, [&] {
      fs::rename(path, folder.path() / "moved.db");
      if (cannot_be_looked_at) fs::create_symlink(path, path);
    });
    REQUIRE(error);
    return error->errc();
  };
  CHECK(told(true) == Errc::not_applied);
  CHECK(told(false) == Errc::store_replaced);
}
