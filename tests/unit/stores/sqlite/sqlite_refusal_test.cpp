// Files that are no store, or not yet.
#include "unit/stores/sqlite/sqlite_refusal.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "contract/contract.h"
#include "stores/sqlite/sqlite_errors.h"
#include "support/sqlite_file.h"
#include "support/temporary_folder.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

TEST_CASE("an empty file becomes a store", "[sqlite]") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "locks.db").close();
  CHECK_NOTHROW(held(*open_file(folder.path() / "locks.db"), "jobs"));
}

TEST_CASE("a file that is no database of ours is refused and left alone", "[sqlite]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "locks.db";
  std::string hint;
  SECTION("no database") {
    std::ofstream(path) << std::string(5000, 'x');
    hint = "no SQLite database";
  }
  SECTION("another program's") {
    std::ofstream(path).close();
    SqliteFile(path.string()).execute("CREATE TABLE theirs(a)");
    hint = "another program's";
  }
  SECTION("another program's, marked") {
    std::ofstream(path).close();
    SqliteFile(path.string()).execute("PRAGMA application_id = 7; CREATE TABLE theirs(a)");
    hint = "another program's";
  }
  SECTION("another program's, marked, with nothing in it yet") {
    std::ofstream(path).close();
    SqliteFile(path.string()).execute("PRAGMA application_id = 7");
    hint = "another program's";
  }
  SECTION("of a newer version") {
    open_file(path);
    SqliteFile(path.string()).execute("PRAGMA user_version = 2");
    hint = "version 2";
  }
  const auto size = std::filesystem::file_size(path);
  const auto [code, message] = refusal_of(path);
  CHECK(code == Errc::bad_record);
  CHECK_THAT(message, Catch::Contains(hint));
  CHECK(std::filesystem::file_size(path) == size);
}

TEST_CASE("a table of clocks that cannot be one is refused", "[sqlite][R4]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "locks.db";
  open_file(path);
  std::string hint;
  SECTION("a text for a number") {
    SqliteFile(path.string()).execute("UPDATE clocks SET epoch = 'noon'");
    hint = "no integer";
  }
  SECTION("a number that is no date of a clock") {
    const std::string number = GENERATE(as<std::string>{}, "9223372036854775807",
                                        "-9223372036854775808", "253402300800000");
    SqliteFile(path.string()).execute("UPDATE clocks SET epoch = " + number);
    hint = "no date";
  }
  SECTION("nothing stays in it") {
    SqliteFile(path.string())
        .execute(
            "DELETE FROM clocks; CREATE TRIGGER t AFTER INSERT ON clocks BEGIN "
            "DELETE FROM clocks; END");
    hint = "does not keep";
  }
  const auto [code, message] = refusal_of(path);
  CHECK(code == Errc::bad_record);
  CHECK_THAT(message, Catch::Contains(hint));
}

TEST_CASE("a file of ours that lacks a table is an error", "[sqlite]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "locks.db";
  open_file(path);
  SqliteFile(path.string()).execute("DROP TABLE lockpings");
  const auto [code, message] = refusal_of(path);
  CHECK(code == Errc::not_applied);
  CHECK_THAT(message, Catch::Contains("no such table"));
}

TEST_CASE("a new file that somebody is reading becomes a store once that ends", "[sqlite]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "locks.db";
  std::ofstream(path).close();
  {
    SqliteFile reader(path.string());
    reader.execute("PRAGMA user_version = 0; BEGIN; SELECT * FROM sqlite_schema");
    const auto hasty = [&] {
      open_store(ConnectionString("sqlite:" + path.string()), {.call_limit = 40ms});
    };
    CHECK(failure_of(path.string(), hasty).first == Errc::not_applied);
  }
  CHECK_NOTHROW(open_file(path));
}

TEST_CASE("a folder that is not there is named, and not made", "[sqlite]") {
  const TemporaryFolder folder;
  const auto absent = folder.path() / "a" / "b";
  const auto [code, message] = refusal_of(absent / "locks.db");
  CHECK(code == Errc::invalid_argument);
  CHECK_THAT(message, Catch::Contains("there is no folder \"" + absent.string() + "\""));
  CHECK_FALSE(std::filesystem::exists(absent.parent_path()));
}

TEST_CASE("a relative path is refused where the working folder is gone", "[sqlite]") {
  const std::string path =
      GENERATE("sqlite:locks.db", "mirrored+sqlite:locks.db,locks.db2,locks.db3");
  const auto before = std::filesystem::current_path();
  {
    const TemporaryFolder folder;
    std::filesystem::current_path(folder.path());
  }
  const auto [code, message] = failure_of("locks.db", [&] { open_store(ConnectionString(path)); });
  std::filesystem::current_path(before);
  CHECK(code == Errc::invalid_argument);
  CHECK_THAT(message, Catch::Contains("the working folder is gone"));
}

TEST_CASE("a path that can be no file's is refused", "[sqlite]") {
  const TemporaryFolder folder;
  CHECK(refusal_of(folder.path() / "new" / "").first == Errc::invalid_argument);
  CHECK(refusal_of("/dev/null/locks.db").first == Errc::invalid_argument);
  CHECK(refusal_of(folder.path() / std::string(255, 'x')).first == Errc::invalid_argument);
  CHECK(refusal_of(folder.path() / std::string(5000, 'x')).first == Errc::invalid_argument);
  std::filesystem::path deep = folder.path();
  for (int i = 0; i < 4; ++i) deep /= std::string(100, 'x');
  std::filesystem::create_directories(deep);
  const std::size_t room = 504 - deep.native().size() - 1;
  CHECK_NOTHROW(open_file(deep / std::string(room, 'y')));
  CHECK(refusal_of(deep / std::string(room + 1, 'z')).first == Errc::invalid_argument);
  CHECK_FALSE(std::filesystem::exists(deep / std::string(room + 1, 'z')));
  std::filesystem::create_symlink("circle", folder.path() / "circle");
  CHECK(refusal_of(folder.path() / "circle").first == Errc::invalid_argument);
}

TEST_CASE("a ts in other digits than ours is no ts, since no claim would find it",
          "[sqlite][R14]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "locks.db";
  const auto store = open_file(path);
  held(*store, "jobs");
  SqliteFile(path.string()).execute("UPDATE locks SET ts = 'ABCDEFabcdef0123456789ab'");
  CHECK(failure_of("jobs", [&] { store->inspect("jobs", Freshness::fresh); }).first ==
        Errc::bad_record);
}

TEST_CASE("a folder is no file", "[sqlite]") {
  const TemporaryFolder folder;
  CHECK(refusal_of(folder.path()).first == Errc::invalid_argument);
}

TEST_CASE("a handle to look is told of a path that can be no file's as any other", "[sqlite]") {
  const TemporaryFolder folder;
  const auto refusal_of_look = [](const std::string& path) {
    return failure_of(path, [&] {
      open_store(ConnectionString("sqlite:" + path), {.opening = OpeningRule::to_look});
    });
  };
  CHECK(refusal_of_look("/dev/null/locks.db").first == Errc::invalid_argument);
  const auto [code, message] = refusal_of_look((folder.path() / "locks.db").string());
  CHECK(code == Errc::not_applied);
  CHECK_THAT(message, Catch::Contains("there is no file"));
}

TEST_CASE("the epoch of a clock may be any date from before 1970 to the year 9999",
          "[sqlite][R4]") {
  const std::string epoch =
      GENERATE(as<std::string>{}, "-1", "-253402300799999", "0", "253402300799999");
  CAPTURE(epoch);
  const TemporaryFolder folder;
  const auto path = folder.path() / "locks.db";
  open_file(path);
  SqliteFile(path.string()).execute("UPDATE clocks SET epoch = " + epoch);
  CHECK_NOTHROW(open_file(path));
}

TEST_CASE("a statement that SQLite cannot carry out has changed nothing", "[sqlite][R8]") {
  for (const int code : {SQLITE_ERROR, SQLITE_LOCKED, SQLITE_SCHEMA, SQLITE_TOOBIG, SQLITE_PROTOCOL,
                         SQLITE_CONSTRAINT_UNIQUE}) {
    CAPTURE(code);
    CHECK(errc_of(code, Effect::writes, 0) == Errc::not_applied);
  }
}
