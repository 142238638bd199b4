#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "distlock/connection_string.h"
#include "distlock/record.h"

namespace distlock::bench {

/// One lock document and its holder's ping.
struct DocumentPair {
  LockRecord lock;
  PingRecord ping;
};

/// Puts documents into a store's collections from the outside, many at a time.
/// Errors of its functions: std::runtime_error.
class Documents {
 public:
  virtual ~Documents() = default;
  /// Not visible to others before commit().
  virtual void add(const DocumentPair& pair) = 0;
  virtual void commit() = 0;
  /// The commands that the store's server counted, for difference(). Empty without a server.
  virtual std::map<std::string, std::int64_t> commands() = 0;
};

/// Errors: there are documents already. Nothing of anybody's is to be mixed up with these.
std::unique_ptr<Documents> mongodb_documents(const ConnectionString& connection);
std::unique_ptr<Documents> sqlite_documents(const ConnectionString& connection);

}  // namespace distlock::bench
