#include "stores/mongodb/mongo_selection.h"

#include "distlock/clock.h"
#include "stores/mongodb/mongo_forks.h"
#include "stores/nap.h"

namespace distlock {
namespace {

// Looks follow each other for so long, and have pauses of that length in between afterwards.
constexpr std::chrono::milliseconds kPause{25};

}  // namespace

ServerDescription select_server(mongoc_client_t* client, std::chrono::milliseconds most,
                                bson_error_t& error) {
  const SteadyTime begun = host_clock()->steady_now();
  while (true) {
    ServerDescription server(mongoc_client_select_server(client, true, nullptr, &error));
    const bool none_yet = !server && error.domain == MONGOC_ERROR_SERVER_SELECTION;
    const auto waited = host_clock()->steady_now() - begun;
    if (!none_yet || waited >= most) return server;
    const WaitInMongoc fork_now;
    if (waited >= kPause) nap(kPause);
  }
}

}  // namespace distlock
