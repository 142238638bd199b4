#include "stores/mongodb/mongo_commands.h"

#include <catch2/catch.hpp>

#include "stores/mongodb/mongo_documents.h"
#include "stores/mongodb/mongo_line_commands.h"
#include "stores/mongodb/mongo_privileges.h"

using namespace distlock;
using namespace std::chrono_literals;

namespace {

const Token kSomeTs = *token_from_hex("4d7f000000000000000000aa");

Claim claim_with_why(std::string why) {
  return {.process = "db7:1300000000:1",
          .who = "db7:1300000000:1:main:2",
          .why = std::move(why),
          .ts = kSomeTs,
          .takeover_after = 16min,
          .cutoff = {StoreTime{1300000000123ms}, "mongod:1", false}};
}

std::string text_under(const Bson& command, const char* path) {
  const auto found = find(command.get(), path);
  REQUIRE(found);
  REQUIRE(BSON_ITER_HOLDS_UTF8(&*found));
  return bson_iter_utf8(&*found, nullptr);
}

bool has(const Bson& command, const char* path) { return find(command.get(), path).has_value(); }

}  // namespace

TEST_CASE("texts of callers are never read as expressions", "[mongo]") {
  const Bson claim = claim_command("$lock", FromFree{}, claim_with_why("$$ROOT"));
  CHECK(text_under(claim, "update.0.$replaceWith.$cond.1.$mergeObjects.1.why.$literal") ==
        "$$ROOT");
  CHECK(text_under(claim, "query._id") == "$lock");

  const Bson taken = claim_command("$lock", FromHold{kSomeTs}, claim_with_why("$$ROOT"));
  CHECK(text_under(taken, "update.0.$set.why.$literal") == "$$ROOT");
  CHECK(text_under(taken, "query._id") == "$lock");

  const Bson first = claim_command("$lock", FromAbsent{}, claim_with_why(""));
  CHECK(text_under(first, "update.0.$replaceWith.$cond.1._id.$literal") == "$lock");
  CHECK(text_under(first, "update.0.$replaceWith.$cond.2._id.$literal") == "$lock");

  CHECK(text_under(ping_command("$p", "$c", {}), "update.0.$set.clock.$literal") == "$c");

  const Bson holds = holds_command("$p");
  CHECK(text_under(holds, "pipeline.0.$match.process") == "$p");
  CHECK(text_under(holds, "pipeline.0.$match.$expr.$and.1.$eq.1.$literal") == "$p");
}

TEST_CASE("texts of a waiter in line are never read as expressions", "[mongo][R17]") {
  Claim claim = claim_with_why("");
  claim.process = "$p";
  claim.who = "$$w";
  const Bson stand = stand_command("$lock", claim);
  CHECK(text_under(stand, "query._id") == "$lock");
  CHECK(text_under(stand, "update.0.$replaceWith.$mergeObjects.1.$cond.1._id.$literal") == "$lock");
  const std::string place =
      "update.4.$replaceWith.$switch.branches.1.then.$mergeObjects.1.line.$mergeObjects.1." +
      to_hex(kSomeTs);
  CHECK(text_under(stand, (place + ".process.$literal").c_str()) == "$p");
  CHECK(text_under(stand, (place + ".who.$literal").c_str()) == "$$w");
}

TEST_CASE("a command on no collection names no privilege", "[mongo]") {
  CHECK(needed_by(doc({})).empty());
  CHECK(needed_by(hello_command()).empty());
  CHECK(needed_by(lock_index_command()) == std::vector<Privilege>{{"createIndex", "locks"}});
}

TEST_CASE("every claim carries its cutoff and lets the server tell the time", "[mongo][R4][R8]") {
  const Claim claim = claim_with_why("");
  for (const ClaimBasis& basis : {ClaimBasis{FromAbsent{}}, {FromFree{}}, {FromHold{kSomeTs}}}) {
    const std::string text = claim_command("jobs", basis, claim).json();
    CHECK_THAT(text,
               Catch::Contains(
                   R"("$lte" : [ "$$NOW", { "$date" : { "$numberLong" : "1300000000123" } } ])"));
    CHECK_THAT(text, Catch::Contains(R"("when" : "$$NOW")"));
  }
}

TEST_CASE("a first claim inserts and cannot match a document", "[mongo][R2]") {
  const Bson first = claim_command("jobs", FromAbsent{}, claim_with_why(""));
  CHECK(has(first, "query.state.$in"));
  CHECK_FALSE(has(first, "query.state.$in.0"));
  CHECK(has(first, "upsert"));
}

TEST_CASE("a claim of a document that exists never inserts", "[mongo][R2]") {
  CHECK_FALSE(has(claim_command("jobs", FromFree{}, claim_with_why("")), "upsert"));
  CHECK_FALSE(has(claim_command("jobs", FromHold{kSomeTs}, claim_with_why("")), "upsert"));
  CHECK_FALSE(has(release_command("jobs", kSomeTs), "upsert"));
}

TEST_CASE("a release names its hold and sets nothing but the state", "[mongo][R3]") {
  const Bson release = release_command("jobs", kSomeTs);
  CHECK_THAT(release.json(), Catch::Contains(to_hex(kSomeTs)));
  CHECK(has(release, "update.0.$set.state"));
  // A decimal is no state, and equal to one.
  CHECK_THAT(release.json(), Catch::Contains(R"("$type")"));
  CHECK_FALSE(has(release, "update.0.$set.ts"));
  CHECK_FALSE(has(release, "update.1"));
}

TEST_CASE("a claim names the hold or the release that it starts from", "[mongo][R2]") {
  const Token from = *token_from_hex("4d7f000000000000000000bb");
  const Claim claim = claim_with_why("");
  for (const ClaimBasis& basis : {ClaimBasis{FromFree{from}}, {FromHold{from}}}) {
    const std::string text = claim_command("jobs", basis, claim).json();
    CHECK_THAT(text, Catch::Contains(R"("$eq" : [ "$ts", { "$oid" : ")" + to_hex(from)));
  }
}

TEST_CASE("a ping that is removed is the one that the server found to be old", "[mongo][R13]") {
  const StoreTime time{std::chrono::milliseconds{1300000000000}};
  const Bson removal = forget_pings_command(
      {{"db7:1:1", time, "mongod:1", {}}, {"db8:2:2", time, std::nullopt, {}}});
  CHECK_THAT(text_under(removal, "deletes.0.q._id"), Catch::Equals("db7:1:1"));
  CHECK_THAT(text_under(removal, "deletes.0.q.clock"), Catch::Equals("mongod:1"));
  CHECK(has(removal, "deletes.0.q.ping"));
  CHECK(has(removal, "deletes.1.q.ping"));
  CHECK_FALSE(has(removal, "deletes.1.q.clock"));
  CHECK_THAT(removal.json(), !Catch::Contains("$$NOW"));
}
