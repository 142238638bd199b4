#include "stores/mongodb/mongo_privileges.h"

#include <catch2/catch.hpp>
#include <string>

#include "stores/mongodb/mongo_bell_commands.h"
#include "stores/mongodb/mongo_commands.h"
#include "stores/mongodb/mongo_line_commands.h"

using namespace distlock;
using namespace std::string_literals;

// The reasons that are told of a refusal by a server (R14).
namespace {

using Privileges = std::vector<Privilege>;

const Privileges kWrite{{"find", "locks"}, {"update", "locks"}};
const Privileges kMake{{"find", "locks"}, {"update", "locks"}, {"insert", "locks"}};

Bson on(const std::string& database, const std::string& collection) {
  return doc({{"db", database}, {"collection", collection}});
}

Bson grant(Bson resource, const std::string& action) {
  return doc({{"resource", std::move(resource)}, {"actions", array({action})}});
}

/// The reason that is told to "ann", a user with these rights alone, where she may leave no line.
std::string told(std::initializer_list<BsonValue> grants) {
  const Bson status =
      doc({{"authInfo", doc({{"authenticatedUsers", array({doc({{"user", "ann"}})})},
                             {"authenticatedUserPrivileges", array(grants)}})}});
  return why_refused(leave_command("jobs", Token{{7}}), "config", status.get());
}

}  // namespace

TEST_CASE("each command needs the privileges of what it reads, writes and makes", "[mongo][R14]") {
  const Claim claim{};
  CHECK(needed_by(claim_command("jobs", FromAbsent{}, claim)) == kMake);
  CHECK(needed_by(claim_command("jobs", FromFree{}, claim)) == kWrite);
  CHECK(needed_by(claim_command("jobs", FromHold{Token{{7}}, {}}, claim)) == kWrite);
  CHECK(needed_by(release_command("jobs", Token{{7}})) == kWrite);
  CHECK(needed_by(stand_command("jobs", claim)) == kMake);
  CHECK(needed_by(ping_command("db7", "mongod:1", {})) ==
        Privileges{{"find", "lockpings"}, {"update", "lockpings"}, {"insert", "lockpings"}});
  CHECK(needed_by(remove_ping_command("db7")) ==
        Privileges{{"find", "lockpings"}, {"remove", "lockpings"}});
  CHECK(needed_by(forget_pings_command({})) == Privileges{{"remove", "lockpings"}});
  CHECK(needed_by(inspect_command("jobs")) == Privileges{{"find", "locks"}, {"find", "lockpings"}});
  CHECK(needed_by(holds_command("db7")) == Privileges{{"find", "locks"}});
  CHECK(needed_by(ring_command("jobs", {"db7"})) == Privileges{{"insert", "lockbells"}});
  CHECK(needed_by(create_bells_command()) == Privileges{{"createCollection", "lockbells"}});
  CHECK(needed_by(find_other_than_rings_command()) == Privileges{{"find", "lockbells"}});
}

TEST_CASE("a refusal names the privileges that the user lacks, and no other", "[mongo][R14]") {
  CHECK(told({}) ==
        R"(the user lacks the privilege find on "config.locks" and update on "config.locks")");
  const std::string update = R"(the user lacks the privilege update on "config.locks")";
  CHECK(told({grant(on("config", "locks"), "find")}) == update);
  CHECK(told({grant(on("", ""), "find"), grant(on("config", "lockpings"), "update")}) == update);
  CHECK(told({grant(on("", "locks"), "anyAction"), grant(on("other", "locks"), "update")}).empty());
  CHECK(told({grant(on("config", ""), "find"), grant(on("other", ""), "update")}) == update);
  CHECK(told({grant(doc({{"anyResource", true}}), "find")}) == update);
  CHECK(told({grant(doc({{"anyResource", true}}), "anyAction")}).empty());
  CHECK(told({grant(doc({{"cluster", true}}), "anyAction"), grant(on("", ""), "find")}) == update);
}

TEST_CASE("a refusal of nobody says that the server wants a user", "[mongo][R14]") {
  const Bson nobody = doc({{"authInfo", doc({{"authenticatedUsers", array({})}})}});
  CHECK_THAT(why_refused(inspect_command("jobs"), "config", nobody.get()),
             Catch::Contains("wants a user"));
}
