#include "cli/role.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace distlock::cli;

namespace {

nlohmann::json role(const RoleArguments& arguments) {
  std::ostringstream out;
  print_role(out, arguments);
  return nlohmann::json::parse(out.str());
}

}  // namespace

TEST_CASE("a role is of three collections of one database", "[cli][role]") {
  CHECK(role({.name = "jobs", .database = "a \"b\""}) == nlohmann::json::parse(R"({
    "createRole": "jobs",
    "privileges": [
      {"resource": {"db": "a \"b\"", "collection": "locks"},
       "actions": ["find", "insert", "update", "createIndex"]},
      {"resource": {"db": "a \"b\"", "collection": "lockpings"},
       "actions": ["find", "insert", "update", "remove", "createIndex"]},
      {"resource": {"db": "a \"b\"", "collection": "lockbells"},
       "actions": ["find", "insert", "createCollection", "convertToCapped"]}],
    "roles": []})"));
}

TEST_CASE("a role that only reads may find", "[cli][role]") {
  const nlohmann::json reading = role({.read_only = true});
  CHECK(reading["privileges"].size() == 2);
  for (const auto& privilege : reading["privileges"]) {
    CHECK(privilege["resource"]["db"] == "config");
    CHECK(privilege["actions"] == nlohmann::json::array({"find"}));
  }
}
