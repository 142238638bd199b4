#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "distlock/record.h"
#include "stamp.h"

namespace faults {

/// The number that clients count up under the lock. It is in the store of the locks.
///
/// Errors: distlock::Error; `outcome_unknown` if the write may have been made.
class Resource {
 public:
  virtual ~Resource() = default;

  /// Nothing: refused.
  virtual std::optional<std::int64_t> read(const distlock::LockRecord& hold) = 0;
  virtual guarded::Outcome write(const distlock::LockRecord& hold, std::int64_t value) = 0;
};

/// `guarded`: by what docs/protect-your-resource.md says. Otherwise nothing keeps late writes out.
std::unique_ptr<Resource> make_sqlite_resource(const std::string& path, const std::string& name,
                                               bool guarded);
std::unique_ptr<Resource> make_mongo_resource(const std::string& uri, const std::string& name,
                                              bool guarded);

}  // namespace faults
