#include "stores/mongodb/mongo_bell_commands.h"

#include "stores/mongodb/mongo_claim_parts.h"

namespace distlock {
namespace {

// The name and the type of each field, in their order.
Bson fields_and_types() {
  Bson field = array({"$$f.k", doc({{"$type", "$$f.v"}})});
  return doc({{"$map", doc({{"input", doc({{"$objectToArray", "$$ROOT"}})},
                            {"as", "f"},
                            {"in", std::move(field)}})}});
}

Bson types_of_addressees() {
  Bson is_list = doc({{"$isArray", array({"$to"})}});
  Bson addressees = doc({{"$cond", array({std::move(is_list), "$to", array({})})}});
  return doc(
      {{"$map",
        doc({{"input", std::move(addressees)}, {"as", "p"}, {"in", doc({{"$type", "$$p"}})}})}});
}

// The server puts an `_id` before what ring_command() writes.
Bson is_ring() {
  Bson fields =
      array({array({"_id", "objectId"}), array({"to", "array"}), array({"lock", "string"})});
  Bson texts_alone = doc({{"$setIsSubset", array({types_of_addressees(), array({"string"})})}});
  return doc(
      {{"$and", array({equal(fields_and_types(), std::move(fields)), std::move(texts_alone)})}});
}

}  // namespace

Bson create_bells_command() {
  return doc({{"create", kLockBells}, {"capped", true}, {"size", kLockBellsBytes}});
}

Bson explain_tail_command() {
  return doc({{"explain", doc({{"find", kLockBells}, {"tailable", true}})},
              {"verbosity", "queryPlanner"}});
}

Bson find_other_than_rings_command() {
  Bson no_ring = doc({{"$not", array({is_ring()})}});
  return doc({{"find", kLockBells},
              {"filter", doc({{"$expr", std::move(no_ring)}})},
              {"projection", doc({{"_id", 1}})},
              // That of the collection may take "TO" for "to".
              {"collation", doc({{"locale", "simple"}})},
              {"limit", 1},
              {"singleBatch", true}});
}

Bson cap_bells_command() {
  return doc({{"convertToCapped", kLockBells}, {"size", kLockBellsBytes}});
}

Bson listen_command(std::string_view process) {
  return doc({{"find", kLockBells},
              {"filter", doc({{"to", process}})},
              {"projection", doc({{"lock", 1}})},
              {"tailable", true},
              {"awaitData", true}});
}

Bson ring_command(std::string_view name, const std::vector<std::string>& processes) {
  return doc({{"insert", kLockBells},
              {"documents", array({doc({{"to", array_of(processes)}, {"lock", name}})})}});
}

}  // namespace distlock
