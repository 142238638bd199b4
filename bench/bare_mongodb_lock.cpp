#include <boost/algorithm/string/replace.hpp>

#include "bare_lock.h"
#include "mongodb_server.h"

namespace distlock::bench {
namespace {

constexpr const char* kPrepare = R"({
  "update": "locks",
  "updates": [{"q": {"_id": "NAME"}, "u": {"$set": {"state": 0}}, "upsert": true}]
})";

// As src/stores/mongodb/mongo_commands.cpp has it, for FromFree.
constexpr const char* kClaim = R"({
  "findAndModify": "locks",
  "query": {"_id": "NAME", "$expr": {"$and": [
    {"$eq": ["$state", 0]},
    {"$and": [
      {"$in": [{"$type": "$fence"}, ["missing", "long"]]},
      {"$gte": [{"$ifNull": ["$fence", {"$numberLong": "0"}]}, {"$numberLong": "0"}]},
      {"$lt": [{"$ifNull": ["$fence", {"$numberLong": "0"}]},
               {"$numberLong": "9223372036854775807"}]}]},
    {"$lte": ["$$NOW", {"$date": {"$numberLong": "4102444800000"}}]}]}},
  "update": [{"$set": {
    "state": 1,
    "process": {"$literal": "bench.example:1700000000:1234567890"},
    "who": {"$literal": "bench.example:1700000000:1234567890:thread1:1234567890"},
    "why": {"$literal": "bench"},
    "when": "$$NOW",
    "ts": {"$oid": "0123456789abcdef01234567"},
    "fence": {"$add": [{"$ifNull": ["$fence", {"$numberLong": "0"}]}, {"$numberLong": "1"}]},
    "takeover_after": {"$numberLong": "960000"}}}],
  "new": true
})";

constexpr const char* kRelease = R"({
  "findAndModify": "locks",
  "query": {"_id": "NAME", "$expr": {"$eq": ["$ts", {"$oid": "0123456789abcdef01234567"}]}},
  "update": [{"$set": {"state": {"$cond": [{"$in": ["$state", [1, 2]]}, 0, "$state"]}}}],
  "fields": {"state": 1}
})";

constexpr const char* kOptions = R"({"writeConcern": {"w": "majority", "j": true}})";

const bson_t* named(const char* command, const std::string& name) {
  return bson_from_json(boost::replace_all_copy<std::string>(command, "NAME", name).c_str());
}

// The documents are kept for as long as the program runs.
class BareMongodbLock : public BareLock {
 public:
  BareMongodbLock(const ConnectionString& connection, const std::string& name)
      : server_(connection), claim_(named(kClaim, name)), release_(named(kRelease, name)) {
    server_.write(named(kPrepare, name), options_);
  }

  void claim() override { server_.write(claim_, options_); }
  void release() override { server_.write(release_, options_); }

 private:
  MongodbServer server_;
  const bson_t* claim_;
  const bson_t* release_;
  const bson_t* options_ = bson_from_json(kOptions);
};

}  // namespace

std::unique_ptr<BareLock> bare_mongodb_lock(const ConnectionString& connection,
                                            const std::string& name) {
  return std::make_unique<BareMongodbLock>(connection, name);
}

}  // namespace distlock::bench
