#include "stores/mongodb/mongo_store.h"

#include <atomic>

#include "stores/document.h"
#include "stores/mongodb/mongo_call.h"
#include "stores/mongodb/mongo_commands.h"
#include "stores/mongodb/mongo_documents.h"
#include "stores/mongodb/mongo_open.h"

namespace distlock {
namespace {

// Of a findAndModify: the document, or nothing if none matched. An answer that says neither, as of
// something between that only looks like MongoDB, is no answer: the write may have been applied.
std::optional<Document> value_of(const MongoCall& call, const WriteOutcome& outcome) {
  if (outcome.duplicate_key) return std::nullopt;
  const auto value = find(outcome.reply.get(), "value");
  auto document = value ? document_at(&*value) : std::nullopt;
  if (!document && !(value && BSON_ITER_HOLDS_NULL(&*value)))
    throw Error(Errc::outcome_unknown, call.what() + ": the server's answer has no \"value\"");
  return document;
}

class MongoStore : public Store {
 public:
  MongoStore(const ConnectionString& connection, const StoreOptions& options)
      : call_limit_(options.call_limit) {
    const Uri uri = tuned_uri(connection, call_limit_);
    const char* database = mongoc_uri_get_database(uri.get());
    settings_ = {database == nullptr ? "config" : database, call_limit_ * 9 / 10};
    pool_ = open_pool(uri, connection);
    check_server(pool_.get(), connection);
  }

  std::chrono::milliseconds call_limit() const override { return call_limit_; }

  Inspection inspect(std::string_view name, Freshness freshness) override;
  std::optional<Carried> carried(std::string_view name) override;
  std::optional<LockRecord> claim(std::string_view name, const ClaimBasis& basis,
                                  const Claim& claim) override;
  ReleaseResult release(std::string_view name, const Token& ts) override;
  PingRecord ping(std::string_view process) override { return stamp(process, nullptr); }
  PingRecord ping_and_report(std::string_view process, const PingHealth& health) override {
    return stamp(process, &health);
  }
  void remove_ping(std::string_view process) override;
  std::int64_t forget_pings(std::chrono::milliseconds age) override;
  std::vector<StoredHold> holds(std::string_view process) override;
  Listing list() override;

 private:
  PingRecord stamp(std::string_view process, const PingHealth* health);
  MongoCall call(std::string_view verb, std::string_view object = {}) const {
    return {pool_.get(), settings_, Doing{verb, object}};
  }

  std::chrono::milliseconds call_limit_;
  MongoSettings settings_;
  Pool pool_;
  std::atomic<bool> indexes_made_ = false;
};

// What is enough for people and for a first look.
ReadConcern ordinary(const MongoCall& call) {
  return call.replica_set() ? ReadConcern::majority : ReadConcern::local;
}

// A standalone refuses linearizable reads; having no peer, it cannot be overtaken.
ReadConcern fresh(const MongoCall& call) {
  return call.replica_set() ? ReadConcern::linearizable : ReadConcern::local;
}

StoreTime time_at(const bson_t* document, const char* field_name) {
  const auto time = find(document, field_name);
  if (!time || !BSON_ITER_HOLDS_DATE_TIME(&*time))
    throw Error(Errc::not_applied, "the MongoDB server did not tell its time");
  return StoreTime(StoreTime::duration(bson_iter_date_time(&*time)));
}

// The server fixes its now before it looks the ping up, so one that was stamped in between is
// later. That is no clock skew.
void forgive_stamp_meanwhile(Inspection& inspection) {
  constexpr std::chrono::seconds kLongestLookUp{1};
  if (!inspection.ping || inspection.ping->clock != inspection.now->clock) return;
  const StoreTime ping = inspection.ping->ping;
  StoreTime& now = inspection.now->time;
  if (ping > now && ping < now + kLongestLookUp) now = ping;
}

Inspection MongoStore::inspect(std::string_view name, Freshness freshness) {
  const MongoCall call = this->call("inspection of lock", name);
  Inspection inspection;
  const ReadConcern concern = freshness == Freshness::fresh ? fresh(call) : ordinary(call);
  inspection.fresh = !call.replica_set() || concern == ReadConcern::linearizable;
  const Bson reply = call.read(inspect_command(name), concern);
  if (!find(reply.get(), "cursor.firstBatch"))
    throw Error(Errc::not_applied, call.what() + ": the server's answer has no \"cursor\"");
  const auto lock = find(reply.get(), "cursor.firstBatch.0.lock");
  if (!lock) return inspection;
  inspection.lock = lock_from(document_at(&*lock).value_or(Document{}));
  inspection.now = StoreNow{time_at(reply.get(), "cursor.firstBatch.0.now"), call.clock()};
  const auto ping = find(reply.get(), "cursor.firstBatch.0.ping.0");
  if (ping && inspection.lock->taken())
    inspection.ping = ping_from(document_at(&*ping).value_or(Document{}));
  forgive_stamp_meanwhile(inspection);
  return inspection;
}

std::optional<Carried> MongoStore::carried(std::string_view name) {
  const MongoCall call = this->call("reading the hold of lock", name);
  const Bson reply = call.read(inspect_command(name), fresh(call));
  if (!find(reply.get(), "cursor.firstBatch"))
    throw Error(Errc::not_applied, call.what() + ": the server's answer has no \"cursor\"");
  const auto lock = find(reply.get(), "cursor.firstBatch.0.lock");
  if (!lock) return std::nullopt;
  return carried_in(document_at(&*lock).value_or(Document{}));
}

std::optional<LockRecord> MongoStore::claim(std::string_view name, const ClaimBasis& basis,
                                            const Claim& claim) {
  const MongoCall call = this->call("claim of lock", name);
  // Another clock than the one that the cutoff is by cannot tell whether it has passed (R4, R8).
  if (call.clock() != claim.cutoff.clock) return std::nullopt;
  const auto document = value_of(call, call.write(claim_command(name, basis, claim)));
  if (!document) return std::nullopt;
  const Value* ts = find_field(*document, "ts");
  if (ts == nullptr || *ts != Value(claim.ts)) return std::nullopt;
  return lock_from(*document);
}

ReleaseResult MongoStore::release(std::string_view name, const Token& ts) {
  const MongoCall call = this->call("release of lock", name);
  const auto before = value_of(call, call.write(release_command(name, ts)));
  if (!before) return ReleaseResult::not_ours;
  const auto state = state_in(*before);
  if (!state) static_cast<void>(lock_from(*before));  // throws: nothing was changed
  return state == LockState::free ? ReleaseResult::already_free : ReleaseResult::freed;
}

// Before the first document, since then no vote of the members is needed. Without them, or without
// the right to make them, everything works but slower.
void make_indexes(const MongoCall& call) {
  try {
    call.write(lock_index_command());
    call.write(ping_index_command());
  } catch (const Error&) {
    return;
  }
}

PingRecord MongoStore::stamp(std::string_view process, const PingHealth* health) {
  const MongoCall call = this->call("ping of process", process);
  if (!indexes_made_.exchange(true)) make_indexes(call);
  const WriteOutcome outcome = call.write(ping_command(process, call.clock(), health));
  if (outcome.duplicate_key)
    throw Error(Errc::not_applied, "two first pings of one process met in the MongoDB server");
  return ping_from(value_of(call, outcome).value_or(Document{}));
}

void MongoStore::remove_ping(std::string_view process) {
  call("removal of the ping of process", process).write(remove_ping_command(process));
}

std::int64_t MongoStore::forget_pings(std::chrono::milliseconds age) {
  const MongoCall call = this->call("removal of old pings");
  Bson ids(Bson::Kind::array);
  std::uint32_t count = 0;
  call.read_each(
      forgettable_pings_command(age, call.clock()), ordinary(call), [&](const Document& ping) {
        const Value* id = find_field(ping, "_id");
        if (id == nullptr || !std::holds_alternative<std::string>(*id)) return;
        append(ids, std::to_string(count++), std::string_view(std::get<std::string>(*id)));
      });
  if (count == 0) return 0;
  // One that has been renewed meanwhile is not so old any more.
  const WriteOutcome outcome = call.write(forget_pings_command(ids, age, call.clock()));
  const auto removed = find(outcome.reply.get(), "n");
  return removed ? bson_iter_as_int64(&*removed) : 0;
}

std::vector<StoredHold> MongoStore::holds(std::string_view process) {
  const MongoCall call = this->call("reading the holds of process", process);
  std::vector<StoredHold> holds;
  call.read_each(holds_command(process), ordinary(call), [&](const Document& hold) {
    const Value* id = find_field(hold, "_id");
    const Value* ts = find_field(hold, "ts");
    if (id == nullptr || ts == nullptr) return;
    if (std::holds_alternative<std::string>(*id) && std::holds_alternative<Token>(*ts))
      holds.push_back({std::get<std::string>(*id), std::get<Token>(*ts)});
  });
  return holds;
}

Listing MongoStore::list() {
  const MongoCall call = this->call("listing");
  Listing listing;
  call.read_each(everything_command(kLocks), ordinary(call), [&](const Document& lock) {
    listing.locks.push_back(listed<LockRecord>(lock, lock_from));
  });
  call.read_each(everything_command(kLockPings), ordinary(call), [&](const Document& ping) {
    listing.pings.push_back(listed<PingRecord>(ping, ping_from));
  });
  const Bson hello = call.read(hello_command(), ReadConcern::local);
  listing.now = {time_at(hello.get(), "localTime"), call.clock()};
  return listing;
}

}  // namespace

std::shared_ptr<Store> open_mongo_store(const ConnectionString& connection,
                                        const StoreOptions& options) {
  return std::make_shared<MongoStore>(connection, options);
}

}  // namespace distlock
