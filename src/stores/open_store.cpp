#include "distlock/error.h"
#include "distlock/stores.h"
#include "stores/mongo_store.h"

namespace distlock {

std::shared_ptr<Store> open_store(const ConnectionString& connection, const StoreOptions& options) {
  switch (connection.kind()) {
    case StoreKind::memory:
      return make_memory_store(host_clock(), options);
    case StoreKind::mongodb:
      return open_mongo_store(connection, options);
    case StoreKind::sqlite:
      break;  // Comes with the next commits.
  }
  throw Error(Errc::invalid_argument, connection.redacted() + ": no such store yet");
}

}  // namespace distlock
