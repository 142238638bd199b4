#include "distlock/error.h"
#include "mongo_document.h"
#include "resource.h"

namespace faults {
namespace {

using namespace distlock;

template <auto Function>
struct Call {
  template <class Argument>
  void operator()(Argument* argument) const {
    Function(argument);
  }
};
using Client = std::unique_ptr<mongoc_client_t, Call<mongoc_client_destroy>>;
using Collection = std::unique_ptr<mongoc_collection_t, Call<mongoc_collection_destroy>>;
using Cursor = std::unique_ptr<mongoc_cursor_t, Call<mongoc_cursor_destroy>>;

class MongoResource : public Resource {
 public:
  MongoResource(const std::string& uri, std::string name, bool guarded)
      : client_(mongoc_client_new(uri.c_str())), name_(std::move(name)), guarded_(guarded) {
    if (!client_) throw Error(Errc::invalid_argument, "no MongoDB connection string: " + uri);
    mongoc_client_set_error_api(client_.get(), MONGOC_ERROR_API_VERSION_2);
    resources_.reset(mongoc_client_get_collection(client_.get(), "faults", "resources"));
  }

  std::optional<std::int64_t> read(const distlock::LockRecord& hold) override {
    if (!guarded_) return read_bare();
    return guarded::read_value(resources_.get(), name_, stamp(hold));
  }

  guarded::Outcome write(const distlock::LockRecord& hold, std::int64_t value) override {
    if (guarded_) return guarded::write_value(resources_.get(), name_, stamp(hold), value);
    write_bare(value);
    return guarded::Outcome::written;
  }

 private:
  guarded::Stamp stamp(const distlock::LockRecord& hold) {
    if (hold.ts != ts_) number_ = 0;
    ts_ = hold.ts;
    return {.fence = hold.fence, .ts = hold.ts.value(), .number = ++number_};
  }

  // Of the majority, from a primary that was one all the time: nothing else would be to blame.
  std::int64_t read_bare() const {
    bson_t* query = BCON_NEW("_id", BCON_UTF8(name_.c_str()));
    bson_t* options = BCON_NEW("readConcern", "{", "level", "majority", "}");
    const Cursor cursor(
        mongoc_collection_find_with_opts(resources_.get(), query, options, nullptr));
    bson_destroy(query);
    bson_destroy(options);
    const bson_t* found = nullptr;
    bson_error_t error{};
    bson_iter_t value;
    const bool there = mongoc_cursor_next(cursor.get(), &found);
    if (mongoc_cursor_error(cursor.get(), &error)) throw Error(Errc::not_applied, error.message);
    return there && bson_iter_init_find(&value, found, "value") ? bson_iter_as_int64(&value) : 0;
  }

  void write_bare(std::int64_t value) {
    bson_t* query = BCON_NEW("_id", BCON_UTF8(name_.c_str()));
    bson_t* update = BCON_NEW("$set", "{", "value", BCON_INT64(value), "}");
    bson_t* options =
        BCON_NEW("upsert", BCON_BOOL(true), "writeConcern", "{", "w", "majority", "}");
    bson_error_t error{};
    const bool done =
        mongoc_collection_update_one(resources_.get(), query, update, options, nullptr, &error);
    bson_destroy(query);
    bson_destroy(update);
    bson_destroy(options);
    if (!done) throw Error(Errc::outcome_unknown, error.message);
  }

  Client client_;
  Collection resources_;
  std::string name_;
  bool guarded_;
  std::optional<distlock::Token> ts_;
  std::int64_t number_ = 0;
};

}  // namespace

std::unique_ptr<Resource> make_mongo_resource(const std::string& uri, const std::string& name,
                                              bool guarded) {
  return std::make_unique<MongoResource>(uri, name, guarded);
}

}  // namespace faults
