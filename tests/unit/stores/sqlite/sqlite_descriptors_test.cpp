#include <catch2/catch.hpp>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "cli/no_descriptors.h"
#include "distlock/error.h"
#include "stores/sqlite/sqlite_clock.h"
#include "stores/sqlite/sqlite_syncs.h"
#include "support/open_descriptors.h"
#include "support/temporary_folder.h"
#include "support/thrown.h"
#include "unit/stores/sqlite/sqlite_refusal.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

// A process that may open too few files.

TEST_CASE("an opening for which there are no file descriptors says how to mend that",
          "[sqlite][unsanitized]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "locks.db";
  const bool is_there = GENERATE(false, true);
  if (is_there) static_cast<void>(open_file(path));
  std::string message;
  try {
    const cli::NoDescriptors none;
    static_cast<void>(open_file(path));
  } catch (const Error& error) {
    message = error.what();
    CHECK(error.errc() == Errc::not_applied);
  }
  CHECK(message.ends_with("too few file descriptors; raise the limit (ulimit -n)"));
}

TEST_CASE("a write that no descriptor is left to sync says how to mend that",
          "[sqlite][unsanitized][R8]") {
  const TemporaryFolder folder;
  const auto store = open_file(folder.path() / "locks.db");
  std::optional<cli::NoDescriptors> none(std::in_place);
  std::string message;
  try {
    store->ping("ann");
  } catch (const Error& error) {
    message = error.what();
    CHECK(error.errc() == Errc::outcome_unknown);
  }
  none.reset();
  CHECK(message.find("too few file descriptors; raise the limit (ulimit -n)") != message.npos);
  CHECK(message.find("look at the disk") == message.npos);
  CHECK_NOTHROW(store->ping("ann"));
}

TEST_CASE("a sync for which the folder cannot be opened does not count",
          "[sqlite][unsanitized][R8]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "locks.db";
  std::ofstream(path.string() + "-wal") << "a log";
  SqliteSyncs syncs(path.string());
  const auto commit = syncs.committed();
  const bool none_left = GENERATE(true, false);
  std::optional<cli::NoDescriptors> none;
  if (none_left) none.emplace();
  const bool failed = thrown_by([&] { syncs.cover(commit, since_boot() + 9s); }).has_value();
  none.reset();
  CHECK(failed == none_left);
}

TEST_CASE("a log that no descriptor is left to sync is an error of the opening",
          "[sqlite][unsanitized][R8]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "locks.db";
  std::ofstream(path.string() + "-wal") << "a log";
  std::optional<cli::NoDescriptors> none(std::in_place);
  std::string message;
  try {
    const SqliteSyncs syncs(path.string());
  } catch (const Error& error) {
    message = error.what();
    CHECK(error.errc() == Errc::not_applied);
  }
  none.reset();
  CHECK(message.ends_with("too few file descriptors; raise the limit (ulimit -n)"));
}

TEST_CASE("a store that is closed leaves no descriptor open", "[sqlite]") {
  const TemporaryFolder folder;
  const ConnectionString connection("sqlite:" + (folder.path() / "locks.db").string());
  const auto use = [&] { open_store(connection, {.witness = WitnessRule::none})->ping("ann"); };
  use();
  const auto before = open_descriptors();
  use();
  CHECK(open_descriptors() == before);
}

TEST_CASE("a store that is closed leaves no descriptor of its witnesses open", "[sqlite][R23]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "locks.db";
  open_file(path)->ping("first");
  const auto before = open_descriptors();
  open_file(path)->ping("second");
  CHECK(open_descriptors() == before);
}
