#include "stores/mongodb/mongo_errors.h"

#include <mongoc/mongoc.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "failure.h"
#include "stores/mongodb/mongo_stream.h"
#include "text.h"

namespace distlock {
namespace {

constexpr std::array kRefusedUser{13, 18, 31, 8000};

// Answers that a server gives before or instead of applying a command. Every other code may also
// come from an interruption after the write: 11600, 11602, 91, 189, 13436, 50 and 262 do.
constexpr std::array kRejected{
    2,     9,     14,    17,  // bad value, failed to parse, type mismatch, illegal operator
    20,    26,    48,    59,
    61,  // illegal operation, no namespace, exists, no command, shard key
    66,    72,    73,    123,
    224,                // immutable field, invalid options or namespace, not a set
    24,    46,    112,  // lock timeout, lock busy, write conflict
    121,   10334, 17280, 40415,
    11000,                // validation, too large, key too long, unknown field, duplicate
    166,   371,           // a view, writes of users are blocked
    10107, 13435, 10058,  // not primary
    51144,                // the server's time in a command that may not name it before 5.0
};

// Of a server, or of a way to it, that is away for a while.
constexpr std::array kAway{6, 7, 50, 89, 91, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436};

template <class Codes>
bool contains(const Codes& codes, std::uint32_t code) {
  return std::find(codes.begin(), codes.end(), static_cast<int>(code)) != codes.end();
}

Errc of_server(std::uint32_t code) {
  if (contains(kRefusedUser, code)) return Errc::permission_denied;
  return contains(kRejected, code) ? Errc::not_applied : Errc::outcome_unknown;
}

// The driver has one error for all that goes wrong while it authenticates. A user is refused by an
// answer.
Errc of_authentication(std::optional<std::uint32_t> last_code) {
  return !last_code || contains(kAway, *last_code) ? Errc::not_applied : Errc::permission_denied;
}

Errc of_write(const bson_error_t& error) {
  switch (error.domain) {
    case MONGOC_ERROR_SERVER:
      return of_server(error.code);
    case MONGOC_ERROR_SASL:
    case MONGOC_ERROR_SCRAM:
      return Errc::permission_denied;
    case MONGOC_ERROR_CLIENT:
      return Errc::not_applied;
    case MONGOC_ERROR_STREAM:
      return error.code == MONGOC_ERROR_STREAM_CONNECT ||
                     error.code == MONGOC_ERROR_STREAM_NAME_RESOLUTION ||
                     error.code == MONGOC_ERROR_STREAM_NOT_ESTABLISHED
                 ? Errc::not_applied
                 : Errc::outcome_unknown;
    case MONGOC_ERROR_PROTOCOL:
      return error.code == MONGOC_ERROR_PROTOCOL_BAD_WIRE_VERSION ? Errc::not_applied
                                                                  : Errc::outcome_unknown;
    case MONGOC_ERROR_SERVER_SELECTION:
    case MONGOC_ERROR_BSON:
    case MONGOC_ERROR_COMMAND:
    case MONGOC_ERROR_POOL:
      return Errc::not_applied;
    // WRITE_CONCERN: applied on the primary and visible to others, but it may yet be rolled back.
    default:
      return Errc::outcome_unknown;
  }
}

// Where the driver finds no server, it names an option of its own, and in brackets what failed.
std::string message_of(const bson_error_t& error) {
  std::string text = escaped(error.message);
  if (error.domain != MONGOC_ERROR_SERVER_SELECTION) return text;
  const std::size_t begin = text.find('[');
  const std::size_t end = text.rfind(']');
  if (end == text.npos || end < begin) {
    return text.find("expired") == text.npos ? text : "no server that can write answered in time";
  }
  std::string failures = text.substr(begin + 1, end - begin - 1);
  for (auto at = failures.find("] ["); at != text.npos; at = failures.find("] [")) {
    failures.replace(at, 3, "; ");
  }
  if (failures.find("initialize TLS") != text.npos) {
    return std::string("no server could be asked, since ") + kUnusableTlsFiles;
  }
  return "no server answered: " + failures;
}

// The driver does not say that it could make no socket, so one is tried.
std::string want_of_descriptors(const bson_error_t& error) {
  const bool of_connecting =
      error.domain == MONGOC_ERROR_SERVER_SELECTION || error.domain == MONGOC_ERROR_STREAM;
  if (!of_connecting) return "";
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return "; " + system_failure(errno);
  close(probe);
  return "";
}

}  // namespace

bool is_of_authentication(const bson_error_t& error) {
  return error.domain == MONGOC_ERROR_CLIENT && error.code == MONGOC_ERROR_CLIENT_AUTHENTICATE;
}

Errc errc_of(const bson_error_t& error, Effect effect, std::optional<std::uint32_t> last_code) {
  if (is_of_authentication(error)) return of_authentication(last_code);
  const Errc errc = of_write(error);
  return errc == Errc::outcome_unknown && effect == Effect::reads ? Errc::not_applied : errc;
}

void throw_error(const bson_error_t& error, Effect effect, const std::string& what) {
  throw Error(errc_of(error, effect, code_of_last_answer()),
              what + ": " + message_of(error) + want_of_descriptors(error) + " (MongoDB error " +
                  std::to_string(error.domain) + "/" + std::to_string(error.code) + ")");
}

bool is_unauthorized(const bson_error_t& error) {
  constexpr std::uint32_t kUnauthorized = 13;
  return error.domain == MONGOC_ERROR_SERVER && error.code == kUnauthorized;
}

bool is_duplicate_key(const bson_error_t& error) {
  return error.domain == MONGOC_ERROR_SERVER && error.code == MONGOC_ERROR_DUPLICATE_KEY;
}

bool is_bad_value(const bson_error_t& error) {
  constexpr std::uint32_t kBadValue = 2;
  return error.domain == MONGOC_ERROR_SERVER && error.code == kBadValue;
}

}  // namespace distlock
