#include "cli/holder.h"

#include <catch2/catch.hpp>
#include <string>

#include "cli/view_cells.h"

using namespace distlock;
using namespace distlock::cli;

TEST_CASE("a hold that names no user is its host's, whether its user is absent or empty",
          "[cli][view]") {
  for (const std::string thread : {"thread3/pid4711", "thread3/pid4711/"}) {
    CAPTURE(thread);
    LockRecord lock;
    lock.process = "db7:17:42";
    lock.who = lock.process + ':' + thread + ":99";
    const Holder holder = holder_of(lock);
    CHECK(holder.process_number == 4711);
    CHECK_FALSE(holder.user);
    CHECK(holder_text(holder) == "db7");
  }
}

TEST_CASE("a holder has its process and its user also where its thread's name has a colon",
          "[cli][view]") {
  LockRecord lock;
  lock.process = "db7:17:42";
  lock.who = lock.process + ":thread3/web:1/pid4711/ann:99";
  const Holder holder = holder_of(lock);
  CHECK(holder.process_number == 4711);
  CHECK(holder.user == "ann");
}
