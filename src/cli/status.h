#pragma once

#include "cli/arguments.h"
#include "cli/streams.h"
#include "distlock/clock.h"
#include "distlock/connection_string.h"
#include "distlock/store.h"

namespace distlock::cli {

/// The store that a command looks at, and the clock that it looks by.
struct OpenedStore {
  Store& store;
  Clock& clock;
  const ConnectionString& connection;
};

/// distlock status [NAME]: shows the holder of NAME, or every lock that is held. Gives 0 whether it
/// is held or not, or 65 if a document is malformed.
/// Errors: those of the store.
int status(const StatusArguments& arguments, const OpenedStore& opened, const Streams& streams);

/// distlock list: all locks and pings. Gives 0, or 65 if a document is malformed.
/// Errors: those of the store.
int list(const ListArguments& arguments, const OpenedStore& opened, const Streams& streams);

}  // namespace distlock::cli
