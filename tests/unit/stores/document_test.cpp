#include "stores/document.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>

#include "support/thrown.h"

using namespace distlock;
using namespace std::string_literals;

namespace {

std::string refusal_of(const Document& lock) {
  try {
    lock_from(lock);
    FAIL_CHECK("accepted");
  } catch (const Error& error) {
    CHECK(error.errc() == Errc::bad_record);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a field that is there twice carries nothing", "[document][R9][R14]") {
  const Document sound{{"_id", std::string("x")}, {"state", std::int32_t{1}}, {"ts", Token{{1}}}};
  Document twice = sound;
  twice.emplace_back("ts", Token{{2}});
  CHECK_FALSE(carried_in(twice).ts);
  CHECK(carried_in(twice).state == LockState::taken);
  twice = sound;
  twice.emplace_back("state", std::int32_t{0});
  CHECK_FALSE(carried_in(twice).state);
  CHECK(carried_in(twice).ts == Token{{1}});
}

TEST_CASE("a refusal names collection, document, field, what was found and expected",
          "[document][R14]") {
  CHECK_THAT(refusal_of({{"_id", "balancer"s}, {"state", "taken"s}}),
             Catch::StartsWith("locks document \"balancer\": field \"state\" is a string, expected "
                               "0, 1 or 2; nothing was changed"));
  CHECK_THAT(refusal_of({{"_id", "a"s}, {"state", std::int64_t{3}}}),
             Catch::Contains("field \"state\" is the 64-bit integer 3, expected 0, 1 or 2"));
  CHECK_THAT(refusal_of({{"_id", "a"s}, {"state", 0.5}}), Catch::Contains("is the double 0.5,"));
  CHECK_THAT(refusal_of({{"_id", "a"s}, {"state", Foreign{"an array"}}}),
             Catch::Contains("is an array,"));
  CHECK_THAT(refusal_of({{"_id", "a"s}, {"state", std::int32_t{0}}, {"fence", std::int64_t{-7}}}),
             Catch::Contains("field \"fence\" is -7, expected a 64-bit integer"));
}

TEST_CASE("of a write that left a malformed document it is not said that nothing was changed",
          "[document][R8][R14]") {
  try {
    written(Document{{"_id", "a"s}, {"state", "taken"s}}, lock_from);
    FAIL_CHECK("accepted");
  } catch (const Error& error) {
    CHECK(error.errc() == Errc::outcome_unknown);
    CHECK_THAT(error.what(), Catch::Contains("was applied") && Catch::Contains("\"state\"") &&
                                 !Catch::Contains("nothing was changed"));
  }
}

TEST_CASE("a refusal shows no control characters of a name", "[document][R14]") {
  CHECK_THAT(refusal_of({{"_id", "\x1b[2J"s}, {"state", "x"s}}),
             Catch::Contains("\"\\x1b[2J\"") && !Catch::Contains("\x1b"));
}

TEST_CASE("a document whose _id is no string is refused with that value", "[document][R14]") {
  CHECK_THAT(
      refusal_of({{"_id", std::int32_t{7}}, {"state", std::int32_t{0}}}),
      Catch::Contains("whose _id is the 32-bit integer 7") && Catch::Contains("field \"_id\""));
  CHECK_THAT(refusal_of({{"state", std::int32_t{0}}}), Catch::Contains("without _id"));
  CHECK(distlock::testing::thrown_by([&] {
          return ping_from({{"ping", StoreTime{}}});
        }) == Errc::bad_record);
}

TEST_CASE("a text that is too long to be read is no name", "[document][R14]") {
  const std::string longest(kTextBytesMost, 'x');
  CHECK(listed<LockRecord>({{"_id", longest}}, lock_from).named);
  const auto longer = listed<LockRecord>({{"_id", longest + 'x'}}, lock_from);
  CHECK_FALSE(longer.named);
  CHECK_THAT(longer.id, Catch::EndsWith("... (65537 bytes)"));
}

TEST_CASE("a state is a whole number of any type", "[document][R14]") {
  CHECK(state_of(std::int32_t{0}) == LockState::free);
  CHECK(state_of(std::int64_t{1}) == LockState::taken);
  CHECK(state_of(2.0) == LockState::taken_by_mongodb);
  CHECK(state_of(-0.0) == LockState::free);
  CHECK_FALSE(state_of(1.0000001));
  CHECK_FALSE(state_of(std::int64_t{1} << 32));
  CHECK_FALSE(state_of("1"s));
}

TEST_CASE("a documented field that is there twice is refused", "[document][R14]") {
  const Document sound{{"_id", "a"s}, {"state", std::int32_t{0}}, {"fence", std::int64_t{1}}};
  CHECK_NOTHROW(lock_from(sound));
  for (const auto& [name, value] : sound) {
    Document twice = sound;
    twice.emplace_back(name, value);
    CHECK_THAT(refusal_of(twice), Catch::Contains('"' + name + "\" is there 2 times"));
  }
}

TEST_CASE("a document with two fences tells none", "[document][R10][R14]") {
  Document lock{{"_id", "a"s}, {"state", "x"s}, {"fence", std::int64_t{1}}};
  CHECK(listed<LockRecord>(lock, lock_from).fence == 1);
  lock.emplace_back("fence", std::int64_t{2});
  CHECK_FALSE(listed<LockRecord>(lock, lock_from).fence);
}

TEST_CASE("a text of 65536 bytes is read, and no longer one", "[document][R14]") {
  const auto lock_because = [](std::size_t bytes) {
    return Document{{"_id", "a"s}, {"state", std::int32_t{0}}, {"why", std::string(bytes, 'y')}};
  };
  CHECK(lock_from(lock_because(65536)).why.size() == 65536);
  CHECK_THAT(refusal_of(lock_because(65537)),
             Catch::Contains("is a string of 65537 bytes, expected at most 65536"));
}

TEST_CASE("a negative number makes a ping's health unknown", "[document][R14]") {
  const PingHealth health{.successes = 0, .failures = 2, .round_trip = {}, .late_by = {}};
  Document ping{{"_id", "p"s}, {"ping", StoreTime{}}};
  for (const auto& [name, number] : fields_of(health)) ping.emplace_back(name, number);
  CHECK(ping_from(ping).health == health);
  for (const auto& [name, number] : fields_of(health)) {
    Document odd = ping;
    set_field(odd, name, std::int64_t{-1});
    CHECK_FALSE(ping_from(odd).health);
  }
}

TEST_CASE("unknown fields do not matter", "[document][R14]") {
  const LockRecord lock =
      lock_from({{"term", Foreign{"an array"}}, {"_id", "a"s}, {"state", std::int32_t{0}}});
  CHECK(lock.name == "a");
  CHECK_FALSE(lock.taken());
}

TEST_CASE("an error names the wrong value of a field, whatever its type", "[document][R14]") {
  const auto named = [](const Value& value) {
    return refusal_of({{"_id", "a"s}, {"state", value}});
  };
  CHECK_THAT(named(std::int32_t{-3}), Catch::Contains("is the 32-bit integer -3,"));
  CHECK_THAT(named(std::int64_t{-3}), Catch::Contains("is the 64-bit integer -3,"));
  CHECK_THAT(named(0.1), Catch::Contains("is the double 0.10000000000000001,"));
  CHECK_THAT(named(StoreTime{}), Catch::Contains("is a date,"));
  CHECK_THAT(named(Token{}), Catch::Contains("is an ObjectId,"));
  CHECK_THAT(named(Foreign{"a\nb"}), Catch::Contains("is a\\x0ab,"));
}

TEST_CASE("the name of a refused document is shown whole, a very long one in part",
          "[document][R14]") {
  const auto refused = [](std::size_t size) {
    return refusal_of({{"_id", "N" + std::string(size - 1, 'n')}, {"state", "x"s}});
  };
  CHECK_THAT(refused(65536),
             Catch::StartsWith("locks document \"N" + std::string(65535, 'n') + "\": field"));
  CHECK_THAT(refused(65537), Catch::StartsWith("locks document \"N" + std::string(99, 'n') +
                                               "... (65537 bytes)\": field"));
}

TEST_CASE("a document without a name is named by what stands in its place", "[document][R14]") {
  CHECK_THAT(refusal_of({{"_id", std::int32_t{7}}, {"state", std::int32_t{0}}}),
             Catch::StartsWith("locks document whose _id is the 32-bit integer 7: field \"_id\""));
  CHECK_THAT(refusal_of({{"state", std::int32_t{0}}}),
             Catch::StartsWith("locks document without _id: field \"_id\" is missing, expected"));
}

TEST_CASE("a fence that cannot grow is refused", "[document][R10]") {
  const auto with_fence = [](std::int64_t fence) {
    return Document{{"_id", "a"s}, {"state", std::int32_t{0}}, {"fence", fence}};
  };
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  CHECK(lock_from(with_fence(kLast - 1)).fence == kLast - 1);
  CHECK_THAT(refusal_of(with_fence(kLast)),
             Catch::Contains("field \"fence\" is 9223372036854775807, expected one that can"));
}

TEST_CASE("a number of zero is read as zero, and an absent field as none", "[document][R10]") {
  const Document lock{{"_id", "a"s},
                      {"state", std::int32_t{0}},
                      {"fence", std::int64_t{0}},
                      {"takeover_after", std::int64_t{0}}};
  CHECK(lock_from(lock).fence == 0);
  CHECK(lock_from(lock).takeover_after == std::chrono::milliseconds{0});
  const LockRecord bare = lock_from({{"_id", "a"s}, {"state", std::int32_t{0}}});
  CHECK(bare.fence == 0);
  CHECK_FALSE(bare.takeover_after);
  CHECK(bare.process.empty());
  CHECK(bare.who.empty());
  CHECK(bare.why.empty());
  CHECK_FALSE(bare.when);
  CHECK_FALSE(bare.ts);
}

TEST_CASE("a taken lock lacks none of what its holder wrote", "[document][R14]") {
  const Document whole{
      {"_id", "a"s}, {"state", std::int32_t{1}}, {"process", "p"s},    {"who", "w"s},
      {"why", "y"s}, {"when", StoreTime{}},      {"ts", Token{{1, 2}}}};
  const LockRecord lock = lock_from(whole);
  CHECK(lock.process == "p");
  CHECK(lock.who == "w");
  CHECK(lock.why == "y");
  CHECK(lock.when == StoreTime{});
  CHECK(lock.ts == Token{{1, 2}});
  for (const std::string field : {"process", "who", "why", "when", "ts"}) {
    Document without = whole;
    without.erase(std::find_if(without.begin(), without.end(),
                               [&](const auto& element) { return element.first == field; }));
    CHECK_THAT(refusal_of(without),
               Catch::Contains("field \"" + field + "\" is missing, expected") &&
                   Catch::Contains("in a taken lock"));
  }
}

TEST_CASE("a ping's health is shown whole or not at all", "[document][R12]") {
  const Document ping{{"_id", "p"s},
                      {"ping", StoreTime{}},
                      {"ping_successes", std::int64_t{1}},
                      {"ping_failures", std::int64_t{0}},
                      {"ping_round_trip_ms", std::int64_t{3}},
                      {"ping_late_by_ms", std::int64_t{4}}};
  const auto health = ping_from(ping).health;
  REQUIRE(health);
  CHECK(health->successes == 1);
  CHECK(health->failures == 0);
  CHECK(health->round_trip == std::chrono::milliseconds{3});
  CHECK(health->late_by == std::chrono::milliseconds{4});
  Document again{{"_id", "p"s}, {"ping", StoreTime{}}};
  for (const auto& [field, number] : fields_of(*health)) set_field(again, field, number);
  CHECK(again == ping);
  for (std::size_t field = 2; field < ping.size(); ++field) {
    Document negative = ping;
    negative[field].second = std::int64_t{-1};
    CHECK_FALSE(ping_from(negative).health);
    Document another_type = ping;
    another_type[field].second = std::int32_t{1};
    CHECK_FALSE(ping_from(another_type).health);
    Document lacking = ping;
    lacking.erase(lacking.begin() + static_cast<std::ptrdiff_t>(field));
    CHECK_FALSE(ping_from(lacking).health);
  }
}

TEST_CASE("a field is set in its place, or behind the last", "[document]") {
  Document document{{"a", std::int32_t{1}}, {"b", std::int32_t{2}}};
  set_field(document, "a", std::int32_t{3});
  set_field(document, "c", std::int32_t{4});
  CHECK(document ==
        Document{{"a", std::int32_t{3}}, {"b", std::int32_t{2}}, {"c", std::int32_t{4}}});
}
