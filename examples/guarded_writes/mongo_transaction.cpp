#include "mongo_transaction.h"

#include <memory>
#include <string>

#include "distlock/error.h"

namespace guarded {
namespace {

using distlock::Errc;
using distlock::Error;
using Change = std::function<bool(const Operation&)>;

struct Work {
  mongoc_collection_t* locks;
  const distlock::LockRecord& hold;
  const Change& change;
  bool refused = false;
};

// $inc and not a $set of what is there already: a write that changes nothing conflicts with nobody.
bool touch_lock(const Work& work, const Operation& operation) {
  bson_oid_t ts;
  bson_oid_init_from_data(&ts, work.hold.ts.value().bytes.data());
  // clang-format off
  bson_t* held = BCON_NEW("_id", BCON_UTF8(work.hold.name.c_str()), "ts", BCON_OID(&ts),
      "state", "{", "$in", "[", BCON_INT32(1), BCON_INT32(2), "]", "}");
  // clang-format on
  bson_t* update = BCON_NEW("$inc", "{", "touched", BCON_INT64(1), "}");
  bson_t* options = bson_new();
  const bool done = mongoc_client_session_append(operation.session, options, operation.error) &&
                    mongoc_collection_update_one(work.locks, held, update, options, operation.reply,
                                                 operation.error);
  bson_destroy(options);
  bson_destroy(update);
  bson_destroy(held);
  return done;
}

bool found_one(const bson_t* reply) {
  bson_iter_t count;
  return bson_iter_init_find(&count, reply, "matchedCount") && bson_iter_as_int64(&count) == 1;
}

// Called by the driver, again after a conflict.
bool run(mongoc_client_session_t* session, void* context, bson_t** reply, bson_error_t* error) {
  Work& work = *static_cast<Work*>(context);
  bson_t made;
  bson_init(&made);
  const Operation operation{.session = session, .reply = &made, .error = error};
  bool done = touch_lock(work, operation);
  work.refused = done && !found_one(&made);
  if (done && !work.refused) {
    bson_destroy(&made);
    bson_init(&made);
    done = work.change(operation);
  }
  *reply = done ? nullptr : bson_copy(&made);  // It says whether to try again.
  bson_destroy(&made);
  return work.refused ? mongoc_client_session_abort_transaction(session, error) : done;
}

using Session = std::unique_ptr<mongoc_client_session_t, decltype(&mongoc_client_session_destroy)>;
using Options =
    std::unique_ptr<mongoc_transaction_opt_t, decltype(&mongoc_transaction_opts_destroy)>;

Options durable() {
  Options options(mongoc_transaction_opts_new(), mongoc_transaction_opts_destroy);
  mongoc_write_concern_t* majority = mongoc_write_concern_new();
  mongoc_write_concern_set_wmajority(majority, 5000);
  mongoc_transaction_opts_set_write_concern(options.get(), majority);
  mongoc_write_concern_destroy(majority);
  return options;
}

}  // namespace

Outcome change_if_held(mongoc_client_t* client, mongoc_collection_t* locks,
                       const distlock::LockRecord& hold, const Change& change) {
  bson_error_t error{};
  const Session session(mongoc_client_start_session(client, nullptr, &error),
                        mongoc_client_session_destroy);
  if (!session) throw Error(Errc::not_applied, std::string("no session: ") + error.message);
  Work work{.locks = locks, .hold = hold, .change = change};
  bson_t reply;
  const bool done = mongoc_client_session_with_transaction(session.get(), run, durable().get(),
                                                           &work, &reply, &error);
  const bool unknown = mongoc_error_has_label(&reply, "UnknownTransactionCommitResult");
  bson_destroy(&reply);
  if (!done) {
    throw Error(unknown ? Errc::outcome_unknown : Errc::not_applied,
                "change under " + hold.name + ": " + error.message);
  }
  return work.refused ? Outcome::refused : Outcome::written;
}

}  // namespace guarded
