#include "mongo_document.h"

#include "distlock/error.h"

namespace guarded {
namespace {

constexpr int kAttempts = 3;
constexpr std::uint32_t kDuplicateKey = 11000;

using distlock::Errc;
using distlock::Error;

// bson_t carries an alignment attribute, which a template argument would drop.
class Document {
 public:
  explicit Document(bson_t* owned) : owned_(owned) {}
  ~Document() { bson_destroy(owned_); }
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;
  bson_t* get() const { return owned_; }

 private:
  bson_t* owned_;
};

bson_oid_t object_id(const distlock::Token& token) {
  bson_oid_t id;
  bson_oid_init_from_data(&id, token.bytes.data());
  return id;
}

// Equal stamps match, so that a change may be repeated.
bson_t* not_after(const std::string& id, const Stamp& stamp) {
  const bson_oid_t ts = object_id(stamp.ts);
  // clang-format off
  return BCON_NEW("_id", BCON_UTF8(id.c_str()), "$or", "[",
      "{", "fence", "{", "$lt", BCON_INT64(stamp.fence), "}", "}",
      "{", "fence", BCON_INT64(stamp.fence), "ts", BCON_OID(&ts),
           "number", "{", "$lte", BCON_INT64(stamp.number), "}", "}",
      "{", "fence", "{", "$exists", BCON_BOOL(false), "}", "}", "]");
  // clang-format on
}

bson_t* stamped(const Stamp& stamp, std::optional<std::int64_t> value) {
  const bson_oid_t ts = object_id(stamp.ts);
  bson_t* update = bson_new();
  bson_t set;
  bson_append_document_begin(update, "$set", -1, &set);
  bson_append_int64(&set, "fence", -1, stamp.fence);
  bson_append_oid(&set, "ts", -1, &ts);
  bson_append_int64(&set, "number", -1, stamp.number);
  if (value) bson_append_int64(&set, "value", -1, *value);
  bson_append_document_end(update, &set);
  return update;
}

bool find_and_modify(mongoc_collection_t* resources, const Document& query, const Document& update,
                     bool upsert, bson_t* reply, bson_error_t* error) {
  mongoc_find_and_modify_opts_t* options = mongoc_find_and_modify_opts_new();
  mongoc_find_and_modify_opts_set_update(options, update.get());
  mongoc_find_and_modify_opts_set_flags(options, static_cast<mongoc_find_and_modify_flags_t>(
                                                     MONGOC_FIND_AND_MODIFY_RETURN_NEW |
                                                     (upsert ? MONGOC_FIND_AND_MODIFY_UPSERT : 0)));
  const Document concern(
      BCON_NEW("writeConcern", "{", "w", "majority", "wtimeout", BCON_INT32(5000), "}"));
  mongoc_find_and_modify_opts_append(options, concern.get());
  const bool done =
      mongoc_collection_find_and_modify_with_opts(resources, query.get(), options, reply, error);
  mongoc_find_and_modify_opts_destroy(options);
  return done;
}

// The value of the document after the change, or nothing if no document matched.
std::optional<std::int64_t> changed_value(const bson_t* reply) {
  bson_iter_t top;
  bson_iter_t value;
  if (!bson_iter_init_find(&top, reply, "value") || !BSON_ITER_HOLDS_DOCUMENT(&top)) return {};
  bson_iter_init_find(&top, reply, "value");
  const bool there = bson_iter_recurse(&top, &value) && bson_iter_find(&value, "value");
  return there ? bson_iter_as_int64(&value) : 0;
}

// The document that is there does not match a later stamp, so the upsert tries to insert another:
// error 11000. But that is also the answer if another's first write has only just come between;
// now that there is a document, the change without the upsert decides it.
std::optional<std::int64_t> change(mongoc_collection_t* resources, const std::string& id,
                                   const Stamp& stamp, std::optional<std::int64_t> value) {
  const Document query(not_after(id, stamp));
  const Document update(stamped(stamp, value));
  bool upsert = true;
  int unknown = 0;
  while (true) {
    bson_t reply;
    bson_error_t error{};
    const bool done = find_and_modify(resources, query, update, upsert, &reply, &error);
    const std::optional<std::int64_t> now = done ? changed_value(&reply) : std::nullopt;
    bson_destroy(&reply);
    if (now || (done && unknown == 0)) return now;
    if (done) {
      throw Error(Errc::outcome_unknown, id + ": a later hold was here before this one could ask "
                                              "again whether it had changed it");
    }
    if (error.code == kDuplicateKey && upsert) {
      upsert = false;
    } else if (++unknown == kAttempts) {
      throw Error(Errc::outcome_unknown, id + ": " + error.message);
    }
  }
}

}  // namespace

std::optional<std::int64_t> read_value(mongoc_collection_t* resources, const std::string& id,
                                       const Stamp& stamp) {
  return change(resources, id, stamp, std::nullopt);
}

Outcome write_value(mongoc_collection_t* resources, const std::string& id, const Stamp& stamp,
                    std::int64_t value) {
  return change(resources, id, stamp, value) ? Outcome::written : Outcome::refused;
}

void raise_fence(mongoc_collection_t* locks, const std::string& lock, distlock::Fence floor) {
  const Document query(BCON_NEW("_id", BCON_UTF8(lock.c_str())));
  // clang-format off
  const Document update(BCON_NEW("$max", "{", "fence", BCON_INT64(floor), "}",
      "$setOnInsert", "{", "state", BCON_INT32(0), "who", BCON_UTF8(""), "}"));
  // clang-format on
  bson_t reply;
  bson_error_t error{};
  const bool done = find_and_modify(locks, query, update, true, &reply, &error);
  bson_destroy(&reply);
  if (!done)
    throw Error(Errc::outcome_unknown, "raise the fence of " + lock + ": " + error.message);
}

}  // namespace guarded
