#include <catch2/catch.hpp>
#include <string>

#include "log.h"
#include "support/captured_log.h"

using namespace distlock;
using namespace distlock::testing;
using namespace std::chrono_literals;

TEST_CASE("names in all messages of the log are escaped", "[log][R14][M6]") {
  Captured log;
  const std::string strange = "a\nb";
  const LockRecord lock{.name = strange, .process = strange, .who = strange, .why = strange};
  log::creating_ping_thread(strange);
  log::pinged(strange, true);
  log::ping_failed(strange, "e");
  log::taken_by_old_process(lock);
  log::claim_came_second(strange);
  log::unlocked(strange);
  log::passed_on(strange);
  log::unlock_attempt_failed(strange, 1, "e");
  log::unlock_not_consummated(strange, 1ms);
  log::store_clock_stepped(strange);
  log::not_ours_any_more(strange, false);
  log::claim_outcome_unknown(strange, "e");
  log::claim_came_too_late(strange);
  log::pending_release_settled(strange);
  log::repaired(strange, 1);
  log::pending_release_failed(strange, "e");
  log::stray_hold(strange);
  log::ping_late(strange, 1ms);
  log::ping_recovered(strange, 1ms);
  log::no_bell(strange);
  log::no_witness(strange);
  log::member_kept_out(strange, 1ms);
  log::member_carries_locks(strange);
  log::member_waits_for_fence(strange, strange, strange);
  log::member_is_back(strange);
  log::member_of_another_set(strange);
  log::member_of_another_place(strange);
  log::member_is_a_copy(strange);
  log::member_cannot_be_used(strange, "e");
  log::member_cannot_be_used("m", strange);
  log::place_not_given_up(strange, "e");
  log::store_failed_while_waiting(strange, "e");
  log::lost(strange, LossReason::deadline_passed);
  log::callback_threw(strange, "e");
  log::no_thread_to_announce(strange);
  CHECK(log.count_all() == 35);
  for (const LoggedLine& line : log.lines()) {
    CHECK_THAT(line.text, Catch::Contains("a\\x0ab") && !Catch::Contains("\n"));
  }
}
