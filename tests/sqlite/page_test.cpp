#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "stores/sqlite/sqlite_page.h"
#include "support/temporary_folder.h"

using namespace distlock;
using namespace distlock::testing;

// Files beside a database that processes share, whatever others put in their place.

TEST_CASE("a link to another database's page is no page", "[sqlite][R12][R19]") {
  const TemporaryFolder folder;
  const std::string ours = (folder.path() / "ours.db").string();
  const std::string theirs = (folder.path() / "theirs.db").string();
  std::ofstream(ours).close();
  std::ofstream(theirs).close();
  SqlitePage page(theirs, "-bell", "distlock bell 1\n");
  page.make();
  REQUIRE(page.open());
  std::filesystem::create_symlink(page.path(), ours + "-bell");
  SqlitePage linked(ours, "-bell", "distlock bell 1\n");
  CHECK_FALSE(linked.open());
}
