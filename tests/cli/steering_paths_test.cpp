// Paths that could steer a terminal, as the command says them.
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "cli/connection.h"
#include "cli/secrets.h"
#include "cli/view_members.h"
#include "distlock/error.h"
#include "support/temporary_folder.h"

using namespace distlock;
using namespace distlock::cli;

namespace {

const std::string kSteeringFile = "\033[2J.db";

void check_path_is_tame(const std::string& said, const std::string& part) {
  CHECK_THAT(said,
             Catch::Contains(part) && Catch::Contains("\\x1b[2J.db") && !Catch::Contains("\033"));
}

template <class Call>
std::string said_of_error(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the file of a connection string cannot steer the terminal by its name",
          "[cli][connection][R14]") {
  const distlock::testing::TemporaryFolder folder;
  StoreArguments arguments;
  arguments.uri_file = (folder.path() / kSteeringFile).string();
  const auto said = [&] { return said_of_error([&] { (void)connection_of(arguments); }); };
  check_path_is_tame(said(), "cannot read a connection string from");
  std::ofstream(*arguments.uri_file) << "something else\n";
  check_path_is_tame(said(), "its first line is no connection string");
  REQUIRE(chmod(arguments.uri_file->c_str(), 0644) == 0);
  std::ostringstream err;
  warn_of_readers(ConnectionString("mongodb://ann:secret@db1/"), arguments, err);
  check_path_is_tame(err.str(), "is open to every user");
}

TEST_CASE("the path of a store cannot steer the terminal", "[cli][connection][R14]") {
  const ConnectionString nowhere("sqlite:/nowhere/" + kSteeringFile);
  check_path_is_tame(said_of_error([&] { check_is_there(nowhere); }), "there is no file");
  StoreArguments arguments;
  arguments.fallback = "sqlite:/proc/" + kSteeringFile + "/locks.db";
  check_path_is_tame(said_of_error([&] { make_default_folder(arguments); }),
                     "cannot make the folder");
  std::vector<MemberState> members(1);
  members.front().description = "sqlite:" + kSteeringFile;
  std::ostringstream out;
  print_members(out, members, false);
  check_path_is_tame(out.str(), "sqlite:");
}
