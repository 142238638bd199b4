#include "cli/secrets.h"

#include <sys/stat.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "support/temporary_folder.h"

using namespace distlock;
using namespace distlock::cli;
using namespace distlock::testing;

namespace {

/// The warning of a file with a password that has this mode. `uri` comes before the file.
std::string said_of(const std::filesystem::path& file, const std::filesystem::path& named,
                    mode_t mode, const std::optional<std::string>& uri = {}) {
  std::ofstream(file) << "mongodb://ann:secret@db1/";
  REQUIRE(chmod(file.c_str(), mode) == 0);
  StoreArguments arguments;
  arguments.uri = uri;
  arguments.uri_file = named.string();
  std::ostringstream err;
  warn_of_readers(ConnectionString("mongodb://ann:secret@db1/"), arguments, err);
  return err.str();
}

}  // namespace

TEST_CASE("a link to a file with a password is as open as the file", "[cli][connection]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "uri";
  const auto link = folder.path() / "link";
  std::filesystem::create_symlink(file, link);
  CHECK(said_of(file, link, 0640).empty());
  CHECK_THAT(said_of(file, link, 0644), Catch::Contains("link has a password and is open"));
  CHECK_THAT(said_of(file, link, 0602), Catch::Contains("link has a password and is open"));
}

TEST_CASE("a file with a password that is not read is not warned of", "[cli][connection]") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "uri";
  CHECK(said_of(file, file, 0644, "mongodb://ann:secret@db1/").empty());
  CHECK_FALSE(said_of(file, file, 0644).empty());
}

TEST_CASE("a command inherits its connection string unless that has a secret",
          "[cli][connection]") {
  const auto [uri, inherited] = GENERATE(table<std::string, std::string>({
      {"", ""},
      {"sqlite:/tmp/a.db", "sqlite:/tmp/a.db"},
      {"/var/lib/x.db", "/var/lib/x.db"},
      {"mongodb://ann:secret@db1/", "mongodb://ann:***@db1/"},
      {"mongodb:/ann:secret", "mongodb:***"},
      {"MongoDB:/ann:secret", "mongodb:***"},
      {"mongo://ann:secret", "mongodb:***"},
      {"ann:secret@db1", "mongodb:***"},
  }));
  REQUIRE(setenv("DISTLOCK_URI", uri.c_str(), 1) == 0);
  hide_secret_in_environment();
  CHECK(std::string(getenv("DISTLOCK_URI")) == inherited);
  unsetenv("DISTLOCK_URI");
}

TEST_CASE("the words of a process list have no password, whatever the case of a scheme",
          "[cli][connection]") {
  for (const std::string word :
       {"mongodb://ann:secret@db1/", "MONGODB://ann:secret@db1/",
        "--uri=MongoDB+SRV://ann:secret@d", "mongo://ann:secret@db1/",
        "mongodb+srv://ann:secret@a.b.c,mongodb://db1/", "MIRRORED+MONGODB://ann:secret@a,b,c/"}) {
    CAPTURE(word);
    std::string tool = "distlock";
    std::string text = word;
    std::array<char*, 3> words{tool.data(), text.data(), nullptr};
    hide_secrets(2, words.data());
    CHECK_THAT(text, !Catch::Contains("secret"));
  }
}

TEST_CASE("a password is hidden behind words that have none", "[cli][connection]") {
  std::string tool = "distlock";
  std::string plain = "sqlite:/tmp/a.db";
  std::string text = "mongodb://ann:secret@db1/";
  std::array<char*, 5> words{tool.data(), plain.data(), plain.data(), text.data(), nullptr};
  hide_secrets(4, words.data());
  CHECK_THAT(text, !Catch::Contains("secret"));
  CHECK(plain == "sqlite:/tmp/a.db");
}

TEST_CASE("a command inherits no password, also where a variable is there twice",
          "[cli][connection][R14]") {
  std::string first = "DISTLOCK_URI=mongodb://ann:secret@db1/";
  std::string other = "HOME=/";
  std::string second = "DISTLOCK_URI=mongodb://bob:secret@db2/";
  std::array<char*, 4> variables{first.data(), other.data(), second.data(), nullptr};
  char** const before = std::exchange(environ, variables.data());
  hide_secret_in_environment();
  std::vector<std::string> inherited;
  for (char** variable = environ; *variable != nullptr; ++variable)
    inherited.emplace_back(*variable);
  environ = before;
  CHECK(inherited == std::vector<std::string>{"HOME=/", "DISTLOCK_URI=mongodb://ann:***@db1/"});
  for (const std::string& memory : {first, second}) CHECK_THAT(memory, !Catch::Contains("secret"));
}

TEST_CASE("a connection string whose secret was hidden from a command is not used",
          "[cli][connection][R14]") {
  for (const char* const hidden :
       {"mongodb://ann:***@db1/", "mongodb://db1/?tlsCertificateKeyFilePassword=***"}) {
    CAPTURE(hidden);
    CHECK_THROWS_WITH(check_has_its_secrets(ConnectionString(hidden)),
                      Catch::Contains("is hidden") && Catch::Contains("--uri-file"));
  }
  CHECK_NOTHROW(check_has_its_secrets(ConnectionString("mongodb://ann:secret@db1/")));
  CHECK_NOTHROW(check_has_its_secrets(ConnectionString("sqlite:/tmp/=***.db")));
}

TEST_CASE("the memory that a program is given its variables in keeps no secret of them",
          "[cli][connection][R14]") {
  std::string variable = "DISTLOCK_URI=mongodb://ann:secret@db1/";
  REQUIRE(putenv(variable.data()) == 0);
  hide_secret_in_environment();
  CHECK_THAT(variable, Catch::StartsWith("DISTLOCK_URI=***") && !Catch::Contains("secret"));
  unsetenv("DISTLOCK_URI");
}

TEST_CASE("the stars for a short password stay within its word", "[cli][connection][R14]") {
  std::string tool = "distlock";
  const std::string uri = "mongodb://ann:x@db1/";
  std::string memory = uri + '\0' + "list";
  char* const next = memory.data() + uri.size() + 1;
  std::array<char*, 4> words{tool.data(), memory.data(), next, nullptr};
  hide_secrets(3, words.data());
  CHECK(std::string(next) == "list");
  CHECK_THAT(memory, !Catch::Contains(":x@"));
}

TEST_CASE("a command inherits no password of a mirrored store", "[cli][connection][R14]") {
  REQUIRE(setenv("DISTLOCK_URI", "mirrored+mongodb://ann:secret@a,b,c/", 1) == 0);
  hide_secret_in_environment();
  CHECK(std::string(getenv("DISTLOCK_URI")) == "mirrored+mongodb://ann:***@a,b,c/");
  unsetenv("DISTLOCK_URI");
  StoreArguments arguments;
  arguments.uri_on_command_line = true;
  std::ostringstream err;
  warn_of_readers(ConnectionString("mirrored+mongodb://ann:secret@a,b,c/"), arguments, err);
  CHECK_THAT(err.str(), Catch::Contains("a password on the command line"));
}
