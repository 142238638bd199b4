#pragma once

namespace distlock {

/// On which servers a store may be.
enum class MongoServers {
  any,         ///< A replica set or a standalone server.
  standalone,  ///< A standalone server alone.
};

}  // namespace distlock
