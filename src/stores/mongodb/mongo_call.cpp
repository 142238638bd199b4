#include "stores/mongodb/mongo_call.h"

#include <array>

#include "stores/mongodb/mongo_documents.h"
#include "stores/mongodb/mongo_privileges.h"
#include "text.h"

namespace distlock {
namespace {

// A reply that libmongoc fills in whatever happens.
struct Reply {
  bson_t bson;

  Reply() : bson() {}
  ~Reply() { bson_destroy(&bson); }
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;
};

std::string type_of(const ServerDescription& server) {
  return mongoc_server_description_type(server.get());
}

std::string address_of(const ServerDescription& server) {
  return mongoc_server_description_host(server.get())->host_and_port;
}

Bson pinned_to(const ServerDescription& server) {
  return doc({{"serverId", static_cast<std::int32_t>(mongoc_server_description_id(server.get()))}});
}

// One for all commands of a list. The driver would give each its own, and the server refuses a
// getMore in another session than the cursor's.
Session session_of(mongoc_client_t* client) {
  mongoc_session_opt_t* options = mongoc_session_opts_new();
  // Else it would name a time to read after, which a linearizable read may not.
  mongoc_session_opts_set_causal_consistency(options, false);
  // Null where the server knows no sessions, and then it asks for none.
  Session session(mongoc_client_start_session(client, options, nullptr));
  mongoc_session_opts_destroy(options);
  return session;
}

// Errors of single documents, of which a delete reports the first here and `ok: 1` all the same.
bool has_document_error(const bson_t* reply, bson_error_t* error) {
  const auto code = find(reply, "writeErrors.0.code");
  if (!code) return false;
  const auto message = find(reply, "writeErrors.0.errmsg");
  bson_set_error(error, MONGOC_ERROR_SERVER, static_cast<std::uint32_t>(bson_iter_as_int64(&*code)),
                 "%s", message ? bson_iter_utf8(&*message, nullptr) : "");
  return true;
}

}  // namespace

std::string clock_of(const bson_t* hello, std::string_view address) {
  const auto process = find(hello, "topologyVersion.processId");
  if (process && BSON_ITER_HOLDS_OID(&*process)) {
    std::array<char, 25> hex{};
    bson_oid_to_string(bson_iter_oid(&*process), hex.data());
    return std::string("mongod:") + hex.data();
  }
  // MongoDB 4.2 does not name its process. A member of a set knows its address, at least.
  const auto me = find(hello, "me");
  const bool knows_itself = me && BSON_ITER_HOLDS_UTF8(&*me);
  return "mongod:" + (knows_itself ? bson_iter_utf8(&*me, nullptr) : std::string(address));
}

MongoCall::MongoCall(mongoc_client_pool_t* pool, const MongoSettings& settings, Doing doing)
    : settings_(settings), doing_(doing), client_(pool) {
  bson_error_t error;
  server_.reset(mongoc_client_select_server(client_.get(), true, nullptr, &error));
  if (!server_) throw_error(error, Effect::reads, what());
  const std::string type = type_of(server_);
  replica_set_ = type == "RSPrimary";
  // A connection to one named member is kept to it when it steps down.
  if (!replica_set_ && type != "Standalone")
    throw Error(Errc::not_applied, what() + ": the server is no primary now (" + type + ")");
  clock_ = clock_of(mongoc_server_description_hello_response(server_.get()), address_of(server_));
}

WriteOutcome MongoCall::write(const Bson& command) const {
  Bson options = pinned_to(server_);
  append(options, "writeConcern",
         doc({{"w", "majority"},
              {"j", true},
              {"wtimeout", std::int64_t{settings_.server_limit.count()}}}));
  Reply reply;
  bson_error_t error;
  const bool answered_well = mongoc_client_write_command_with_opts(
      client_.get(), settings_.database.c_str(), with_limit(command).get(), options.get(),
      &reply.bson, &error);
  if (answered_well && !has_document_error(&reply.bson, &error)) return {Bson(&reply.bson), false};
  if (is_duplicate_key(error)) return {Bson(), true};
  fail(error, Effect::writes, command);
}

Bson MongoCall::read(const Bson& command, ReadConcern concern) const {
  return read(command, concern, pinned_to(server_));
}

Bson MongoCall::read(const Bson& command, ReadConcern concern, const Bson& pinned) const {
  Bson options(pinned.get());
  // Local is what a primary does by itself.
  if (concern == ReadConcern::majority)
    append(options, "readConcern", doc({{"level", MONGOC_READ_CONCERN_LEVEL_MAJORITY}}));
  if (concern == ReadConcern::linearizable)
    append(options, "readConcern", doc({{"level", MONGOC_READ_CONCERN_LEVEL_LINEARIZABLE}}));
  Reply reply;
  bson_error_t error;
  if (!mongoc_client_read_command_with_opts(client_.get(), settings_.database.c_str(),
                                            with_limit(command).get(), nullptr, options.get(),
                                            &reply.bson, &error))
    fail(error, Effect::reads, command);
  return Bson(&reply.bson);
}

void MongoCall::read_each(const Bson& command, ReadConcern concern,
                          const std::function<void(const Document&)>& take) const {
  const Session session = session_of(client_.get());
  Bson options = pinned_to(server_);
  if (session) mongoc_client_session_append(session.get(), options.get(), nullptr);
  const Bson first = read(command, concern, options);
  // The cursor takes over what is inside the reply.
  bson_t reply;
  bson_copy_to(first.get(), &reply);
  const Cursor cursor(
      mongoc_cursor_new_from_command_reply_with_opts(client_.get(), &reply, options.get()));
  const bson_t* document = nullptr;
  while (mongoc_cursor_next(cursor.get(), &document)) take(document_from(document));
  bson_error_t error;
  if (mongoc_cursor_error(cursor.get(), &error)) throw_error(error, Effect::reads, what());
}

// What the server says repeats the command, cut off, and names no privilege.
void MongoCall::fail(const bson_error_t& error, Effect effect, const Bson& command) const {
  if (is_unauthorized(error)) {
    const std::string why = why_refused(command);
    if (!why.empty()) throw Error(errc_of(error, effect), what() + ": " + why);
  }
  throw_error(error, effect, what());
}

std::string MongoCall::why_refused(const Bson& command) const {
  Reply reply;
  bson_error_t error;
  if (!mongoc_client_read_command_with_opts(client_.get(), "admin", privileges_command().get(),
                                            nullptr, pinned_to(server_).get(), &reply.bson, &error))
    return "";
  return distlock::why_refused(command, settings_.database, &reply.bson);
}

std::string MongoCall::what() const {
  std::string text =
      std::string(doing_.verb) + (doing_.object.empty() ? "" : " " + quoted(doing_.object));
  return server_ ? text + " on " + address_of(server_) : text;
}

Bson MongoCall::with_limit(const Bson& command) const {
  Bson limited(command.get());
  append(limited, "maxTimeMS", std::int64_t{settings_.server_limit.count()});
  return limited;
}

}  // namespace distlock
