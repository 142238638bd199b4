#include "stores/mongodb/mongo_privileges.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "stores/mongodb/mongo_documents.h"

namespace distlock {
namespace {

using Privileges = std::vector<Privilege>;

// Each element of the array or document that `path` leads to.
void for_each(const bson_t* bson, const char* path,
              const std::function<void(const bson_iter_t&)>& take) {
  const auto found = find(bson, path);
  bson_iter_t element;
  if (!found || !bson_iter_recurse(&*found, &element)) return;
  while (bson_iter_next(&element)) take(element);
}

std::optional<Found> below(const bson_iter_t& iter, const char* path) {
  bson_iter_t inside;
  Found found;
  if (!bson_iter_recurse(&iter, &inside) || !bson_iter_find_descendant(&inside, path, &found))
    return std::nullopt;
  return found;
}

std::string text_below(const bson_iter_t& iter, const char* path) {
  const auto found = below(iter, path);
  return found && BSON_ITER_HOLDS_UTF8(&*found) ? bson_iter_utf8(&*found, nullptr) : "";
}

bool is_true(const bson_t* bson, const char* path) {
  const auto found = find(bson, path);
  return found && bson_iter_as_bool(&*found);
}

// An empty name in a role stands for all databases, or all collections.
bool covers(const bson_iter_t& grant, std::string_view database, const Privilege& privilege) {
  if (below(grant, "resource.anyResource")) return true;
  if (!below(grant, "resource.collection")) return false;
  const std::string its_database = text_below(grant, "resource.db");
  const std::string its_collection = text_below(grant, "resource.collection");
  return (its_database.empty() || its_database == database) &&
         (its_collection.empty() || its_collection == privilege.collection);
}

bool allows(const bson_iter_t& grant, const std::string& action) {
  bson_iter_t actions;
  const auto found = below(grant, "actions");
  if (!found || !bson_iter_recurse(&*found, &actions)) return false;
  while (bson_iter_next(&actions)) {
    const std::string name =
        BSON_ITER_HOLDS_UTF8(&actions) ? bson_iter_utf8(&actions, nullptr) : "";
    if (name == action || name == "anyAction") return true;
  }
  return false;
}

bool granted(const bson_t* status, std::string_view database, const Privilege& privilege) {
  bool found = false;
  for_each(status, "authInfo.authenticatedUserPrivileges", [&](const bson_iter_t& grant) {
    found = found || (covers(grant, database, privilege) && allows(grant, privilege.action));
  });
  return found;
}

Privileges needed_by_find_and_modify(const bson_t* command, const std::string& collection) {
  if (is_true(command, "remove")) return {{"find", collection}, {"remove", collection}};
  Privileges needed{{"find", collection}, {"update", collection}};
  if (is_true(command, "upsert")) needed.push_back({"insert", collection});
  return needed;
}

Privileges needed_by_aggregate(const bson_t* command, const std::string& collection) {
  Privileges needed{{"find", collection}};
  for_each(command, "pipeline", [&](const bson_iter_t& stage) {
    const std::string other = text_below(stage, "$lookup.from");
    if (!other.empty()) needed.push_back({"find", other});
  });
  return needed;
}

}  // namespace

std::vector<Privilege> needed_by(const Bson& command) {
  bson_iter_t first;
  if (!bson_iter_init(&first, command.get()) || !bson_iter_next(&first) ||
      !BSON_ITER_HOLDS_UTF8(&first))
    return {};
  const std::string verb = bson_iter_key(&first);
  const std::string collection = bson_iter_utf8(&first, nullptr);
  if (verb == "findAndModify") return needed_by_find_and_modify(command.get(), collection);
  if (verb == "aggregate") return needed_by_aggregate(command.get(), collection);
  if (verb == "delete") return {{"remove", collection}};
  if (verb == "create") return {{"createCollection", collection}};
  if (verb == "createIndexes") return {{"createIndex", collection}};
  return {{verb, collection}};
}

std::string why_refused(const Bson& command, std::string_view database, const bson_t* status) {
  bool somebody = false;
  for_each(status, "authInfo.authenticatedUsers", [&](const bson_iter_t&) { somebody = true; });
  if (!somebody) return "the server wants a user, and the connection string names none";
  std::string missing;
  for (const Privilege& privilege : needed_by(command)) {
    if (granted(status, database, privilege)) continue;
    missing += (missing.empty() ? "" : " and ") + privilege.action + " on \"" +
               std::string(database) + "." + privilege.collection + '"';
  }
  return missing.empty() ? "" : "the user lacks the privilege " + missing;
}

Bson privileges_command() { return doc({{"connectionStatus", 1}, {"showPrivileges", true}}); }

}  // namespace distlock
