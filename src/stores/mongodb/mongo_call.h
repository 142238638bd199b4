#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stores/document.h"
#include "stores/mongodb/mongo_bson.h"
#include "stores/mongodb/mongo_errors.h"
#include "stores/mongodb/mongo_handles.h"
#include "stores/mongodb/mongo_hello.h"
#include "stores/mongodb/mongo_options.h"
#include "stores/mongodb/mongo_pool.h"
#include "stores/mongodb/mongo_room.h"
#include "stores/mongodb/mongo_stream.h"

namespace distlock {

/// The settings of every call of one store.
struct MongoSettings {
  std::string database;
  /// How long the server may work on a command or wait for its replication.
  std::chrono::milliseconds server_limit{};
  /// The replica set that the server was of at the opening, or nothing if it was of none. A member
  /// that is restarted alone takes writes that its set never learns of.
  std::string set;
  /// So long one call waits for answers, however many commands it sends.
  std::chrono::milliseconds call_limit = std::chrono::hours{24};
  /// So long it looks for a server that takes writes. The driver's own limit if nothing is said.
  std::chrono::milliseconds selection_limit = std::chrono::seconds{30};
};

/// The operation and its object, for messages: "claim of lock" and "x".
struct Doing {
  std::string_view verb;
  std::string_view object;
};

/// The outcome of a write command.
struct WriteOutcome {
  Bson reply;
  bool duplicate_key = false;
};

/// One call of a store: a client of the pool, and the one server that it talks to. Everything that
/// a call sends goes there, since the answers and stamps of two servers are by two clocks (R4).
class MongoCall {
 public:
  /// Has a place in `room` for as long as it lasts; calls by which holds live and the bell's need
  /// none. Its limit counts from here, and ends no later than one around it.
  /// Errors: `not_applied` if there is no place, no server that takes writes, or no time left.
  MongoCall(MongoPool& pool, const MongoSettings& settings, Doing doing, MongoRoom* room = nullptr);

  /// Names the server's clock: its process, which the server itself names. The address would not
  /// do, for clients may know one server by several.
  const std::string& clock() const { return clock_; }
  bool replica_set() const { return replica_set_; }
  /// The operation and the place, for messages.
  std::string what() const;
  /// Throws that no server answers so; `lack` says what is wrong with the answer. After a write the
  /// outcome is unknown.
  [[noreturn]] void odd(std::string_view lack, Effect effect) const;

  /// Sends it once, with majority and journal. A duplicate key is a value.
  /// Errors: as errc_of().
  WriteOutcome write(const Bson& command) const;
  /// Sends it once. The primary's word is enough, so that a fail-over may undo it, as may a crash
  /// of the server. Errors: as errc_of().
  WriteOutcome write_quickly(const Bson& command) const;
  /// Sends it once. Errors: `not_applied`, `permission_denied`.
  Bson read(const Bson& command, ReadConcern concern) const;
  /// As read(), and hands over every document of the result, of an aggregate or a find, once all
  /// are there.
  void read_each(const Bson& command, ReadConcern concern,
                 const std::function<void(const Document&)>& take) const;
  /// Follows what is written to a capped collection: `find` is a tailable one. Hands over each
  /// batch, also empty ones, until `take` says false, the cursor has ended, or another server is
  /// primary; without the call's limit. False: the collection is not capped. Errors: as read().
  bool follow(const Bson& find, std::chrono::milliseconds await,
              const std::function<bool(const std::vector<Document>&)>& take) const;

 private:
  bool still_primary() const;
  void give_up_cursor(const Bson& find, std::int64_t cursor, const Bson& options) const;
  WriteOutcome write(const Bson& command, Bson concern) const;
  Bson read(const Bson& command, const Bson& options) const;
  /// Throws unless the reply says ok. libmongoc takes a reply that says nothing for a good one.
  void check_answered(const bson_t* reply, Effect effect) const;
  [[noreturn]] void fail(const bson_error_t& error, Effect effect, const Bson& command) const;
  std::string why_refused(const Bson& command) const;
  std::optional<std::string> why_unfit(const std::string& type, const bson_t* hello) const;
  Bson with_limit(const Bson& command) const;
  std::int64_t server_limit_ms() const;

  const MongoSettings& settings_;
  AnswersUntil until_;
  Doing doing_;
  MongoRoom::Place place_;  // Given up after the client.
  PooledClient client_;
  ServerDescription server_;
  std::string clock_;
  bool replica_set_ = false;
};

/// The concern of an ordinary read: no fail-over undoes the answer.
inline ReadConcern ordinary(const MongoCall& call) {
  return call.replica_set() ? ReadConcern::majority : ReadConcern::local;
}

/// The document that a findAndModify gives, or nothing if none matched. Errors: `outcome_unknown`
/// for an answer that says neither, as from a service that is only like MongoDB.
std::optional<Document> value_of(const MongoCall& call, const WriteOutcome& outcome);

/// The hold that a claim has just left as this document. Errors: `outcome_unknown` if it is
/// malformed, or has a fence that the claim cannot have given it.
LockRecord granted(const MongoCall& call, const Document& document, const Claim& claim);

}  // namespace distlock
