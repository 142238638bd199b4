// Documents that a hostile writer can put into the two collections, and their effect.
#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <limits>

#include "distlock/stores.h"
#include "mongo/attempts.h"
#include "security/secured.h"
#include "stores/mongodb/mongo_bson.h"
#include "stores/mongodb/mongo_documents.h"

using namespace distlock;
using namespace distlock::testing;
using Catch::Contains;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kMiB = 1024 * 1024;
const StoreTime kLate{24h * 365 * 130};  // Not to be forgotten for its age.
const Token kTheirs = *token_from_hex("020000000000000000000000");

Bson taken(BsonValue id, BsonValue why = "harm") {
  return doc({{"_id", std::move(id)},
              {"state", 1},
              {"process", "sh"},
              {"who", "sh"},
              {"when", StoreTime{1s}},
              {"why", std::move(why)},
              {"ts", kTheirs}});
}

Bson with(Bson document, std::string_view field, BsonValue value) {
  append(document, field, value);
  return document;
}

Bson nested(int depth) {
  Bson inner = doc({{"a", 1}});
  for (int i = 1; i < depth; ++i) inner = doc({{"a", std::move(inner)}});
  return inner;
}

void insert(const Secured& secured, std::string_view collection, Bson document) {
  const Bson reply = secured.server().run(
      doc({{"insert", collection}, {"documents", array({std::move(document)})}}));
  INFO(reply.json());
  REQUIRE_FALSE(find(reply.get(), "writeErrors"));
}

/// Of each kind one, and how many of them are malformed.
int put_odd_ones(const Secured& secured) {
  const auto lock = [&](Bson document) { insert(secured, "locks", std::move(document)); };
  for (const std::string_view id : {"^.*$", "$where", "$$NOW", "a.b.c", "../../etc", "%s%n", ""})
    lock(taken(id));
  lock(with(taken("deep"), "junk", nested(90)));
  lock(with(taken("old"), "takeover_after", std::numeric_limits<std::int64_t>::max()));
  lock(taken(1));
  lock(taken(StoreTime{std::chrono::milliseconds::max()}));
  lock(taken(nested(90)));
  lock(taken("why is deep", nested(90)));
  lock(with(taken("two states"), "state", 0));
  lock(with(taken("two tokens"), "ts", kOurs));
  lock(with(taken("full"), "fence", std::numeric_limits<std::int64_t>::max()));
  lock(with(taken("less"), "fence", std::int64_t{-1}));
  lock(doc({{"_id", "NaN"}, {"state", std::numeric_limits<double>::quiet_NaN()}}));
  lock(doc({{"_id", "huge"}, {"state", 1e308}}));
  lock(doc({{"_id", "array"}, {"state", array({0})}}));
  for (const auto ping : {std::chrono::milliseconds::max(), std::chrono::milliseconds::min()})
    insert(secured, "lockpings",
           doc({{"_id", std::to_string(ping.count())}, {"ping", StoreTime{ping}}}));
  insert(secured, "lockpings", doc({{"_id", "other"}, {"ping", nested(90)}}));
  return 12;
}

int lines_with(const std::string& text, const std::string& word) {
  int count = 0;
  for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++count;
  return count;
}

ToolProcess::Environment store_of(const Secured& secured) {
  return {{"DISTLOCK_URI", secured.uri()}};
}

void check_others_work(const Secured& secured) {
  const Said run = say({"run", "-v", "sound", "--", "true"}, store_of(secured));
  INFO(run.messages);
  CHECK(run.status == 0);
  const auto store = open_store(ConnectionString(secured.uri()));
  CHECK(store->claim("held", FromAbsent{}, our_claim(*store)));
  CHECK_FALSE(failure_of([&] { store->forget_pings(96h); }));
  CHECK(store->holds("db7:1:1").size() == 1);
  CHECK(say({"break", "--yes", "held"}, store_of(secured)).status == 0);
  CHECK(say({"status", "sound"}, store_of(secured)).status == 0);
}

/// Of the largest of the tools that have ended.
std::size_t most_memory() {
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  return static_cast<std::size_t>(used.ru_maxrss) * 1024;
}

}  // namespace

TEST_CASE("odd documents are named one by one, and all else works", "[security][R14]") {
  const Secured secured;
  const int malformed = put_odd_ones(secured);
  check_others_work(secured);
  const Said list = say({"list", "--json"}, store_of(secured));
  INFO(list.all());
  CHECK(list.status == 65);
  CHECK(lines_with(list.messages, "nothing was changed") == malformed);
  for (const std::string name : {"deep", "a.b.c", "$where", "two states", "NaN"})
    CHECK_THAT(list.output, Contains('"' + name + '"'));
  CHECK(say({"break", "--yes", "two tokens"}, store_of(secured)).status == 65);
  CHECK(say({"break", "--yes", "^.*$"}, store_of(secured)).status == 0);
  CHECK(say({"status", "$where"}, store_of(secured)).status == 0);
}

TEST_CASE("documents of 15 MB are named, and do not fill the memory", "[security][R14]") {
  const Secured secured;
  const std::string large(15 * kMiB, 'x');
  for (const std::string name : {"a", "b"}) {
    insert(secured, "locks", taken(name + " why", large));
    insert(secured, "locks", with(taken(name + " junk"), "junk", large));
    insert(secured, "lockpings", doc({{"_id", name}, {"ping", kLate}, {"clock", large}}));
  }
  insert(secured, "locks", taken(large.substr(0, 6 * kMiB)));
  check_others_work(secured);
  const Said list = say({"list", "--json"}, store_of(secured));
  CHECK(list.status == 65);
  CHECK(list.all().size() < 64 * 1024);
  INFO(list.messages);
  CHECK(lines_with(list.messages, "expected at most 65536") == 5);
  CHECK(say({"status", "a why"}, store_of(secured)).status == 65);
  CHECK(say({"status", "a junk"}, store_of(secured)).status == 0);
  WARN("at most " << most_memory() / kMiB << " MiB");
  CHECK(most_memory() < 250 * kMiB);
}

TEST_CASE("a text of another program reaches a terminal as text only", "[security]") {
  const Secured secured;
  const std::string bad =
      "\x1b[31m\x07\r\x7f\xc2\x9b"
      "1m\xe2\x80\xae\xe2\x80\xa8\xef\xbb\xbf\xff";
  insert(secured, "locks", with(taken(bad, bad), "fence", std::int64_t{1}));
  insert(secured, "locks", taken("sound", bad));
  insert(secured, "locks", doc({{"_id", bad + "2"}, {"state", bad}}));
  insert(secured, "lockpings", doc({{"_id", "sh"}, {"ping", StoreTime{1s}}, {"clock", bad}}));
  insert(secured, "lockpings", doc({{"_id", bad}, {"ping", bad}}));
  const std::string typed = bad.substr(0, bad.size() - 1);
  for (const std::vector<std::string>& words : {std::vector<std::string>{"list"},
                                                {"list", "--json"},
                                                {"list", "--names"},
                                                {"status", "-v"},
                                                {"status", "sound"},
                                                {"status", typed},
                                                {"status", bad},
                                                {"break", "sound"},
                                                {"break", "--yes", "sound"},
                                                {"run", "-v", "--why", typed, typed, "--", typed},
                                                {"run", "-v", "-n", "sound", "--", "true"},
                                                {"run", "--" + bad},
                                                {"run", "-E", bad, "x", "true"},
                                                {"list", "--uri", bad},
                                                {"list", "--uri-file", bad},
                                                {bad}}) {
    const Said said = say(words, store_of(secured));
    INFO(words.front() << ' ' << words.size());
    for (const std::string part : {"\x1b", "\x07", "\r", "\x7f", "\xc2\x9b", "\xe2\x80\xae",
                                   "\xe2\x80\xa8", "\xef\xbb\xbf", "\xff"})
      CHECK(said.all().find(part) == said.all().npos);
  }
}
