// For tools/mutation: which places each test reaches, one line a test in the file of
// DISTLOCK_TESTS.

#include <chrono>
#include <cstdlib>
#include <fstream>

#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <catch2/catch.hpp>

#include "planted.h"

namespace {

class Listener : public Catch::TestEventListenerBase {
 public:
  using TestEventListenerBase::TestEventListenerBase;

  void testCaseStarting(const Catch::TestCaseInfo& test) override {
    note("", false);  // Places that are reached between tests.
    TestEventListenerBase::testCaseStarting(test);
    begun_ = std::chrono::steady_clock::now();
  }

  void testCaseEnded(const Catch::TestCaseStats& test) override {
    note(test.testInfo.name, !test.totals.assertions.allOk());
    TestEventListenerBase::testCaseEnded(test);
  }

 private:
  void note(const std::string& test, bool failed) {
    const char* file = std::getenv("DISTLOCK_TESTS");
    if (file == nullptr) return;
    const auto numbers = distlock_mutation::take_reached();
    if (test.empty() && numbers.empty()) return;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun_;
    std::ofstream notes(file, std::ios::app);
    notes << test << '\t' << (test.empty() ? 0.0 : took.count()) << '\t' << failed << '\t';
    for (const int number : numbers) notes << number << ' ';
    notes << '\n';
  }

  std::chrono::steady_clock::time_point begun_;
};

}  // namespace

CATCH_REGISTER_LISTENER(Listener)
