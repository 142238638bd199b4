#pragma once

namespace distlock {

/// On which servers a store may be.
enum class MongoServers {
  any,         ///< A replica set or a standalone server.
  standalone,  ///< A standalone server alone: a member of a mirrored store.
};

/// A mirrored store makes no more calls of a member at once: 16 reads, 16 writes, and the look
/// after a ping (M2).
inline constexpr int kCallsOfMember = 33;

}  // namespace distlock
