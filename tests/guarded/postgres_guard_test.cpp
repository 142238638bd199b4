#include "postgres_guard.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <memory>
#include <stdexcept>

#include "distlock/error.h"
#include "distlock/stores.h"
#include "guarded/stopped_holders.h"
#include "support/temporary_folder.h"

namespace distlock::testing {
namespace {

using guarded::Outcome;
using guarded::Stamp;

std::string server() {
  const char* value = std::getenv("DISTLOCK_POSTGRES");
  if (value == nullptr)
    throw std::runtime_error("DISTLOCK_POSTGRES is not set: run this under tools/with-postgres --");
  return value;
}

/// A server with no resources yet, and a file for the locks.
struct PostgresScene {
  PostgresScene() {
    (void)open_store(ConnectionString(workers().locks));
    execute("SET client_min_messages = error; DROP TABLE IF EXISTS resources");
    guarded::make_resources(connection.get());
  }

  void execute(const char* sql) const { PQclear(PQexec(connection.get(), sql)); }
  Scene workers() const {
    return {POSTGRES_WORKER, "sqlite:" + (folder.path() / "locks.db").string(), server()};
  }
  auto read(const Stamp& stamp) const { return read_value(connection.get(), "r", stamp); }
  Outcome write(const Stamp& stamp, std::int64_t value) const {
    return write_value(connection.get(), "r", stamp, value);
  }

  TemporaryFolder folder;
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection{PQconnectdb(server().c_str()), PQfinish};
};

const Token kOne{{1}};
const Token kTwo{{2}};

TEST_CASE("a row with a fence: a holder stopped beyond its lease is refused, 100 of 100",
          "[guarded][R10]") {
  const PostgresScene scene;
  CHECK(stop_holders(scene.workers(), true, 100).refused == 100);
}

TEST_CASE("a row with a fence: without the guard such a holder corrupts it", "[guarded][R10]") {
  const PostgresScene scene;
  CHECK(stop_holders(scene.workers(), false, 20).corrupted == 20);
}

TEST_CASE("a row with a fence: changes come through in the order of their stamps",
          "[guarded][R10]") {
  const PostgresScene scene;
  CHECK(scene.write({.fence = 5, .ts = kOne, .number = 2}, 10) == Outcome::written);

  SECTION("a repeated write is written once") {
    CHECK(scene.write({.fence = 5, .ts = kOne, .number = 2}, 10) == Outcome::written);
  }
  SECTION("a late request of the same hold undoes nothing") {
    CHECK(scene.write({.fence = 5, .ts = kOne, .number = 1}, 7) == Outcome::refused);
  }
  SECTION("an earlier hold is refused") {
    CHECK(scene.write({.fence = 4, .ts = kTwo, .number = 9}, 7) == Outcome::refused);
    CHECK_FALSE(scene.read({.fence = 4, .ts = kTwo, .number = 9}));
  }
  SECTION("another hold with the same fence is refused") {
    CHECK(scene.write({.fence = 5, .ts = kTwo, .number = 9}, 7) == Outcome::refused);
  }
  CHECK(scene.read({.fence = 5, .ts = kOne, .number = 3}) == 10);
}

TEST_CASE("a row with a fence: a read keeps out all earlier holds", "[guarded][R10]") {
  const PostgresScene scene;
  CHECK(scene.read({.fence = 1, .ts = kOne, .number = 1}) == 0);
  CHECK(scene.read({.fence = 2, .ts = kTwo, .number = 1}) == 0);
  CHECK(scene.write({.fence = 1, .ts = kOne, .number = 2}, 7) == Outcome::refused);
}

TEST_CASE("a row with a fence: a lost connection is made anew and the write repeated",
          "[guarded][R8]") {
  const PostgresScene scene;
  const PostgresScene other;
  scene.write({.fence = 1, .ts = kOne, .number = 1}, 7);
  other.execute(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
      "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'");
  CHECK(scene.write({.fence = 1, .ts = kOne, .number = 2}, 8) == Outcome::written);
  CHECK(scene.read({.fence = 1, .ts = kOne, .number = 3}) == 8);
}

TEST_CASE("a row with a fence: a write is no part of a transaction, which a lost connection ends",
          "[guarded][R8]") {
  const PostgresScene scene;
  scene.execute("BEGIN");
  try {
    scene.write({.fence = 1, .ts = kOne, .number = 1}, 7);
    FAIL("it was written");
  } catch (const Error& error) {
    CHECK(error.errc() == Errc::invalid_argument);
  }
  scene.execute("ROLLBACK");
  CHECK(scene.write({.fence = 1, .ts = kOne, .number = 1}, 7) == Outcome::written);
}

TEST_CASE("a row with a fence: a write that the server rejects is an error and changes nothing",
          "[guarded][R8]") {
  const PostgresScene scene;
  scene.execute("ALTER TABLE resources ADD CHECK (value < 100)");
  try {
    scene.write({.fence = 1, .ts = kOne, .number = 1}, 100);
    FAIL("it was written");
  } catch (const Error& error) {
    CHECK(error.errc() == Errc::not_applied);
  }
  CHECK(scene.read({.fence = 1, .ts = kOne, .number = 1}) == 0);
}

TEST_CASE("a row with a fence: a rejection tells nothing of a try before it that had no answer",
          "[guarded][R8]") {
  const PostgresScene scene;
  const PostgresScene other;
  other.execute("ALTER TABLE resources ADD CHECK (value < 100)");
  other.execute(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
      "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'");
  try {
    scene.write({.fence = 1, .ts = kOne, .number = 1}, 100);
    FAIL("it was written");
  } catch (const Error& error) {
    CHECK(error.errc() == Errc::outcome_unknown);
  }
}

}  // namespace
}  // namespace distlock::testing
