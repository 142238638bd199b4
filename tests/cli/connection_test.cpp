#include "cli/connection.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "distlock/error.h"
#include "distlock/stores.h"
#include "support/faulty_store.h"
#include "support/temporary_folder.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::testing;
using namespace distlock::cli;

namespace {

std::string read_from_a_file(const std::string& content) {
  const TemporaryFolder folder;
  StoreArguments arguments;
  arguments.uri_file = (folder.path() / "uri").string();
  std::ofstream(*arguments.uri_file) << content;
  return connection_of(arguments).text();
}

/// A replica set whose members do not replicate for a while, as after a fail-over.
class StoreWithoutMajority : public FaultyStore {
 public:
  using FaultyStore::FaultyStore;
  Inspection inspect(std::string_view name, Freshness freshness) override {
    if (freshness == Freshness::ordinary) return FaultyStore::inspect(name, freshness);
    throw Error(Errc::not_applied, "no majority confirms a read");
  }
};

}  // namespace

TEST_CASE("a connection string's file may have blanks and a byte order mark around it",
          "[cli][connection]") {
  for (const std::string& content :
       {"sqlite:l.db", "sqlite:l.db\n", "sqlite:l.db  \r\n", "sqlite:l.db\t\nmemory:\n",
        " \tsqlite:l.db", "\xef\xbb\xbfsqlite:l.db\r\n", "\xef\xbb\xbf sqlite:l.db "}) {
    CAPTURE(content);
    CHECK(read_from_a_file(content) == "sqlite:l.db");
  }
  CHECK(read_from_a_file("sqlite:my locks.db \n") == "sqlite:my locks.db");
  CHECK(thrown_by([&] { return read_from_a_file(" \t\r\n"); }) == Errc::invalid_argument);
}

TEST_CASE("a connection string given as its own file is not shown", "[cli][connection]") {
  StoreArguments arguments;
  arguments.uri_file = "mongodb://ann:secret@host/";
  CHECK_THROWS_WITH(connection_of(arguments),
                    Catch::Contains("cannot read") && !Catch::Contains("secret"));
}

TEST_CASE("of a file that holds something else nothing is shown", "[cli][connection]") {
  for (const std::string& content :
       std::vector<std::string>{"s3cret-pass", "s3cret://pass", "SQLite format 3",
                                "mongodb_password=s3cret", "sqlite:" + std::string(70'000, 'x')}) {
    CHECK_THROWS_WITH(read_from_a_file(content),
                      Catch::Contains("uri\": its first line") && !Catch::Contains(content));
  }
}

TEST_CASE("commands that only look make no SQLite file", "[cli][connection]") {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "l.db").string();
  CHECK_THROWS_WITH(check_is_there(ConnectionString("sqlite:" + file)),
                    Catch::Contains("there is no file"));
  std::ofstream(file) << "something";
  CHECK_NOTHROW(check_is_there(ConnectionString("sqlite:" + file)));
  CHECK_NOTHROW(check_is_there(ConnectionString("memory:")));
  // Why it cannot be looked at is for the store to say.
  CHECK_NOTHROW(check_is_there(ConnectionString("sqlite:" + file + "/l.db")));
}

TEST_CASE("the default folder is made, for this user alone, and no other is", "[cli][connection]") {
  const TemporaryFolder folder;
  const auto state = folder.path() / "a" / "state";
  StoreArguments store;
  store.fallback = "sqlite:" + (state / "distlock" / "locks.db").string();
  SECTION("another place is named") {
    store.uri = "sqlite:l.db";
    make_default_folder(store);
    CHECK_FALSE(std::filesystem::exists(state));
  }
  SECTION("none is named") {
    const mode_t before = umask(GENERATE(mode_t{0}, mode_t{0277}));
    make_default_folder(store);
    umask(before);
    for (const auto& made : {state / "distlock", state, state.parent_path()}) {
      CHECK((std::filesystem::status(made).permissions() & std::filesystem::perms::all) ==
            std::filesystem::perms::owner_all);
    }
    CHECK_NOTHROW(make_default_folder(store));
  }
  SECTION("it cannot be made") {
    store.fallback = "sqlite:/proc/distlock/locks.db";
    CHECK_THROWS_WITH(
        make_default_folder(store),
        Catch::Contains("cannot make the folder \"/proc/distlock\"") && Catch::Contains("--uri"));
  }
}

TEST_CASE("a default folder that cannot be made is an error of the kind that a file's is",
          "[cli][connection][R15]") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "file").put('x');
  const auto kind_in = [](const std::filesystem::path& place) {
    StoreArguments store;
    store.fallback = "sqlite:" + (place / "distlock" / "locks.db").string();
    return thrown_by([&] { make_default_folder(store); });
  };
  CHECK(kind_in(folder.path() / "file") == Errc::invalid_argument);
  CHECK(kind_in(folder.path() / std::string(300, 'x')) == Errc::invalid_argument);
  CHECK(kind_in("/proc") == Errc::not_applied);
}

TEST_CASE("a command is not run under a lock that excludes nobody", "[cli][connection][R1]") {
  CHECK_THROWS_WITH(check_excludes(ConnectionString("memory:")), Catch::Contains("sqlite:PATH"));
  CHECK_NOTHROW(check_excludes(ConnectionString("sqlite:locks.db")));
  CHECK_NOTHROW(check_excludes(ConnectionString("mongodb://db1")));
}

TEST_CASE("commands that only look need a majority of a mirrored store's files",
          "[cli][connection][M2]") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  const ConnectionString connection("mirrored+sqlite:" + path + "/a," + path + "/b," + path + "/c");
  std::ofstream(path + "/b").put('x');
  CHECK_THROWS_WITH(check_is_there(connection), Catch::Contains("/a"));
  std::ofstream(path + "/c").put('x');
  CHECK_NOTHROW(check_is_there(connection));
}

TEST_CASE("a mirrored store is on MongoDB where its members are", "[cli][connection]") {
  CHECK(is_on_mongodb(ConnectionString("mirrored+mongodb://a,b,c")));
  CHECK(is_on_mongodb(ConnectionString("mongodb://a")));
  CHECK_FALSE(is_on_mongodb(ConnectionString("mirrored+sqlite:a,b,c")));
}

TEST_CASE("a member of a mirrored store is not locked alone", "[cli][connection][M1]") {
  const TemporaryFolder folder;
  const std::string in = folder.path().string();
  open_store(ConnectionString("mirrored+sqlite:" + in + "/a," + in + "/b," + in + "/c"))->list();
  const ConnectionString member("sqlite:" + in + "/b");
  const auto store = open_store(member);
  CHECK_THROWS_WITH(check_is_no_member(*store, member),
                    Catch::Contains("/b is member 2 of 3 of a mirrored store") &&
                        Catch::Contains("mirrored+sqlite:A,B,C"));
  const ConnectionString alone("sqlite:" + in + "/d");
  CHECK_NOTHROW(check_is_no_member(*open_store(alone), alone));
  CHECK_NOTHROW(check_is_a_lock("jobs"));
  CHECK(thrown_by([] { check_is_a_lock("distlock: member of a mirrored store"); }) ==
        Errc::invalid_argument);
}

TEST_CASE("a fail-over keeps no command from a store that is no member",
          "[cli][connection][M1][R15]") {
  const ConnectionString connection("memory:");
  StoreWithoutMajority store(make_memory_store());
  CHECK_NOTHROW(check_is_no_member(store, connection));
  CHECK(store.calls("inspect") == 1);
}

TEST_CASE("a file may have a connection string of each kind", "[cli][connection]") {
  for (const std::string text : {"sqlite:l.db", "memory:", "mongodb://db1/", "mongodb+srv://a.b.c/",
                                 "mirrored+sqlite:a,b,c", "mirrored+mongodb://a,b,c/locks"}) {
    CAPTURE(text);
    CHECK(read_from_a_file(text + '\n') == text);
  }
}

TEST_CASE("of two variables that name a store DISTLOCK_URI wins", "[cli][connection]") {
  const TemporaryFolder folder;
  StoreArguments arguments;
  arguments.uri = "sqlite:a.db";
  arguments.uri_file = (folder.path() / "uri").string();
  arguments.fallback = "sqlite:c.db";
  std::ofstream(*arguments.uri_file) << "sqlite:b.db\n";
  CHECK(connection_of(arguments).text() == "sqlite:a.db");
  arguments.uri.reset();
  CHECK(connection_of(arguments).text() == "sqlite:b.db");
}

TEST_CASE("a member of a mirrored store is named without its password", "[cli][connection][M1]") {
  LockRecord identity;
  identity.state = LockState::taken;
  identity.process = "mirrored store 0123456789abcdef01234567";
  identity.who = "member 2 of 3";
  const std::string said =
      member_in_words(identity, ConnectionString("mongodb://ann:secret@cfg2/"));
  CHECK_THAT(said, Catch::StartsWith("mongodb://ann:***@cfg2/ is member 2 of 3") &&
                       Catch::Contains("mirrored+mongodb://A,B,C/DATABASE") &&
                       !Catch::Contains("secret"));
}

TEST_CASE("the default folder is not made where a file names another place", "[cli][connection]") {
  const TemporaryFolder folder;
  StoreArguments store;
  store.uri_file = (folder.path() / "uri").string();
  store.fallback = "sqlite:" + (folder.path() / "state" / "locks.db").string();
  make_default_folder(store);
  CHECK_FALSE(std::filesystem::exists(folder.path() / "state"));
  // Nor is it needed.
  store.fallback = "sqlite:/proc/distlock/locks.db";
  CHECK_NOTHROW(make_default_folder(store));
}

TEST_CASE("a default folder that is there by the time it is made is no error",
          "[cli][connection]") {
  const TemporaryFolder folder;
  // To a look it is not there, and to mkdir() it is, as where another run is quicker.
  std::filesystem::create_symlink(folder.path() / "nowhere", folder.path() / "state");
  StoreArguments store;
  store.fallback = "sqlite:" + (folder.path() / "state" / "locks.db").string();
  CHECK_NOTHROW(make_default_folder(store));
}
