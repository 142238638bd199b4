#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stores/mongodb/mongo_bson.h"

namespace distlock {

/// A right to do something to a collection, as roles grant it.
struct Privilege {
  std::string action;
  std::string collection;

  friend bool operator==(const Privilege&, const Privilege&) = default;
};

/// The privileges that a user needs to send one of our commands.
std::vector<Privilege> needed_by(const Bson& command);

/// Why `command` on `database` was refused to the user whom `status` tells of: the answer to
/// connectionStatus with showPrivileges. Names the missing privileges; empty if none is.
std::string why_refused(const Bson& command, std::string_view database, const bson_t* status);

Bson privileges_command();

}  // namespace distlock
