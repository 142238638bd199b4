#pragma once

#include <memory>
#include <string>

#include "distlock/connection_string.h"

namespace distlock::bench {

/// One lock document, claimed and released by the two bare commands and nothing else: no ping, no
/// new token, no look at what came back. The least cost of any lock on this store.
/// Errors of its functions: std::runtime_error.
class BareLock {
 public:
  virtual ~BareLock() = default;
  virtual void claim() = 0;
  virtual void release() = 0;
};

/// Through libmongoc, by two commands that are made once. They have the shape of the library's, in
/// the same database and with the same write concern.
std::unique_ptr<BareLock> bare_mongodb_lock(const ConnectionString& connection,
                                            const std::string& name = "bench.bare");

/// Through SQLite, by two statements that are prepared once, in a file of its own beside that of
/// `connection`, with the same schema, values and durability.
std::unique_ptr<BareLock> bare_sqlite_lock(const ConnectionString& connection,
                                           const std::string& name = "bench.bare");

}  // namespace distlock::bench
