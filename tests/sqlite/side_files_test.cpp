// Files beside a database: how they come to be, and what becomes of those that lost their content.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "sqlite/system_hooks.h"
#include "sqlite/witness_scene.h"
#include "stores/sqlite/sqlite_bell.h"
#include "stores/sqlite/sqlite_gate.h"
#include "stores/sqlite/sqlite_page.h"
#include "stores/sqlite/sqlite_witness_file.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kSize = 4096;

ino_t number_of(const fs::path& file) {
  struct stat status {};
  return lstat(file.c_str(), &status) == 0 ? status.st_ino : 0;
}

/// As after a power failure: the file system knows of the name and the size, and of no content.
void make_zeros(const fs::path& file, std::size_t size = kSize) {
  std::ofstream(file, std::ios::binary) << std::string(size, '\0');
}

/// The same, of a file that a process may have open.
void lose_content(const fs::path& file) {
  std::fstream(file, std::ios::binary | std::ios::in | std::ios::out) << std::string(kSize, '\0');
}

/// A database that somebody has open, and the page `-bell`.
struct Paged {
  Paged() {
    std::ofstream(database).close();
    std::ofstream(database + "-wal").close();
  }

  TemporaryFolder folder;
  std::string database = (folder.path() / "locks.db").string();
  SqlitePage page{database, "-bell", "distlock bell 1\n"};
};

}  // namespace

TEST_CASE("a file beside the database is on the disk before it has its name",
          "[sqlite][R19][R23]") {
  Paged there;
  const fs::path witness = there.database + "-witness";
  std::vector<ino_t> synced;
  const AtSync note([&](int file) {
    std::string content(kSize, '\0');
    struct stat status {};
    const bool whole = fstat(file, &status) == 0 && pread(file, content.data(), kSize, 0) == kSize;
    if (whole && content.find("distlock") != content.npos) synced.push_back(status.st_ino);
  });
  fs::path named;
  bool synced_before = false;
  const AtNaming look([&] {
    synced_before = std::find(synced.begin(), synced.end(), number_of(named)) != synced.end();
  });
  SECTION("a page") {
    named = there.page.path();
    there.page.make();
  }
  SECTION("the witnesses' file") {
    named = witness;
    SqliteWitnessFile::make(there.database, witness);
  }
  CHECK(synced_before);
}

TEST_CASE("a file beside the database has one name from the beginning, whatever renames there are",
          "[sqlite][R19]") {
  Paged there;
  SqlitePage other(there.database, "-bell", "distlock bell 1\n");
  const NoSuchRename as_on_some;
  bool opened_at_once = false;
  const AtNaming open_it([&] { opened_at_once = other.open(); });
  there.page.make();
  CHECK(opened_at_once);
}

TEST_CASE("a file beside the database is made also where its sync fails", "[sqlite][R19]") {
  Paged there;
  const FailingSyncs failing;
  there.page.make();
  CHECK(there.page.open());
}

TEST_CASE("a page that lost its content in a power failure is made anew", "[sqlite][R19]") {
  Paged there;
  make_zeros(there.page.path());
  REQUIRE_FALSE(there.page.open());
  there.page.make();
  REQUIRE(there.page.open());
  CHECK(std::distance(fs::directory_iterator(there.folder.path()), {}) == 3);
}

TEST_CASE("a bell that lost its content in a power failure rings", "[sqlite][R19]") {
  Paged there;
  make_zeros(there.database + "-bell");
  SqliteBell bell(there.database);
  const Told told;
  const auto listening = bell.listen("waiter", [&](std::string_view) { told.tell('r'); });
  bell.attend("waiter", Token{1}, "jobs");
  bell.ring("jobs", {"waiter"});
  CHECK(told.next() == 'r');
}

TEST_CASE("a gate that lost its content in a power failure lets one in", "[sqlite][R12]") {
  Paged there;
  make_zeros(there.database + "-gate");
  SqliteGate gate(there.database);
  REQUIRE_FALSE(gate.enter(since_boot() + 60s));
  gate.make();
  CHECK(gate.enter(since_boot() + 60s));
}

TEST_CASE("a witnesses' file that lost its content in a power failure is made anew",
          "[sqlite][R23]") {
  const Scene scene;
  open_at(scene.path());
  make_zeros(scene.witness());
  scene.holder()->end();
  CHECK(scene.tried() == 2);
}

TEST_CASE("a witness in a file that lost its content, and was replaced, says nothing",
          "[sqlite][R23][R1]") {
  const Room room;
  SqliteWitness living = room.witness();
  const std::string stated = living.statement_of("me").value_or("");
  REQUIRE_FALSE(stated.empty());
  const ino_t before = number_of(room.file);
  lose_content(room.file);
  CHECK_FALSE(room.witness().has_ended(stated));
  SqliteWitness next = room.witness();
  REQUIRE(next.statement_of("next"));
  CHECK(number_of(room.file) != before);
  CHECK_FALSE(next.has_ended(stated));
  CHECK(living.statement_of("me") == stated);
  // Nor when it has ended: nobody can know then.
  living.give_up("me");
  CHECK_FALSE(next.has_ended(stated));
}

TEST_CASE("of two who replace a file that lost its content both use the first new one",
          "[sqlite][R19][R23]") {
  Paged there;
  make_zeros(there.page.path());
  SqlitePage other(there.database, "-bell", "distlock bell 1\n");
  ino_t first = 0;
  const AtSync meanwhile([&](int) {
    if (first != 0) return;
    other.make();
    first = number_of(other.path());
  });
  there.page.make();
  REQUIRE(other.open());
  REQUIRE(there.page.open());
  CHECK(number_of(there.page.path()) == first);
}

TEST_CASE("a file beside the database that is not of zeros alone is left alone",
          "[sqlite][R12][R19]") {
  Paged there;
  const fs::path file = there.page.path();
  SECTION("of another size") { make_zeros(file, GENERATE(std::size_t{0}, kSize - 1, kSize + 1)); }
  SECTION("with one byte of somebody's") {
    make_zeros(file, kSize - 1);
    std::ofstream(file, std::ios::app) << 'x';
  }
  SECTION("with a second name") {
    make_zeros(file);
    fs::create_hard_link(file, there.folder.path() / "theirs");
  }
  SECTION("a link to such a file") {
    make_zeros(there.folder.path() / "theirs");
    fs::create_symlink(there.folder.path() / "theirs", file);
  }
  const ino_t before = number_of(file);
  there.page.make();
  CHECK(number_of(file) == before);
  CHECK_FALSE(there.page.open());
}

TEST_CASE("a file beside the database that cannot be made leaves nothing behind", "[sqlite][R19]") {
  Paged there;
  // Nobody knows then whose it is to be.
  fs::remove(there.database);
  there.page.make();
  CHECK_FALSE(there.page.open());
  // The log.
  CHECK(std::distance(fs::directory_iterator(there.folder.path()), {}) == 1);
}
