#include "stores/mongodb/mongo_errors.h"

#include <mongoc/mongoc.h>

#include <catch2/catch.hpp>

#include "cli/no_descriptors.h"
#include "stores/mongodb/mongo_store.h"
#include "support/open_descriptors.h"
#include "support/thrown.h"

using namespace distlock;
using namespace std::chrono_literals;

namespace {

struct Row {
  std::uint32_t domain;
  std::uint32_t code;
  Errc expected;
};

bson_error_t error_of(const Row& row) {
  bson_error_t error;
  bson_set_error(&error, row.domain, row.code, "%s", "the driver's \x1b[31m words");
  return error;
}

}  // namespace

TEST_CASE("a failed write is unknown unless nothing can have been applied", "[mongo][R8]") {
  const Row row = GENERATE(values<Row>({
      {MONGOC_ERROR_SERVER_SELECTION, MONGOC_ERROR_SERVER_SELECTION_FAILURE, Errc::not_applied},
      {MONGOC_ERROR_PROTOCOL, MONGOC_ERROR_PROTOCOL_BAD_WIRE_VERSION, Errc::not_applied},
      {MONGOC_ERROR_CLIENT, MONGOC_ERROR_CLIENT_NOT_READY, Errc::not_applied},
      {MONGOC_ERROR_SCRAM, MONGOC_ERROR_SCRAM_PROTOCOL_ERROR, Errc::permission_denied},
      {MONGOC_ERROR_STREAM, MONGOC_ERROR_STREAM_CONNECT, Errc::not_applied},
      {MONGOC_ERROR_STREAM, MONGOC_ERROR_STREAM_NAME_RESOLUTION, Errc::not_applied},
      {MONGOC_ERROR_BSON, MONGOC_ERROR_BSON_INVALID, Errc::not_applied},
      {MONGOC_ERROR_COMMAND, MONGOC_ERROR_COMMAND_INVALID_ARG, Errc::not_applied},
      {MONGOC_ERROR_SERVER, 11000, Errc::not_applied},
      {MONGOC_ERROR_SERVER, 112, Errc::not_applied},
      {MONGOC_ERROR_SERVER, 9, Errc::not_applied},
      {MONGOC_ERROR_SERVER, 40415, Errc::not_applied},
      {MONGOC_ERROR_SERVER, 166, Errc::not_applied},
      {MONGOC_ERROR_SERVER, 371, Errc::not_applied},
      {MONGOC_ERROR_SERVER, 10107, Errc::not_applied},
      {MONGOC_ERROR_SERVER, 13435, Errc::not_applied},
      {MONGOC_ERROR_SERVER, 10058, Errc::not_applied},
      {MONGOC_ERROR_SERVER, 13, Errc::permission_denied},
      {MONGOC_ERROR_SERVER, 18, Errc::permission_denied},
      {MONGOC_ERROR_SERVER, 11600, Errc::outcome_unknown},
      {MONGOC_ERROR_SERVER, 11602, Errc::outcome_unknown},
      {MONGOC_ERROR_SERVER, 91, Errc::outcome_unknown},
      {MONGOC_ERROR_SERVER, 189, Errc::outcome_unknown},
      {MONGOC_ERROR_SERVER, 13436, Errc::outcome_unknown},
      {MONGOC_ERROR_SERVER, 50, Errc::outcome_unknown},
      {MONGOC_ERROR_SERVER, 262, Errc::outcome_unknown},
      {MONGOC_ERROR_SERVER, 999999, Errc::outcome_unknown},
      {MONGOC_ERROR_STREAM, MONGOC_ERROR_STREAM_SOCKET, Errc::outcome_unknown},
      {MONGOC_ERROR_PROTOCOL, MONGOC_ERROR_PROTOCOL_INVALID_REPLY, Errc::outcome_unknown},
      {MONGOC_ERROR_WRITE_CONCERN, 64, Errc::outcome_unknown},
      {MONGOC_ERROR_WRITE_CONCERN, 11602, Errc::outcome_unknown},
      {4711, 1, Errc::outcome_unknown},
  }));
  INFO("domain " << row.domain << ", code " << row.code);
  CHECK(errc_of(error_of(row), Effect::writes, 0) == row.expected);
}

TEST_CASE("a user is refused by an answer, and not by a server that is away", "[mongo][R8]") {
  const bson_error_t failed = error_of({MONGOC_ERROR_CLIENT, MONGOC_ERROR_CLIENT_AUTHENTICATE, {}});
  const auto errc = [&](std::optional<std::uint32_t> last_code) {
    CHECK(errc_of(failed, Effect::reads, last_code) == errc_of(failed, Effect::writes, last_code));
    return errc_of(failed, Effect::writes, last_code);
  };
  CHECK(errc(18) == Errc::permission_denied);
  CHECK(errc(334) == Errc::permission_denied);
  CHECK(errc(0) == Errc::permission_denied);  // The driver found it wrong.
  CHECK(errc(std::nullopt) == Errc::not_applied);
  for (const std::uint32_t away :
       {6, 7, 50, 89, 91, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436}) {
    CHECK(errc(away) == Errc::not_applied);
  }
}

TEST_CASE("a failed read changed nothing", "[mongo][R8]") {
  const bson_error_t lost = error_of({MONGOC_ERROR_STREAM, MONGOC_ERROR_STREAM_SOCKET, {}});
  const bson_error_t refused = error_of({MONGOC_ERROR_SERVER, 13, {}});
  CHECK(errc_of(lost, Effect::reads, {}) == Errc::not_applied);
  CHECK(errc_of(refused, Effect::reads, {}) == Errc::permission_denied);
}

TEST_CASE("where no server answers, the error says why, and names no option of the driver",
          "[mongo]") {
  const auto said = [](const char* words) {
    bson_error_t error;
    bson_set_error(&error, MONGOC_ERROR_SERVER_SELECTION, MONGOC_ERROR_SERVER_SELECTION_FAILURE,
                   "%s", words);
    try {
      throw_error(error, Effect::reads, "opening");
    } catch (const Error& thrown) {
      return std::string(thrown.what());
    }
  };
  CHECK_THAT(
      said("No suitable servers found: `serverSelectionTimeoutMS` expired: [no db7] [no db8]"),
      Catch::StartsWith("opening: no server answered: no db7; no db8 (MongoDB"));
  CHECK_THAT(said("No suitable servers found: `serverSelectionTimeoutMS` expired"),
             Catch::StartsWith("opening: no server that can write answered in time (MongoDB"));
  CHECK_THAT(
      said("No suitable servers found: `serverSelectionTimeoutMS` expired: [Failed initialize TLS "
           "state.]"),
      Catch::Contains("tlsCAFile, tlsCertificateKeyFile and the password of its key (MongoDB"));
  CHECK_THAT(said("Invalid ] read [ preference"),
             Catch::StartsWith("opening: Invalid ] read [ preference (MongoDB"));
}

TEST_CASE("a failure says what was tried and is fit for a terminal", "[mongo]") {
  const bson_error_t error = error_of({MONGOC_ERROR_SERVER, 112, {}});
  try {
    throw_error(error, Effect::writes, "claim of lock \"jobs\" on db7:27017");
  } catch (const Error& thrown) {
    CHECK(thrown.errc() == Errc::not_applied);
    CHECK_THAT(thrown.what(), Catch::StartsWith("claim of lock \"jobs\" on db7:27017: "));
    CHECK_THAT(thrown.what(), Catch::Contains("\\x1B[31m words", Catch::CaseSensitive::No));
  }
}

TEST_CASE("a server that cannot be asked for want of file descriptors is told from one away",
          "[mongo][unsanitized]") {
  const std::string host = GENERATE("127.0.0.1", "localhost", "%2Ftmp%2Fmongodb-1.sock");
  const bool scarce = GENERATE(false, true);
  std::optional<cli::NoDescriptors> none;
  std::string message;
  try {
    if (scarce) none.emplace();
    open_mongo_store(ConnectionString("mongodb://" + host), {.call_limit = 100ms});
  } catch (const Error& error) {
    message = error.what();
    CHECK(error.errc() == Errc::not_applied);
  }
  none.reset();
  CAPTURE(host, message);
  const bool says = message.find("too few file descriptors; raise the limit") != message.npos;
  CHECK(says == scarce);
}

TEST_CASE("a write that was killed, or waited for others in vain, may have been applied",
          "[mongo][R8]") {
  for (const std::uint32_t code : {64, 79, 100, 11601}) {
    CAPTURE(code);
    CHECK(errc_of(error_of({MONGOC_ERROR_SERVER, code, {}}), Effect::writes, 0) ==
          Errc::outcome_unknown);
  }
}

TEST_CASE("a write for which the driver has no connection was not applied", "[mongo][R8]") {
  CHECK(errc_of(error_of({MONGOC_ERROR_STREAM, MONGOC_ERROR_STREAM_NOT_ESTABLISHED, {}}),
                Effect::writes, 0) == Errc::not_applied);
  CHECK(errc_of(error_of({MONGOC_ERROR_POOL, 1, {}}), Effect::writes, 0) == Errc::not_applied);
}

TEST_CASE("a write that the server refuses before it applies it was not applied", "[mongo][R8]") {
  for (const std::uint32_t code : {2,  14, 17, 20,  24,  26,  46,  48,    59,    61,
                                   66, 72, 73, 112, 121, 123, 224, 10334, 17280, 51144}) {
    CAPTURE(code);
    CHECK(errc_of(error_of({MONGOC_ERROR_SERVER, code, {}}), Effect::writes, 0) ==
          Errc::not_applied);
  }
}

TEST_CASE("a failure to reach a server leaves no descriptor open", "[mongo]") {
  const bson_error_t error = error_of({MONGOC_ERROR_STREAM, MONGOC_ERROR_STREAM_CONNECT, {}});
  const auto before = distlock::testing::open_descriptors();
  CHECK(distlock::testing::thrown_by([&] { throw_error(error, Effect::reads, "opening"); }) ==
        Errc::not_applied);
  CHECK(distlock::testing::open_descriptors() == before);
}

TEST_CASE("a user whom a server or MongoDB Atlas refuses is told so", "[mongo][R8][R15]") {
  for (const std::uint32_t code : {13, 18, 31, 8000}) {
    CAPTURE(code);
    const bson_error_t refused = error_of({MONGOC_ERROR_SERVER, code, {}});
    CHECK(errc_of(refused, Effect::writes, 0) == Errc::permission_denied);
    CHECK(errc_of(refused, Effect::reads, 0) == Errc::permission_denied);
  }
}
