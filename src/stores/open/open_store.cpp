#include "call_limit.h"
#include "distlock/error.h"
#include "distlock/stores.h"
#include "enumerator.h"
#include "stores/fork_guarded_store.h"
#include "stores/memory/memory_store.h"
#include "stores/mongodb/mongo_store.h"
#include "stores/open/open_mirrored.h"
#include "stores/sqlite/sqlite_store.h"

// The room src/stores/open/: chooses among the stores, which know nothing of each other.
namespace distlock {

std::shared_ptr<Store> open_store(const ConnectionString& connection, const StoreOptions& options) {
  check_call_limit(options.call_limit);
  check_enumerator("witness", options.witness, WitnessRule::none);
  check_enumerator("opening", options.opening, OpeningRule::to_look);
  switch (connection.kind()) {
    case StoreKind::memory:
      return guarded_against_fork(open_memory_of_process(options), connection.redacted());
    case StoreKind::sqlite:
      return guarded_against_fork(open_sqlite_store(connection, options), connection.redacted());
    case StoreKind::mongodb:
      return guarded_against_fork(open_mongo_store(connection, options), connection.redacted());
    case StoreKind::mirrored:
      return open_mirrored_store(connection, options);
  }
  throw Error(Errc::invalid_argument, connection.redacted() + ": unknown kind of store");
}

}  // namespace distlock
