#include "stores/mongodb/mongo_options.h"

namespace distlock {
namespace {

// One session for all commands of a list. The driver would give each its own, and the server
// refuses a getMore in another session than the cursor's.
ClientSession session_of(mongoc_client_t* client) {
  mongoc_session_opt_t* options = mongoc_session_opts_new();
  // Else it would name a time to read after, which a linearizable read may not.
  mongoc_session_opts_set_causal_consistency(options, false);
  // Null where the server knows no sessions, and then it asks for none.
  ClientSession session(mongoc_client_start_session(client, options, nullptr));
  mongoc_session_opts_destroy(options);
  return session;
}

}  // namespace

Bson pinned_to(const ServerDescription& server) {
  return doc({{"serverId", static_cast<std::int32_t>(mongoc_server_description_id(server.get()))}});
}

Bson read_options(const ServerDescription& server, ReadConcern concern) {
  Bson options = pinned_to(server);
  // Also of local ones: a server may have been told to read otherwise where none is named.
  const char* level = MONGOC_READ_CONCERN_LEVEL_LOCAL;
  if (concern == ReadConcern::majority) level = MONGOC_READ_CONCERN_LEVEL_MAJORITY;
  if (concern == ReadConcern::linearizable) level = MONGOC_READ_CONCERN_LEVEL_LINEARIZABLE;
  append(options, "readConcern", doc({{"level", level}}));
  return options;
}

CursorOptions cursor_options(mongoc_client_t* client, const ServerDescription& server,
                             ReadConcern concern) {
  CursorOptions options{session_of(client), read_options(server, concern), pinned_to(server)};
  if (!options.session) return options;
  mongoc_client_session_append(options.session.get(), options.first.get(), nullptr);
  mongoc_client_session_append(options.session.get(), options.others.get(), nullptr);
  return options;
}

}  // namespace distlock
