#include "mongo/shard.h"

#include <signal.h>

#include <stdexcept>

#include "stores/mongodb/mongo_documents.h"

namespace distlock::testing {
namespace {

std::string shard_uri() { return required_variable("DISTLOCK_MONGODB_SHARD_URI"); }

// Fields that an update sets are in `diff`, those of a new document at the top.
std::optional<Found> written(const bson_t* entry, const std::string& field) {
  for (const std::string place : {"o.diff.u.", "o.diff.i.", "o."}) {
    if (const auto found = find(entry, (place + field).c_str())) return found;
  }
  return std::nullopt;
}

// Of everybody, but what is not the shard's is a ping every 30 s.
std::int64_t attempts_at(const Server& config) {
  const Bson status = Server(config.connection().text(), "admin").run(doc({{"serverStatus", 1}}));
  const auto count = find(status.get(), "metrics.commands.findAndModify.total");
  return count ? bson_iter_as_int64(&*count) : 0;
}

}  // namespace

Shard::Shard() : config_(required_variable("DISTLOCK_MONGODB_CONFIG_SERVER_URI"), "config") {}

Shard::~Shard() {
  try {
    killed_ ? bring_back() : let_go();
  } catch (const std::runtime_error&) {
    // The next test will say so.
  }
}

std::future<bool> Shard::create(const std::string& collection) const {
  return std::async(std::launch::async, [collection] {
    const Server config(required_variable("DISTLOCK_MONGODB_CONFIG_SERVER_URI"), "config");
    const Bson databases =
        config.run(json(R"({"find": "databases", "filter": {"_id": "beside"}})"));
    const auto version = find(databases.get(), "cursor.firstBatch.0.version");
    if (!version) throw std::runtime_error("there is no database \"beside\"");
    Bson command = doc({{"_shardsvrCreateCollection", collection},
                        {"shardKey", doc({{"_id", 1}})},
                        {"writeConcern", doc({{"w", "majority"}})}});
    bson_append_iter(command.get(), "databaseVersion", -1, &*version);
    try {
      Server(shard_uri(), "beside").run(command);
      return true;
    } catch (const std::runtime_error&) {
      return false;
    }
  });
}

bool Shard::has(const std::string& collection) const {
  return config_.raw("collections", lock_of(collection)).has_value();
}

std::string Shard::fail_point(const std::string& mode) const {
  return R"({"configureFailPoint": "hangBeforeRunningCoordinatorInstance", "mode": ")" + mode +
         R"("})";
}

void Shard::hold_on() { Server(shard_uri(), "admin").run(json(fail_point("alwaysOn"))); }
void Shard::let_go() { Server(shard_uri(), "admin").run(json(fail_point("off"))); }

void Shard::wait_for_database_lock() const {
  wait_until("the shard's operation", [&] {
    return config_
        .first(json(R"({"find": "locks", "filter": {"_id": "beside", "state": {"$ne": 0}}})"))
        .has_value();
  });
}

void Shard::wait_for_attempts() const {
  const std::int64_t before = attempts_at(config_);
  wait_until("attempts of the shard's", [&] { return attempts_at(config_) >= before + 4; });
}

void Shard::kill() {
  const Bson status = Server(shard_uri(), "admin").run(doc({{"serverStatus", 1}}));
  const auto pid = find(status.get(), "pid");
  if (!pid) throw std::runtime_error("the shard does not say its pid");
  ::kill(static_cast<pid_t>(bson_iter_as_int64(&*pid)), SIGKILL);
  killed_ = true;
}

void Shard::bring_back() {
  killed_ = false;
  ::kill(std::stoi(required_variable("DISTLOCK_WITH_MONGOD")), SIGUSR1);
  wait_until("the shard's return", [] {
    try {
      Server(shard_uri() + "&serverSelectionTimeoutMS=2000", "admin")
          .run(json(R"({"insert": "back", "documents": [{}]})"));
      return true;
    } catch (const std::runtime_error&) {
      return false;
    }
  });
}

std::vector<Shard::Change> Shard::changes_of(const std::string& lock) const {
  const Bson reply =
      Server(required_variable("DISTLOCK_MONGODB_CONFIG_SERVER_URI"), "local")
          .run(json(R"({"find": "oplog.rs", "sort": {"$natural": 1}, "batchSize": 10000, "filter":)"
                    R"({"ns": "config.locks", "$or": [{"o2._id": ")" +
                    lock + R"("}, {"o._id": ")" + lock + R"("}]}})"));
  std::vector<Change> changes;
  auto entry = find(reply.get(), "cursor.firstBatch");
  bson_iter_t entries;
  if (!entry || !bson_iter_recurse(&*entry, &entries)) return changes;
  while (bson_iter_next(&entries)) {
    std::uint32_t length = 0;
    const std::uint8_t* data = nullptr;
    bson_iter_document(&entries, &length, &data);
    bson_t one;
    if (!bson_init_static(&one, data, length)) continue;
    const auto state = written(&one, "state");
    if (!state) continue;
    const auto process = written(&one, "process");
    changes.push_back({static_cast<int>(bson_iter_as_int64(&*state)),
                       process ? bson_iter_utf8(&*process, nullptr) : ""});
  }
  return changes;
}

}  // namespace distlock::testing
