#include "stores/mongodb/mongo_open.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

#include "failure.h"
#include "stores/mongodb/mongo_call.h"
#include "stores/mongodb/mongo_connect.h"
#include "stores/mongodb/mongo_documents.h"
#include "stores/mongodb/mongo_errors.h"
#include "stores/mongodb/mongo_forks.h"
#include "stores/mongodb/mongo_selection.h"
#include "text.h"

namespace distlock {
namespace {

// So soon a new primary is seen where the server cannot announce it (before 4.4). So often an
// unreachable one is tried again. So old may the name of a restarted server's clock be. One tiny
// exchange a second and member; the driver's own 10 s would add to every fail-over.
constexpr std::int32_t kHeartbeatMs = 1000;

// The bell, a ping and a ring may be under way at once, and a call that hangs keeps a connection
// besides. A ping must not wait for these.
constexpr std::int32_t kConnectionsLeast = 8;
constexpr std::int32_t kConnectionsOfDriver = 100;
// For a bell that ends one to listen and one to ring, one for a bell that begins meanwhile, and one
// for the ping.
constexpr std::int32_t kConnectionsKept = 4;
constexpr std::chrono::milliseconds kServerLimitLeast{1};  // The server takes 0 for no limit.

// The driver writes to stderr on its own account. A library does not. A child that is forked in the
// middle of it does it anew: glibc's pthread_once() knows forks.
void silence_driver() {
  static std::once_flag once;
  std::call_once(once, [] { mongoc_log_set_handler(nullptr, nullptr); });
}

void limit(mongoc_uri_t* uri, const char* option, std::chrono::milliseconds most) {
  constexpr std::chrono::milliseconds kLeast{1};
  const auto milliseconds = static_cast<std::int32_t>(std::max(most, kLeast).count());
  const std::int32_t given = mongoc_uri_get_option_as_int32(uri, option, 0);
  if (given <= 0 || given > milliseconds) mongoc_uri_set_option_as_int32(uri, option, milliseconds);
}

// As many as keep the room of a member from filling: a call of it is part of a ping.
std::int32_t least_connections(MongoServers servers) {
  return servers == MongoServers::standalone ? kCallsOfMember + kConnectionsKept
                                             : kConnectionsLeast;
}

// Each is connected only when it is needed.
void allow_connections(mongoc_uri_t* uri, MongoServers servers) {
  const char* const option = MONGOC_URI_MAXPOOLSIZE;
  if (!mongoc_uri_has_option(uri, option)) return;  // The driver allows a hundred.
  const std::int32_t most = mongoc_uri_get_option_as_int32(uri, option, 0);
  const std::int32_t least = least_connections(servers);
  if (most < least) mongoc_uri_set_option_as_int32(uri, option, least);
}

// Each read names its own. The driver would add this one to all other commands, of which the server
// refuses some.
void drop_read_concern(mongoc_uri_t* uri) {
  mongoc_read_concern_t* none = mongoc_read_concern_new();
  mongoc_uri_set_read_concern(uri, none);
  mongoc_read_concern_destroy(none);
}

[[noreturn]] void refuse(const ConnectionString& connection, const std::string& why) {
  throw Error(Errc::invalid_argument, opening(connection) + ": " + why);
}

void check_stands_alone(const std::string& type, const ConnectionString& connection) {
  if (!type.starts_with("RS")) return;
  refuse(connection,
         "this is a member of a replica set; a member of a mirrored store is a standalone server");
}

void check_kind(const std::string& type, const ConnectionString& connection) {
  if (type == "Mongos")
    refuse(connection,
           "this is a mongos; give the address of the config servers' replica set, or "
           "of another replica set or standalone server");
  if (type == "RSSecondary" || type == "RSArbiter")
    refuse(connection,
           std::string("this is ") + (type == "RSArbiter" ? "an arbiter" : "a secondary") +
               " of a replica set; add replicaSet=NAME and the addresses of its members");
  if (type != "RSPrimary" && type != "Standalone")
    throw Error(Errc::not_applied,
                opening(connection) + ": the server cannot take writes (" + type + ")");
}

void check_version(const bson_t* hello, const ConnectionString& connection) {
  if (!updates_by_pipeline(hello))
    refuse(connection, "the server is older than MongoDB 4.2, which is the first that can do this");
}

bool pinged(const PooledClient& client, const Bson& options, bson_error_t* error) {
  return mongoc_client_read_command_with_opts(client.get(), "admin", doc({{"ping", 1}}).get(),
                                              nullptr, options.get(), nullptr, error);
}

// Before anything of ours is sent, so that a wrong password or user is known at once.
void greet(const PooledClient& client, const ServerDescription& server,
           const ConnectionString& connection) {
  Bson options = pinned_to(server);
  bson_error_t error;
  if (!pinged(client, options, &error)) throw_error(error, Effect::reads, opening(connection));
  // MongoDB refuses a read concern that does not exist. A server that takes any heeds none (R6).
  append(options, "readConcern", doc({{"level", "distlock"}}));
  if (pinged(client, options, &error))
    refuse(connection,
           "the server heeds no read concern, so it is no MongoDB but something like it, such as "
           "FerretDB; a takeover could be judged by what is not true any more");
}

// Before MongoDB 5.0 a set may be told to have no such reads. Then no hold that somebody else has
// ended would ever be found.
void check_majority_reads(const PooledClient& client, const ServerDescription& server,
                          const std::string& database, const ConnectionString& connection) {
  constexpr std::uint32_t kNoMajorityReads = 148;
  const Bson options = read_options(server, ReadConcern::majority);
  const Bson read = doc({{"find", kLocks}, {"limit", 1}, {"singleBatch", true}});
  bson_error_t error;
  const bool answered = mongoc_client_read_command_with_opts(
      client.get(), database.c_str(), read.get(), nullptr, options.get(), nullptr, &error);
  // Any other error is the next call's.
  if (!answered && error.code == kNoMajorityReads)
    refuse(connection,
           "the replica set has no majority reads, by which a hold that somebody has ended is "
           "found; remove enableMajorityReadConcern=false from the settings of its members");
}

void check_host(std::string_view host, const ConnectionString& connection) {
  const std::string name = in_lower_case(host);  // The driver leaves those of SRV as they are.
  host = name;
  if (host.ends_with('.')) host.remove_suffix(1);  // A name that is whole.
  for (const std::string_view service : {".docdb.amazonaws.com", ".docdb-elastic.amazonaws.com",
                                         ".cosmos.azure.com", ".documents.azure.com"}) {
    if (host.ends_with(service))
      refuse(connection, std::string(service.substr(1)) +
                             " is no MongoDB but something like it, which lacks some of what these "
                             "locks rest on");
  }
}

// Before it is connected to, since names are all that tells some of them.
void check_hosts(const mongoc_uri_t* uri, const ConnectionString& connection) {
  const char* service = mongoc_uri_get_srv_hostname(uri);
  if (service != nullptr) check_host(service, connection);
  for (const mongoc_host_list_t* host = mongoc_uri_get_hosts(uri); host != nullptr;
       host = host->next)
    check_host(host->host, connection);
}

// The driver would say of a server that it does not answer, which callers wait for.
void check_tls_files(const mongoc_uri_t* uri, const ConnectionString& connection) {
  for (const char* option : {"tlsCAFile", "tlsCertificateKeyFile"}) {
    const char* file = mongoc_uri_get_option_as_utf8(uri, option, nullptr);
    if (file == nullptr || access(file, R_OK) == 0) continue;
    const std::string problem = system_failure(errno);
    refuse(connection, "the file of " + std::string(option) + " cannot be read: " + problem);
  }
  if (can_begin_tls(uri)) return;
  refuse(connection, kUnusableTlsFiles);
}

}  // namespace

Uri tuned_uri(const ConnectionString& connection, std::chrono::milliseconds call_limit,
              MongoServers servers) {
  const InMongoc in;
  check_no_call_was_forked(Library::libmongoc, opening(connection));
  silence_driver();
  bson_error_t error;
  Uri uri(mongoc_uri_new_with_error(connection.text().c_str(), &error));
  // The driver's message may repeat the string, password and all.
  if (!uri) {
    refuse(
        connection,
        "MongoDB's driver refuses this connection string: perhaps its options do not go "
        "together, as directConnection with several hosts, an authMechanism without a user, or tls "
        "and ssl that differ");
  }
  check_hosts(uri.get(), connection);
  check_tls_files(uri.get(), connection);
  // One attempt a call, so that each failure belongs to one known attempt. The callers repeat.
  mongoc_uri_set_option_as_bool(uri.get(), MONGOC_URI_RETRYWRITES, false);
  mongoc_uri_set_option_as_bool(uri.get(), MONGOC_URI_RETRYREADS, false);
  // Compressed messages cannot be judged before libmongoc sees them, and commands are small.
  mongoc_uri_set_compressors(uri.get(), nullptr);
  limit(uri.get(), MONGOC_URI_SERVERSELECTIONTIMEOUTMS, call_limit / 2);
  limit(uri.get(), MONGOC_URI_WAITQUEUETIMEOUTMS, call_limit / 2);
  limit(uri.get(), MONGOC_URI_CONNECTTIMEOUTMS, call_limit / 2);
  limit(uri.get(), MONGOC_URI_SOCKETTIMEOUTMS, call_limit);
  limit(uri.get(), MONGOC_URI_HEARTBEATFREQUENCYMS, std::chrono::milliseconds{kHeartbeatMs});
  allow_connections(uri.get(), servers);
  drop_read_concern(uri.get());
  return uri;
}

std::unique_ptr<MongoRoom> room_beside_pings(const Uri& tuned) {
  const std::int32_t connections =
      mongoc_uri_get_option_as_int32(tuned.get(), MONGOC_URI_MAXPOOLSIZE, kConnectionsOfDriver);
  const std::chrono::milliseconds wait{
      mongoc_uri_get_option_as_int32(tuned.get(), MONGOC_URI_WAITQUEUETIMEOUTMS, 0)};
  return std::make_unique<MongoRoom>(connections - kConnectionsKept, wait);
}

std::chrono::milliseconds server_limit(const Uri& tuned) {
  const std::chrono::milliseconds socket_limit{
      mongoc_uri_get_option_as_int32(tuned.get(), MONGOC_URI_SOCKETTIMEOUTMS, 0)};
  return std::max(socket_limit * 9 / 10, kServerLimitLeast);
}

std::chrono::milliseconds limit_of_one_of_two(std::chrono::milliseconds server_limit) {
  return std::max(server_limit / 2, kServerLimitLeast);
}

std::chrono::milliseconds selection_limit(const Uri& tuned) {
  return std::chrono::milliseconds{
      mongoc_uri_get_option_as_int32(tuned.get(), MONGOC_URI_SERVERSELECTIONTIMEOUTMS, 0)};
}

std::string check_server(const MongoPool& pool, const MongoSettings& settings,
                         const ConnectionString& connection, MongoServers servers) {
  const PooledClient client = pool.client();
  bson_error_t error;
  const ServerDescription server = select_server(client.get(), settings.selection_limit, error);
  if (!server && error.domain == MONGOC_ERROR_PROTOCOL) refuse(connection, error.message);
  if (!server) throw_error(error, Effect::reads, opening(connection));
  const std::string type = mongoc_server_description_type(server.get());
  if (servers == MongoServers::standalone) check_stands_alone(type, connection);
  check_kind(type, connection);
  const bson_t* hello = mongoc_server_description_hello_response(server.get());
  check_version(hello, connection);
  greet(client, server, connection);
  if (type == "RSPrimary") check_majority_reads(client, server, settings.database, connection);
  return set_of(hello);
}

}  // namespace distlock
