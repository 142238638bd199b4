#include <stdexcept>
#include <utility>

#include "documents.h"
#include "mongodb_server.h"

namespace distlock::bench {
namespace {

void append(bson_t* to, const char* key, const std::string& value) {
  BSON_APPEND_UTF8(to, key, value.c_str());
}

void append(bson_t* to, const char* key, StoreTime value) {
  BSON_APPEND_DATE_TIME(to, key, value.time_since_epoch().count());
}

bson_t* bson_of(const LockRecord& lock) {
  bson_t* document = bson_new();
  append(document, "_id", lock.name);
  BSON_APPEND_INT32(document, "state", static_cast<std::int32_t>(lock.state));
  append(document, "process", lock.process);
  append(document, "who", lock.who);
  append(document, "why", lock.why);
  append(document, "when", *lock.when);
  bson_oid_t ts;
  bson_oid_init_from_data(&ts, lock.ts->bytes.data());
  BSON_APPEND_OID(document, "ts", &ts);
  BSON_APPEND_INT64(document, "fence", lock.fence);
  BSON_APPEND_INT64(document, "takeover_after", lock.takeover_after->count());
  return document;
}

bson_t* bson_of(const PingRecord& ping) {
  bson_t* document = bson_new();
  append(document, "_id", ping.process);
  append(document, "ping", ping.ping);
  append(document, "clock", *ping.clock);
  return document;
}

class MongodbDocuments : public Documents {
 public:
  explicit MongodbDocuments(const ConnectionString& connection) : server_(connection) {
    if (server_.count("locks") + server_.count("lockpings") > 0)
      throw std::runtime_error("the database holds locks already: give another one");
  }

  void add(const DocumentPair& pair) override {
    if (locks_ == nullptr) {
      locks_ = server_.begin_bulk("locks");
      pings_ = server_.begin_bulk("lockpings");
    }
    insert(locks_, bson_of(pair.lock));
    insert(pings_, bson_of(pair.ping));
  }

  void commit() override {
    server_.execute(std::exchange(locks_, nullptr));
    server_.execute(std::exchange(pings_, nullptr));
  }

  std::map<std::string, std::int64_t> commands() override { return server_.commands(); }

 private:
  static void insert(mongoc_bulk_operation_t* bulk, bson_t* owned) {
    mongoc_bulk_operation_insert(bulk, owned);
    bson_destroy(owned);
  }

  MongodbServer server_;
  mongoc_bulk_operation_t* locks_ = nullptr;
  mongoc_bulk_operation_t* pings_ = nullptr;
};

}  // namespace

std::unique_ptr<Documents> mongodb_documents(const ConnectionString& connection) {
  return std::make_unique<MongodbDocuments>(connection);
}

}  // namespace distlock::bench
