#include "stores/mongodb/mongo_call.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "stores/mongodb/mongo_documents.h"
#include "stores/mongodb/mongo_options.h"
#include "stores/mongodb/mongo_privileges.h"
#include "stores/mongodb/mongo_selection.h"
#include "stores/mongodb/mongo_stream.h"
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

// Of an index that an operator made it would come again and again. Which one it was is in the
// reply.
bool is_of_other_index(const bson_t* reply) {
  return find(reply, "keyPattern") && !find(reply, "keyPattern._id");
}

// Errors of single documents, of which a delete reports the first here and `ok: 1` all the same.
bool has_document_error(const bson_t* reply, bson_error_t* error) {
  if (!find(reply, "writeErrors")) return false;
  const auto code = find(reply, "writeErrors.0.code");
  const auto message = find(reply, "writeErrors.0.errmsg");
  bson_set_error(error, MONGOC_ERROR_SERVER,
                 code ? static_cast<std::uint32_t>(bson_iter_as_int64(&*code)) : 0, "%s",
                 message && BSON_ITER_HOLDS_UTF8(&*message) ? bson_iter_utf8(&*message, nullptr)
                                                            : "an error of a document");
  return true;
}

// The cursor of a reply: more is to come under this id, unless it is 0.
struct Batch {
  std::vector<Document> documents;
  std::int64_t cursor = 0;
};

std::optional<Batch> batch_in(const bson_t* reply, const std::string& name) {
  const auto id = find(reply, "cursor.id");
  const auto documents = find(reply, ("cursor." + name).c_str());
  bson_iter_t each;
  if (!id || !BSON_ITER_HOLDS_INT(&*id) || !documents || !BSON_ITER_HOLDS_ARRAY(&*documents) ||
      !bson_iter_recurse(&*documents, &each))
    return std::nullopt;
  Batch batch{{}, bson_iter_as_int64(&*id)};
  while (bson_iter_next(&each)) {
    auto document = document_at(&each);
    if (!document) return std::nullopt;
    batch.documents.push_back(std::move(*document));
  }
  return batch;
}

std::string_view collection_of(const Bson& command) {
  bson_iter_t first;
  const bool named = bson_iter_init(&first, command.get()) && bson_iter_next(&first) &&
                     BSON_ITER_HOLDS_UTF8(&first);
  return named ? bson_iter_utf8(&first, nullptr) : "";
}

// Of the call of this thread.
std::chrono::milliseconds time_left() {
  return std::chrono::ceil<std::chrono::milliseconds>(end_of_answers() -
                                                      host_clock()->steady_now());
}

}  // namespace

std::optional<Document> value_of(const MongoCall& call, const WriteOutcome& outcome) {
  if (outcome.duplicate_key) return std::nullopt;
  const auto value = find(outcome.reply.get(), "value");
  auto document = value ? document_at(&*value) : std::nullopt;
  if (!document && !(value && BSON_ITER_HOLDS_NULL(&*value)))
    call.odd("has no \"value\"", Effect::writes);
  return document;
}

LockRecord granted(const MongoCall& call, const Document& document, const Claim& claim) {
  LockRecord hold = written(document, lock_from);
  if (!hold.taken()) call.odd("shows a free lock with the ts of this claim", Effect::writes);
  if (hold.fence < std::max(claim.fence, claim.fences)) {
    call.odd("shows no fence of this claim", Effect::writes);
  }
  return hold;
}

MongoCall::MongoCall(MongoPool& pool, const MongoSettings& settings, Doing doing, MongoRoom* room)
    : settings_(settings),
      until_(std::min(end_of_answers(), host_clock()->steady_now() + settings.call_limit)),
      doing_(doing),
      place_(room == nullptr ? MongoRoom::Place() : room->enter()),
      client_(pool.client()) {
  bson_error_t error;
  take_why_unsound();
  server_ = select_server(client_.get(), std::min(settings.selection_limit, time_left()), error);
  if (!server_) {
    pool.renew_if_lost(client_, error);
    throw_error(error, Effect::reads, what());
  }
  const std::string type = type_of(server_);
  replica_set_ = type == "RSPrimary";
  const bson_t* hello = mongoc_server_description_hello_response(server_.get());
  if (const auto unfit = why_unfit(type, hello))
    throw Error(Errc::not_applied, what() + ": " + *unfit);
  clock_ = clock_of(hello, address_of(server_));
  if (time_left() <= std::chrono::milliseconds{0})
    throw Error(Errc::not_applied, what() + ": its limit is over before it was sent");
}

// The server may be another one by now than it was at the opening. Nothing: it can serve.
std::optional<std::string> MongoCall::why_unfit(const std::string& type,
                                                const bson_t* hello) const {
  // A connection to one named member is kept to it when it steps down.
  if (!replica_set_ && type != "Standalone") return "the server is no primary now (" + type + ")";
  if (!settings_.set.empty() && set_of(hello) != settings_.set)
    return "the server is no member of the replica set " + in_quotes(settings_.set) +
           " now, as it was at the opening";
  if (!updates_by_pipeline(hello)) return "the server is older than MongoDB 4.2 now";
  return std::nullopt;
}

// The server has an answer ready before its client gives up. It is told a new limit for each
// fortieth of a call that has passed.
std::int64_t MongoCall::server_limit_ms() const {
  const std::int64_t unit = std::max<std::int64_t>(settings_.call_limit.count() / 40, 1);
  const std::int64_t left = (time_left().count() + unit - 1) / unit * unit;
  return std::clamp<std::int64_t>(left * 9 / 10, 1, settings_.server_limit.count());
}

WriteOutcome MongoCall::write(const Bson& command) const {
  return write(command, doc({{"w", "majority"}, {"j", true}, {"wtimeout", server_limit_ms()}}));
}

WriteOutcome MongoCall::write_quickly(const Bson& command) const {
  return write(command, doc({{"w", 1}, {"j", false}}));
}

WriteOutcome MongoCall::write(const Bson& command, Bson concern) const {
  Bson options = pinned_to(server_);
  append(options, "writeConcern", std::move(concern));
  Reply reply;
  bson_error_t error;
  const bool answered_well = mongoc_client_write_command_with_opts(
      client_.get(), settings_.database.c_str(), with_limit(command).get(), options.get(),
      &reply.bson, &error);
  if (!answered_well || has_document_error(&reply.bson, &error)) {
    if (is_duplicate_key(error) && !is_of_other_index(&reply.bson)) return {Bson(), true};
    fail(error, Effect::writes, command);
  }
  check_answered(&reply.bson, Effect::writes);
  return {Bson(&reply.bson), false};
}

Bson MongoCall::read(const Bson& command, ReadConcern concern) const {
  return read(with_limit(command), read_options(server_, concern));
}

Bson MongoCall::read(const Bson& command, const Bson& options) const {
  Reply reply;
  bson_error_t error;
  if (!mongoc_client_read_command_with_opts(client_.get(), settings_.database.c_str(),
                                            command.get(), nullptr, options.get(), &reply.bson,
                                            &error))
    fail(error, Effect::reads, command);
  check_answered(&reply.bson, Effect::reads);
  return Bson(&reply.bson);
}

// With commands of our own and not with libmongoc's cursor, which takes the shape of what it reads
// for granted.
void MongoCall::read_each(const Bson& command, ReadConcern concern,
                          const std::function<void(const Document&)>& take) const {
  const auto [session, first, others] = cursor_options(client_.get(), server_, concern);
  std::vector<Document> documents;
  auto batch = batch_in(read(with_limit(command), first).get(), "firstBatch");
  while (true) {
    if (!batch) odd("has no sound \"cursor\"", Effect::reads);
    std::move(batch->documents.begin(), batch->documents.end(), std::back_inserter(documents));
    if (batch->cursor == 0) break;
    // It may not have a limit of its own: that of the first command counts for all.
    const Bson more = doc({{"getMore", batch->cursor}, {"collection", collection_of(command)}});
    batch = batch_in(read(more, others).get(), "nextBatch");
  }
  std::for_each(documents.begin(), documents.end(), take);
}

bool MongoCall::follow(const Bson& find, std::chrono::milliseconds await,
                       const std::function<bool(const std::vector<Document>&)>& take) const {
  const AnswersUntil stopped(SteadyTime::max());
  const auto [session, first, others] = cursor_options(client_.get(), server_, ReadConcern::local);
  Reply reply;
  bson_error_t error;
  if (!mongoc_client_read_command_with_opts(client_.get(), settings_.database.c_str(), find.get(),
                                            nullptr, first.get(), &reply.bson, &error)) {
    if (is_bad_value(error)) return false;
    fail(error, Effect::reads, find);
  }
  auto batch = batch_in(&reply.bson, "firstBatch");
  while (true) {
    if (!batch) odd("has no sound \"cursor\"", Effect::reads);
    if (!take(batch->documents)) {
      if (batch->cursor != 0) give_up_cursor(find, batch->cursor, others);
      return true;
    }
    if (batch->cursor == 0 || !still_primary()) return true;
    const Bson more = doc({{"getMore", batch->cursor},
                           {"collection", collection_of(find)},
                           {"maxTimeMS", std::int64_t{await.count()}}});
    batch = batch_in(read(more, others).get(), "nextBatch");
  }
}

// A server keeps an idle cursor for ten minutes, and may where this fails.
void MongoCall::give_up_cursor(const Bson& find, std::int64_t cursor, const Bson& options) const {
  try {
    read(doc({{"killCursors", collection_of(find)}, {"cursors", array({cursor})}}), options);
  } catch (const Error&) {
    return;
  }
}

bool MongoCall::still_primary() const {
  bson_error_t error;
  const ServerDescription now = select_server(client_.get(), settings_.selection_limit, error);
  return now &&
         mongoc_server_description_id(now.get()) == mongoc_server_description_id(server_.get());
}

void MongoCall::check_answered(const bson_t* reply, Effect effect) const {
  const auto ok = find(reply, "ok");
  const bool says_so = ok && (BSON_ITER_HOLDS_NUMBER(&*ok) || BSON_ITER_HOLDS_BOOL(&*ok));
  if (!says_so || !bson_iter_as_bool(&*ok)) odd("says neither ok nor an error", effect);
}

void MongoCall::odd(std::string_view lack, Effect effect) const {
  throw Error(effect == Effect::writes ? Errc::outcome_unknown : Errc::not_applied,
              what() + ": the server's answer " + std::string(lack));
}

// The server's message repeats the command, cut off, and names no privilege.
void MongoCall::fail(const bson_error_t& error, Effect effect, const Bson& command) const {
  const std::string_view unsound = take_why_unsound();
  if (!unsound.empty()) odd(unsound, is_of_authentication(error) ? Effect::reads : effect);
  if (is_unauthorized(error)) {
    const std::string why = why_refused(command);
    if (!why.empty()) throw Error(Errc::permission_denied, what() + ": " + why);
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
      std::string(doing_.verb) + (doing_.object.empty() ? "" : " " + in_quotes(doing_.object));
  return server_ ? text + " on " + address_of(server_) : text;
}

Bson MongoCall::with_limit(const Bson& command) const {
  Bson limited(command.get());
  append(limited, "maxTimeMS", server_limit_ms());
  return limited;
}

}  // namespace distlock
