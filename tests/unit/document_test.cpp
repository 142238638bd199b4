#include "stores/document.h"

#include <catch2/catch.hpp>

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

TEST_CASE("a refusal shows no control characters of a name", "[document][R14]") {
  CHECK_THAT(refusal_of({{"_id", "\x1b[2J"s}, {"state", "x"s}}),
             Catch::Contains("\"\\x1b[2J\"") && !Catch::Contains("\x1b"));
}

TEST_CASE("a document whose _id is no string is refused by what it is", "[document][R14]") {
  CHECK_THAT(
      refusal_of({{"_id", std::int32_t{7}}, {"state", std::int32_t{0}}}),
      Catch::Contains("whose _id is the 32-bit integer 7") && Catch::Contains("field \"_id\""));
  CHECK_THAT(refusal_of({{"state", std::int32_t{0}}}), Catch::Contains("without _id"));
  CHECK_THROWS_AS(ping_from({{"ping", StoreTime{}}}), Error);
}

TEST_CASE("a state is a number of any type, and nothing between", "[document][R14]") {
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

TEST_CASE("a text of 65536 bytes is read, and no longer one", "[document][R14]") {
  const auto lock_because = [](std::size_t bytes) {
    return Document{{"_id", "a"s}, {"state", std::int32_t{0}}, {"why", std::string(bytes, 'y')}};
  };
  CHECK(lock_from(lock_because(65536)).why.size() == 65536);
  CHECK_THAT(refusal_of(lock_because(65537)), Catch::Contains("65537 bytes"));
}

TEST_CASE("a negative number says nothing of how pings have fared", "[document][R14]") {
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

TEST_CASE("fields that are not ours are no concern", "[document][R14]") {
  const LockRecord lock =
      lock_from({{"term", Foreign{"an array"}}, {"_id", "a"s}, {"state", std::int32_t{0}}});
  CHECK(lock.name == "a");
  CHECK_FALSE(lock.taken());
}
