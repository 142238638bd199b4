#include <catch2/catch.hpp>
#include <cstdlib>
#include <set>

#include "contract/differential/answers.h"
#include "support/memory_under_test.h"
#include "support/seed.h"

using namespace distlock::testing;

namespace {

constexpr std::size_t kSteps = 30;

constexpr const char* kSeed = "DISTLOCK_DIFFERENTIAL_SEED";

// A seed that is given repeats one, by default.
int sequences() {
  if (const char* number = std::getenv("DISTLOCK_DIFFERENTIAL_SEQUENCES")) return std::stoi(number);
  return std::getenv(kSeed) == nullptr ? 100 : 1;
}

// A batch that compares nothing of interest fails by this. A small one may lack some by chance.
const std::set<std::string> kFirstWords{"sees",  "no",     "granted", "refused", "freed", "not",
                                        "error", "forgot", "holds",   "already", "left",  "waits"};

std::set<std::string> first_words_of_one_sequence(std::uint64_t seed) {
  Answering reference(std::make_unique<MemoryUnderTest>());
  Answering compared(make_store_under_test());
  std::set<std::string> first_words;
  int number = 0;
  for (const Step& step : steps_from(seed, kSteps)) {
    INFO(kSeed << '=' << seed << ", step " << ++number << ": " << described(step));
    INFO("before:\n" << reference.state());
    const std::string expected = reference.answer(step);
    REQUIRE(compared.answer(step) == expected);
    REQUIRE(compared.state() == reference.state());
    first_words.insert(expected.substr(0, expected.find(' ')));
  }
  return first_words;
}

}  // namespace

TEST_CASE("this store answers as the memory store does", "[store][R2][R3][R8][R13][R14][R17]") {
  const std::uint64_t first = seed_from(kSeed);
  std::set<std::string> first_words;
  for (int i = 0; i < sequences(); ++i) {
    first_words.merge(first_words_of_one_sequence(first + static_cast<std::uint64_t>(i)));
  }
  if (sequences() < 100) return;
  for (const std::string& word : kFirstWords) {
    INFO("no answer began with: " << word);
    CHECK(first_words.contains(word));
  }
}
