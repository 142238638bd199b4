#include "cli/role.h"

#include <nlohmann/json.hpp>
#include <ostream>

namespace distlock::cli {
namespace {

using Json = nlohmann::ordered_json;

Json privilege(const RoleArguments& role, const char* collection, const Json& actions) {
  return {{"resource", {{"db", role.database}, {"collection", collection}}},
          {"actions", role.read_only ? Json::array({"find"}) : actions}};
}

}  // namespace

void print_role(std::ostream& out, const RoleArguments& arguments) {
  // createIndex is for speed alone: without it everything works.
  const Json locks = Json::array({"find", "insert", "update", "createIndex"});
  const Json pings = Json::array({"find", "insert", "update", "remove", "createIndex"});
  // Without these waiters are woken later, by their own looks.
  const Json bells = Json::array({"find", "insert", "createCollection", "convertToCapped"});
  Json command;
  command["createRole"] = arguments.name;
  command["privileges"] =
      Json::array({privilege(arguments, "locks", locks), privilege(arguments, "lockpings", pings)});
  if (!arguments.read_only) {
    command["privileges"].push_back(privilege(arguments, "lockbells", bells));
  }
  command["roles"] = Json::array();
  out << command.dump() << '\n';
}

}  // namespace distlock::cli
