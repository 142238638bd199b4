// The options of the URI that the driver gets.
#include <catch2/catch.hpp>
#include <fstream>
#include <future>
#include <string>
#include <string_view>
#include <vector>

#include "stores/mongodb/mongo_bell.h"
#include "stores/mongodb/mongo_connect.h"
#include "stores/mongodb/mongo_open.h"
#include "stores/mongodb/mongo_room.h"
#include "stores/mongodb/mongo_selection.h"
#include "support/descriptor_limit.h"
#include "support/temporary_folder.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

namespace {

Uri tuned(const std::string& text) { return tuned_uri(ConnectionString(text), 10s); }

int number_in(const Uri& uri, const char* option) {
  return mongoc_uri_get_option_as_int32(uri.get(), option, 0);
}

// How many calls are let in at once.
std::size_t calls_in_room(const std::string& options) {
  const auto room = room_beside_pings(tuned("mongodb://db1/?waitQueueTimeoutMS=1" + options));
  std::vector<MongoRoom::Place> places;
  while (!thrown_by([&] { places.push_back(room->enter()); })) continue;
  return places.size();
}

}  // namespace

TEST_CASE("each wait of the driver has a limit that fits into a call", "[mongo][R9]") {
  const std::string given =
      GENERATE("",
               "serverSelectionTimeoutMS=60000&waitQueueTimeoutMS=60000&connectTimeoutMS=60000&"
               "socketTimeoutMS=60000&heartbeatFrequencyMS=60000",
               // None, or the driver's own. Of the heartbeat it refuses 0.
               "serverSelectionTimeoutMS=0&waitQueueTimeoutMS=0&connectTimeoutMS=0&"
               "socketTimeoutMS=0");
  const Uri uri = tuned("mongodb://db1/?" + given);
  CHECK(number_in(uri, MONGOC_URI_SERVERSELECTIONTIMEOUTMS) == 5000);
  CHECK(number_in(uri, MONGOC_URI_WAITQUEUETIMEOUTMS) == 5000);
  CHECK(number_in(uri, MONGOC_URI_CONNECTTIMEOUTMS) == 5000);
  CHECK(number_in(uri, MONGOC_URI_SOCKETTIMEOUTMS) == 10000);
  CHECK(number_in(uri, MONGOC_URI_HEARTBEATFREQUENCYMS) == 1000);
}

TEST_CASE("a shorter limit of the connection string stays", "[mongo]") {
  const Uri uri = tuned("mongodb://db1/?connectTimeoutMS=200&heartbeatFrequencyMS=600");
  CHECK(number_in(uri, MONGOC_URI_CONNECTTIMEOUTMS) == 200);
  CHECK(number_in(uri, MONGOC_URI_HEARTBEATFREQUENCYMS) == 600);
}

TEST_CASE("the server gives its word before the socket gives up", "[mongo][R8]") {
  CHECK(server_limit(tuned("mongodb://db1/")) == 9s);
  CHECK(server_limit(tuned("mongodb://db1/?socketTimeoutMS=60000")) == 9s);
  CHECK(server_limit(tuned("mongodb://db1/?socketTimeoutMS=2000")) == 1800ms);
  CHECK(server_limit(tuned("mongodb://db1/?socketTimeoutMS=1")) == 1ms);
  CHECK(limit_of_one_of_two(9s) == 4500ms);
  CHECK(limit_of_one_of_two(1ms) == 1ms);
}

TEST_CASE("the driver, which waits by the wall clock, looks for a server for a moment only",
          "[mongo][R12]") {
  CHECK(kOneLook <= 1ms);
}

TEST_CASE("a bell that nobody rings keeps its connection, however short the socket's limit is",
          "[mongo][bell][R19][R20]") {
  const std::chrono::milliseconds socket_limit = GENERATE(2ms, 100ms, 2000ms, 4000ms, 10'000ms);
  const Uri uri = tuned("mongodb://db1/?socketTimeoutMS=" + std::to_string(socket_limit.count()));
  const auto await = bell_await({"config", server_limit(uri)});
  CHECK(await >= 1ms);
  CHECK(await <= 2s);
  CHECK(await <= socket_limit / 2);
}

TEST_CASE("a pool has room for pings beside the bell and calls that hang", "[mongo][R12]") {
  const auto room = [](const std::string& options) {
    return number_in(tuned("mongodb://db1/?" + options), MONGOC_URI_MAXPOOLSIZE);
  };
  CHECK(room("maxPoolSize=0") == 8);
  CHECK(room("maxPoolSize=1") == 8);
  CHECK(room("maxPoolSize=9") == 9);
  CHECK(room("") == 0);  // The driver's own.
}

TEST_CASE("a room has place for as many calls as the pool has connections, but for four",
          "[mongo][R9]") {
  CHECK(calls_in_room("&maxPoolSize=8") == 4);
  CHECK(calls_in_room("&maxPoolSize=9") == 5);
  CHECK(calls_in_room("") == 96);  // The driver's own pool is one of a hundred.
}

TEST_CASE("a call waits for its place no longer than the connection string says", "[mongo][R9]") {
  const auto room = room_beside_pings(
      tuned_uri(ConnectionString("mongodb://db1/?maxPoolSize=8&waitQueueTimeoutMS=1"), 60s));
  std::vector<MongoRoom::Place> places;
  for (int call = 0; call != 4; ++call) places.push_back(room->enter());
  auto waiting =
      std::async(std::launch::async, [&] { return thrown_by([&] { return room->enter(); }); });
  // Less than for a server: that is half of the 60 s.
  const bool ended = waiting.wait_for(15s) == std::future_status::ready;
  places.clear();
  CHECK(ended);
  CHECK(waiting.get() == Errc::not_applied);
}

TEST_CASE("a member's pool has room for all calls that a mirrored store makes of it at once",
          "[mongo][mirrored][M2][R9]") {
  const auto room = [](const std::string& options) {
    const Uri uri =
        tuned_uri(ConnectionString("mongodb://db1/?" + options), 10s, MongoServers::standalone);
    return number_in(uri, MONGOC_URI_MAXPOOLSIZE);
  };
  CHECK(room("maxPoolSize=36") == 37);
  CHECK(room("maxPoolSize=38") == 38);
  CHECK(room("") == 0);  // The driver's own.
}

TEST_CASE("the driver repeats no command, whatever the connection string says", "[mongo][R8]") {
  const Uri uri = tuned("mongodb://db1/?retryReads=true&retryWrites=true");
  CHECK_FALSE(mongoc_uri_get_option_as_bool(uri.get(), MONGOC_URI_RETRYREADS, true));
  CHECK_FALSE(mongoc_uri_get_option_as_bool(uri.get(), MONGOC_URI_RETRYWRITES, true));
}

TEST_CASE("answers come uncompressed, so that they can be judged", "[mongo][R8]") {
  const Uri uri = tuned("mongodb://db1/?compressors=zlib");
  CHECK(bson_empty0(mongoc_uri_get_compressors(uri.get())));
}

TEST_CASE("a service that is no MongoDB is refused by its name, also by that of an SRV record",
          "[mongo]") {
  for (const char* const text :
       {"mongodb://a.docdb.amazonaws.com/", "mongodb://db1,a.cosmos.azure.com:10255/",
        "mongodb://a.docdb.amazonaws.com./", "mongodb+srv://a.docdb.amazonaws.com/",
        "mongodb+srv://a.DOCDB.amazonaws.com/"}) {
    CAPTURE(text);
    CHECK(thrown_by([&] { return tuned(text); }) == Errc::invalid_argument);
  }
}

TEST_CASE("options that do not go together are refused, and none of them is shown", "[mongo]") {
  const std::string options =
      GENERATE("authMechanism=SCRAM-SHA-256", "directConnection=true",
               "tlsInsecure=true&tlsAllowInvalidCertificates=true", "tls=true&ssl=false");
  const auto open = [&] {
    return tuned("mongodb://db1,db2/?tlsCertificateKeyFilePassword=key&" + options);
  };
  CHECK(thrown_by(open) == Errc::invalid_argument);
  CHECK_THROWS_WITH(open(), Catch::Contains("do not go together") && !Catch::Contains("=key"));
}

TEST_CASE("a TLS file that cannot be read or used is refused, and not waited for", "[mongo]") {
  const TemporaryFolder folder;
  const std::string garbage = folder.path() / "bad.pem";
  std::ofstream(garbage) << "garbage";
  const std::string option = GENERATE("tlsCAFile", "tlscertificatekeyfile");
  const auto opened = [&](const std::string& file) {
    return thrown_by([&] { return tuned("mongodb://db1/?tls=true&" + option + "=" + file); });
  };
  CHECK(opened("/no/such/file.pem") == Errc::invalid_argument);
  CHECK(opened(garbage) == Errc::invalid_argument);
  CHECK(opened("%2Fdev%2Fnull") == Errc::invalid_argument);
  CHECK(opened(folder.path()) == Errc::invalid_argument);
  CHECK_FALSE(thrown_by([] { return tuned("mongodb://db1/?tls=true"); }));
}

TEST_CASE("where no descriptor is free, no TLS file is called unusable", "[mongo]") {
  const DescriptorLimit spare = spare_descriptors(GENERATE(0, 1));
  CHECK_FALSE(thrown_by([] { return tuned("mongodb://db1/?tls=true&tlsCAFile=%2Fdev%2Fnull"); }));
}
