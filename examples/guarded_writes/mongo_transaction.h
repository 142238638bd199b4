#pragma once

#include <mongoc/mongoc.h>

#include <functional>

#include "distlock/record.h"
#include "stamp.h"

namespace guarded {

/// The arguments of an operation of a transaction. `reply` and `error` are the driver's to fill.
struct Operation {
  mongoc_client_session_t* session;
  bson_t* reply;
  bson_error_t* error;
};

/// Locks and data on one replica set, the locks in a database of one's own (`mongodb://…/app`):
/// MongoDB refuses transactions on `config`.
///
/// Runs `change` in a transaction whose first act is to write to the lock's document, if that still
/// carries `hold`. A takeover writes to it too: the two conflict, and the one that comes second
/// waits or finds that the other was there.
///
/// `change` passes the session to each of its operations and gives what the last one gave: false
/// for failed. It runs again after a conflict; what it did before was undone.
///
/// A holder that is stopped inside of it keeps the lock from being taken over until the server ends
/// the transaction (`transactionLifetimeLimitSeconds`, 60 s): keep it short.
///
/// Errors: distlock::Error, `outcome_unknown` if a commit was not answered, else `not_applied`.
Outcome change_if_held(mongoc_client_t* client, mongoc_collection_t* locks,
                       const distlock::LockRecord& hold,
                       const std::function<bool(const Operation&)>& change);

}  // namespace guarded
