#include "distlock/error.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "distlock/loss.h"
#include "support/fleet.h"

using namespace distlock;

TEST_CASE("every failure has words of its own", "[error]") {
  const std::error_category& category = error_category();
  CHECK(category.name() == std::string("distlock"));
  std::set<std::string> words;
  for (const Errc errc : {Errc::not_applied, Errc::outcome_unknown, Errc::bad_record,
                          Errc::invalid_argument, Errc::permission_denied, Errc::already_held,
                          Errc::lock_lost, Errc::forked, Errc::stopped, static_cast<Errc>(999)}) {
    words.insert(category.message(static_cast<int>(errc)));
  }
  CHECK(words.size() == 10);
  CHECK(words.contains("unknown code 999"));
  CHECK_FALSE(words.contains(""));
}

TEST_CASE("an error says what happened, and of its code only that the outcome is unknown",
          "[error]") {
  CHECK(Error(Errc::not_applied, "reading \"a\"").what() == std::string("reading \"a\""));
  CHECK(Error(Errc::invalid_argument, "no name").what() == std::string("no name"));
  const Error unknown(Errc::outcome_unknown, "claiming \"a\"");
  CHECK_THAT(unknown.what(), Catch::StartsWith("claiming \"a\": ") &&
                                 Catch::Contains("the store may have changed"));
  const Error copy = unknown;
  CHECK(copy.what() == std::string(unknown.what()));
  CHECK(copy.errc() == Errc::outcome_unknown);
}

TEST_CASE("every loss has words of its own", "[lifetime]") {
  std::set<std::string_view> words;
  for (const LossReason reason :
       {LossReason::deadline_passed, LossReason::taken_over, LossReason::freed,
        LossReason::replaced, LossReason::document_gone, static_cast<LossReason>(999)}) {
    words.insert(to_text(reason));
  }
  CHECK_FALSE(words.contains(""));
  CHECK(words.size() == 6);
}

TEST_CASE("a lock that is not held has no record", "[lock]") {
  distlock::testing::Fleet fleet;
  const auto lock = fleet.process("a").lock("balancer");
  const auto code = [&] {
    try {
      static_cast<void>(lock->record());
    } catch (const Error& error) {
      return error.errc();
    }
    return Errc::stopped;
  };
  CHECK(code() == Errc::lock_lost);
  REQUIRE(lock->lock_try("x"));
  CHECK(lock->record().why == "x");
  REQUIRE(lock->unlock() == UnlockResult::released);
  CHECK(code() == Errc::lock_lost);
}

TEST_CASE("the words for a loss say what has happened", "[lifetime]") {
  const auto words = [](LossReason reason) { return std::string(to_text(reason)); };
  CHECK_THAT(words(LossReason::deadline_passed), Catch::StartsWith("deadline passed"));
  CHECK_THAT(words(LossReason::taken_over), Catch::StartsWith("taken over"));
  CHECK_THAT(words(LossReason::freed), Catch::StartsWith("freed"));
  CHECK_THAT(words(LossReason::replaced), Catch::Contains("another hold's ts"));
  CHECK_THAT(words(LossReason::document_gone), Catch::Contains("was deleted"));
}

TEST_CASE("the words for a failure say which it is", "[error]") {
  const auto words = [](Errc errc) { return make_error_code(errc).message(); };
  CHECK_THAT(words(Errc::not_applied), Catch::StartsWith("not applied"));
  CHECK_THAT(words(Errc::outcome_unknown), Catch::StartsWith("outcome unknown"));
  CHECK(words(Errc::bad_record) == "malformed document");
  CHECK(words(Errc::invalid_argument) == "invalid argument");
  CHECK(words(Errc::permission_denied) == "permission denied");
  CHECK_THAT(words(Errc::already_held), Catch::StartsWith("already held"));
  CHECK_THAT(words(Errc::lock_lost), Catch::StartsWith("lock lost"));
  CHECK_THAT(words(Errc::forked), Catch::Contains("fork"));
  CHECK_THAT(words(Errc::stopped), Catch::Contains("stopped"));
  CHECK(words(Errc::deadlock) == "deadlock");
  CHECK_THAT(words(Errc::store_replaced), Catch::Contains("replaced"));
}
