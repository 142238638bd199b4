#include "cli/exit_status.h"

#include <catch2/catch.hpp>

using namespace distlock;
using namespace distlock::cli;

TEST_CASE("every failure of the library has its documented exit status", "[cli]") {
  CHECK(exit_status_of(Errc::not_applied) == 69);
  CHECK(exit_status_of(Errc::outcome_unknown) == 69);
  CHECK(exit_status_of(Errc::bad_record) == 65);
  CHECK(exit_status_of(Errc::invalid_argument) == 64);
  CHECK(exit_status_of(Errc::permission_denied) == 77);
  CHECK(exit_status_of(Errc::lock_lost) == 75);
  CHECK(exit_status_of(Errc::already_held) == 70);
  CHECK(exit_status_of(Errc::forked) == 70);
  CHECK(exit_status_of(Errc::stopped) == 70);
  CHECK(exit_status_of(Errc::deadlock) == 70);
  CHECK(exit_status_of(Errc::store_replaced) == 69);
}
