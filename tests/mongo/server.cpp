#include "mongo/server.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <stdexcept>

#include "distlock/clock.h"
#include "stores/mongodb/mongo_documents.h"

namespace distlock::testing {
namespace {

std::string new_database() {
  static std::atomic<int> count = 0;
  const auto now = host_clock()->steady_now().time_since_epoch().count();
  return "t" + std::to_string(getpid()) + "_" + std::to_string(now) + "_" + std::to_string(count++);
}

// Where the slash behind the hosts is.
std::size_t host_end(const std::string& uri) {
  return uri.find('/', std::string_view("mongodb://").size());
}

std::string with_database(const std::string& uri, const std::string& database) {
  const auto slash = host_end(uri);
  return uri.substr(0, slash + 1) + database + uri.substr(slash + 1);
}

struct ToBson {
  BsonValue operator()(std::int32_t number) const { return number; }
  BsonValue operator()(std::int64_t number) const { return number; }
  BsonValue operator()(double number) const { return number; }
  BsonValue operator()(const std::string& text) const { return std::string_view(text); }
  BsonValue operator()(StoreTime time) const { return time; }
  BsonValue operator()(const Token& token) const { return token; }
  BsonValue operator()(const std::vector<Waiter>& line) const {
    Bson object;
    for (const Waiter& waiter : line) {
      Bson place = doc({{"process", std::string_view(waiter.process)},
                        {"who", std::string_view(waiter.who)},
                        {"since", waiter.since}});
      if (waiter.passed_over) append(place, "passed", *waiter.passed_over);
      append(object, to_hex(waiter.ticket), std::move(place));
    }
    return object;
  }
  BsonValue operator()(const Foreign& /*foreign*/) const { return array({"an array"}); }
};

}  // namespace

std::string required_variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0')
    throw std::runtime_error(std::string(name) +
                             " is not set: run this under tools/with-mongod all --");
  return value;
}

std::vector<std::string> member_uris() {
  const ConnectionString mirrored(required_variable("DISTLOCK_MONGODB_MIRRORED_URI"));
  std::vector<std::string> uris;
  for (const ConnectionString& member : mirrored.members()) {
    uris.push_back(member.text().substr(0, host_end(member.text()) + 1));
  }
  return uris;
}

void wait_until(std::string_view what, const std::function<bool()>& condition,
                std::chrono::minutes limit) {
  const std::shared_ptr<Clock> clock = host_clock();
  const SteadyTime end = clock->steady_now() + limit;
  while (!condition()) {
    if (clock->steady_now() > end)
      throw std::runtime_error("in vain for " + std::to_string(limit.count()) +
                               " minutes: " + std::string(what));
    clock->wait_until(clock->steady_now() + std::chrono::milliseconds{20}, {});
  }
}

Server::Server(const std::string& uri) : Server(uri, new_database()) { drops_ = true; }

Server::Server(const std::string& uri, std::string database)
    : uri_(uri),
      database_(std::move(database)),
      drops_(false),
      client_(mongoc_client_new(uri.c_str())) {
  if (!client_) throw std::runtime_error("no MongoDB connection string: " + uri);
  mongoc_client_set_error_api(client_.get(), MONGOC_ERROR_API_VERSION_2);
}

Server::~Server() {
  if (!drops_) return;
  mongoc_client_command_simple(client_.get(), database_.c_str(), doc({{"dropDatabase", 1}}).get(),
                               nullptr, nullptr, nullptr);
}

ConnectionString Server::connection(const std::string& options) const {
  const std::string uri = with_database(uri_, database_);
  const std::string joint = uri.find('?') == std::string::npos ? "?" : "&";
  return ConnectionString(options.empty() ? uri : uri + joint + options);
}

Bson Server::run(const std::string& database, const Bson& command) const {
  Bson reply;
  bson_error_t error;
  bson_t raw;
  const bool done = mongoc_client_command_simple(client_.get(), database.c_str(), command.get(),
                                                 nullptr, &raw, &error);
  reply = Bson(&raw);
  bson_destroy(&raw);
  if (!done) throw std::runtime_error(command.json() + ": " + error.message);
  return reply;
}

void Server::put(std::string_view collection, const Bson& document) const {
  bson_iter_t id;
  bson_iter_init_find(&id, document.get(), "_id");
  Bson query;
  bson_append_iter(query.get(), "_id", -1, &id);
  const Bson command =
      doc({{"update", collection},
           {"updates",
            array({doc({{"q", std::move(query)}, {"u", Bson(document.get())}, {"upsert", true}})})},
           {"writeConcern", doc({{"w", "majority"}})}});
  const Bson reply = run(command);
  if (find(reply.get(), "writeErrors")) throw std::runtime_error(reply.json());
}

std::optional<Document> Server::first(const Bson& command) const {
  const Bson reply = run(command);
  const auto found = find(reply.get(), "cursor.firstBatch.0");
  return found ? document_at(&*found) : std::nullopt;
}

std::optional<Document> Server::raw(std::string_view collection, std::string_view id) const {
  return first(doc({{"find", collection}, {"filter", doc({{"_id", id}})}, {"limit", 1}}));
}

Bson json(const std::string& text) {
  bson_error_t error;
  bson_t* parsed =
      bson_new_from_json(reinterpret_cast<const std::uint8_t*>(text.c_str()), -1, &error);
  if (parsed == nullptr) throw std::runtime_error(text + ": " + error.message);
  Bson made(parsed);
  bson_destroy(parsed);
  return made;
}

Bson bson_from(const Document& document) {
  Bson made;
  for (const auto& [key, value] : document) {
    append(made, key, std::visit(ToBson{}, value));
  }
  return made;
}

}  // namespace distlock::testing
