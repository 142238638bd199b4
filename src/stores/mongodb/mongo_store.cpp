#include "stores/mongodb/mongo_store.h"

#include <algorithm>
#include <atomic>

#include "saturating.h"
#include "stores/document.h"
#include "stores/mongodb/mongo_call.h"
#include "stores/mongodb/mongo_commands.h"
#include "stores/mongodb/mongo_documents.h"
#include "stores/mongodb/mongo_line.h"
#include "stores/mongodb/mongo_lists.h"
#include "stores/mongodb/mongo_open.h"

namespace distlock {
namespace {

// The one document of an aggregate's only batch, or nothing if there is none. An answer of another
// shape does not say that.
std::optional<Found> only_result(const MongoCall& call, const Bson& reply) {
  const auto batch = find(reply.get(), "cursor.firstBatch");
  bson_iter_t first;
  if (!batch || !BSON_ITER_HOLDS_ARRAY(&*batch) || !bson_iter_recurse(&*batch, &first))
    call.odd("has no sound \"cursor\"", Effect::reads);
  if (!bson_iter_next(&first)) return std::nullopt;
  Found result;
  static_cast<bson_iter_t&>(result) = first;
  if (!BSON_ITER_HOLDS_DOCUMENT(&result)) call.odd("has a batch of no documents", Effect::reads);
  return result;
}

// The document that a field of `result` is.
Document field_of(const MongoCall& call, const Found& result, const char* name) {
  bson_iter_t fields;
  const bool found = bson_iter_recurse(&result, &fields) && bson_iter_find(&fields, name);
  auto document = found ? document_at(&fields) : std::nullopt;
  if (!document) call.odd("has no \"" + std::string(name) + '"', Effect::reads);
  return *std::move(document);
}

// The only element of an array of none or one document.
std::optional<Document> maybe_one(const MongoCall& call, const Found& result, const char* name) {
  bson_iter_t fields;
  bson_iter_t element;
  if (!bson_iter_recurse(&result, &fields) || !bson_iter_find(&fields, name) ||
      !BSON_ITER_HOLDS_ARRAY(&fields) || !bson_iter_recurse(&fields, &element))
    call.odd("has no \"" + std::string(name) + '"', Effect::reads);
  if (!bson_iter_next(&element)) return std::nullopt;
  auto document = document_at(&element);
  if (!document) call.odd("has a malformed \"" + std::string(name) + '"', Effect::reads);
  return document;
}

class MongoStore : public Store {
 public:
  MongoStore(const ConnectionString& connection, const StoreOptions& options, MongoServers servers)
      : call_limit_(options.call_limit) {
    const Uri uri = tuned_uri(connection, call_limit_, servers);
    const char* database = mongoc_uri_get_database(uri.get());
    settings_ = {database == nullptr ? "config" : database, server_limit(uri), {}, call_limit_};
    settings_.selection_limit = selection_limit(uri);
    pool_ = std::make_unique<MongoPool>(uri, connection);
    settings_.set = check_server(*pool_, settings_, connection, servers);
    settings_of_two_ = settings_;
    settings_of_two_.server_limit = limit_of_one_of_two(settings_.server_limit);
    room_ = room_beside_pings(uri);
    line_ = make_mongo_line(*pool_, settings_, *room_);
  }

  std::chrono::milliseconds call_limit() const override { return call_limit_; }

  Inspection inspect(std::string_view name, Freshness freshness) override;
  std::optional<Carried> carried(std::string_view name) override;
  std::optional<LockRecord> claim(std::string_view name, const ClaimBasis& basis,
                                  const Claim& claim) override;
  ReleaseResult release(std::string_view name, const Token& ts) override;
  PingRecord ping(std::string_view process, const PingHealth& health) override;
  void remove_ping(std::string_view process) override;
  std::int64_t forget_pings(std::chrono::milliseconds age) override;
  std::vector<StoredHold> holds(std::string_view process) override;
  Listing list() override { return list_all(call("listing")); }
  Line* line() override { return line_.get(); }

 private:
  MongoCall call(std::string_view verb, std::string_view object = {}) const {
    return {*pool_, settings_, Doing{verb, object}, room_.get()};
  }
  /// For a process's own ping: it waits for no other call.
  MongoCall call_at_once(std::string_view verb, std::string_view process) const {
    return {*pool_, settings_, Doing{verb, process}};
  }

  void make_indexes(std::string_view process);

  std::chrono::milliseconds call_limit_;
  MongoSettings settings_;
  MongoSettings settings_of_two_;  ///< For a call of two commands.
  std::unique_ptr<MongoPool> pool_;
  std::unique_ptr<MongoRoom> room_;
  std::unique_ptr<Line> line_;
  std::atomic<bool> indexes_made_ = false;
};

// A standalone refuses linearizable reads; having no peer, it cannot be overtaken.
ReadConcern fresh(const MongoCall& call) {
  return call.replica_set() ? ReadConcern::linearizable : ReadConcern::local;
}

// The server fixes its now before it looks the ping up, so a ping that was stamped in between is
// later. That is no clock skew.
void forgive_stamp_meanwhile(Inspection& inspection) {
  constexpr std::chrono::seconds kLongestLookUp{1};
  if (!inspection.ping || inspection.ping->clock != inspection.now->clock) return;
  const StoreTime ping = inspection.ping->ping;
  StoreTime& now = inspection.now->time;
  if (ping > now && saturating_difference(ping, now) < kLongestLookUp) now = ping;
}

Inspection MongoStore::inspect(std::string_view name, Freshness freshness) {
  const MongoCall call = this->call("inspection of lock", name);
  Inspection inspection;
  // A first look sees quick releases. The claim judges anew where a fail-over undoes them.
  const ReadConcern concern = freshness == Freshness::fresh ? fresh(call) : ReadConcern::local;
  inspection.fresh = !call.replica_set() || concern == ReadConcern::linearizable;
  const Bson reply = call.read(inspect_command(name), concern);
  const auto result = only_result(call, reply);
  if (!result) return inspection;
  inspection.lock = lock_from(field_of(call, *result, "lock"));
  inspection.now = StoreNow{time_at(reply.get(), "cursor.firstBatch.0.now"), call.clock()};
  const auto ping = maybe_one(call, *result, "ping");
  if (ping && inspection.lock->taken()) inspection.ping = ping_from(*ping);
  forgive_stamp_meanwhile(inspection);
  return inspection;
}

std::optional<Carried> MongoStore::carried(std::string_view name) {
  const MongoCall call = this->call("reading the hold of lock", name);
  const Bson reply = call.read(inspect_command(name), fresh(call));
  const auto result = only_result(call, reply);
  if (!result) return std::nullopt;
  return carried_in(field_of(call, *result, "lock"));
}

// A refused claim from a free document gives that document unchanged. One from no document leaves a
// free document behind.
bool is_refusal(const ClaimBasis& basis, const Document& lock) {
  return !std::holds_alternative<FromHold>(basis) && state_in(lock) == LockState::free;
}

std::optional<LockRecord> MongoStore::claim(std::string_view name, const ClaimBasis& basis,
                                            const Claim& claim) {
  check_fences(claim);
  // The conditions on a stored fence do not ask this of an absent one, nor of the claim's own.
  if (std::max<Fence>(claim.fence, 1) > first_fence_most(claim.fences)) return std::nullopt;
  const MongoCall call = this->call("claim of lock", name);
  // Another clock than the one that the cutoff is by cannot tell whether it has passed (R4, R8).
  if (call.clock() != claim.cutoff.clock) return std::nullopt;
  const auto document = value_of(call, call.write(claim_command(name, basis, claim)));
  if (!document) return std::nullopt;
  if (is_refusal(basis, *document)) return std::nullopt;
  if (!carries(*document, claim.ts))
    call.odd("has another document than the one that was claimed", Effect::writes);
  return granted(call, *document, claim);
}

ReleaseResult MongoStore::release(std::string_view name, const Token& ts) {
  const MongoCall call = this->call("release of lock", name);
  const auto before = value_of(call, call.write(release_command(name, ts)));
  if (!before) return ReleaseResult::not_ours;
  const LockState state = required_state(*before);
  return state == LockState::free ? ReleaseResult::already_free : ReleaseResult::freed;
}

// Without it, or without the right to make it, everything works but slower.
void make_index(const MongoCall& call, const Bson& command) {
  try {
    call.write(command);
  } catch (const Error&) {
    return;
  }
}

// Before the first document, since then no vote of the members is needed. Their answers are waited
// for in the first half of the ping's time.
void MongoStore::make_indexes(std::string_view process) {
  const AnswersUntil half(host_clock()->steady_now() + call_limit_ / 2);
  const MongoCall call(*pool_, settings_of_two_, Doing{"indexes for process", process});
  if (indexes_made_.exchange(true)) return;
  make_index(call, lock_index_command());
  make_index(call, ping_index_command());
}

PingRecord MongoStore::ping(std::string_view process, const PingHealth& health) {
  const AnswersUntil whole(host_clock()->steady_now() + call_limit_);
  if (!indexes_made_) make_indexes(process);
  const MongoCall call = call_at_once("ping of process", process);
  const WriteOutcome outcome = call.write(ping_command(process, call.clock(), health));
  if (outcome.duplicate_key)
    throw Error(Errc::not_applied, "two first pings of one process met in the MongoDB server");
  return written(value_of(call, outcome).value_or(Document{}), ping_from);
}

void MongoStore::remove_ping(std::string_view process) {
  const MongoCall call = call_at_once("removal of the ping of process", process);
  static_cast<void>(value_of(call, call.write(remove_ping_command(process))));
}

std::int64_t MongoStore::forget_pings(std::chrono::milliseconds age) {
  const MongoCall call(*pool_, settings_of_two_, Doing{"removal of old pings", {}}, room_.get());
  std::vector<PingRecord> old;
  call.read_each(forgettable_pings_command(age, call.clock()), ordinary(call),
                 [&](const Document& ping) {
                   const auto listing = listed<PingRecord>(ping, ping_from);
                   if (listing.record) old.push_back(*listing.record);
                 });
  if (old.empty()) return 0;
  // A ping that has been renewed meanwhile stays.
  const WriteOutcome outcome = call.write(forget_pings_command(old));
  const auto removed = find(outcome.reply.get(), "n");
  if (!removed || !BSON_ITER_HOLDS_NUMBER(&*removed)) call.odd("has no \"n\"", Effect::writes);
  return bson_iter_as_int64(&*removed);
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

}  // namespace

std::shared_ptr<Store> open_mongo_store(const ConnectionString& connection,
                                        const StoreOptions& options, MongoServers servers) {
  return std::make_shared<MongoStore>(connection, options, servers);
}

}  // namespace distlock
