// A descriptor of ours whose number the program gives to other files.
#include "stores/sqlite/own_descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "support/temporary_folder.h"

using namespace distlock;

namespace {

int new_file(const std::filesystem::path& path) {
  const int number = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  REQUIRE(number >= 0);
  return number;
}

}  // namespace

TEST_CASE("a number that was another file's stays the program's when it is of our file again",
          "[sqlite][R16]") {
  const distlock::testing::TemporaryFolder folder;
  const int number = new_file(folder.path() / "ours");
  const int same_file = fcntl(number, F_DUPFD_CLOEXEC, 0);
  const int another_file = new_file(folder.path() / "theirs");
  {
    const OwnDescriptor own(number);
    CHECK(own.is_there());
    REQUIRE(dup2(another_file, number) == number);
    CHECK_FALSE(own.is_there());
    REQUIRE(dup2(same_file, number) == number);
    CHECK_FALSE(own.is_there());
  }
  for (const int left : {number, same_file, another_file}) CHECK(close(left) == 0);
}
