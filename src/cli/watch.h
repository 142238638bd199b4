#pragma once

#include <functional>
#include <memory>
#include <stop_token>

#include "cli/arguments.h"
#include "cli/status.h"
#include "cli/streams.h"

namespace distlock::cli {

/// Where a watch looks: a store that may not be there yet, or not any more.
struct WatchedStore {
  std::function<std::shared_ptr<Store>()> open;
  Clock& clock;
  const ConnectionString& connection;
  /// The terminal's size now, which may change. By default it stays as the streams say.
  std::function<TerminalSize()> terminal = {};
};

/// distlock list --watch: the list every second, on a terminal in place, until a stop is requested
/// or nobody reads it any more. A failure is shown, and the call tried again. Off a terminal `err`
/// gets it where the list is JSON or names, once as long as it stays the same. Gives 0. Errors:
/// those of `watched.open` that waiting does not mend, until it has given a store.
int watch_list(const ListArguments& arguments, const WatchedStore& watched, const Streams& streams,
               const std::stop_token& stop = {});

}  // namespace distlock::cli
