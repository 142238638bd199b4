// Openings of its store that a watch outlasts, or not.
#include <catch2/catch.hpp>
#include <memory>
#include <stop_token>

#include "cli/exit_status.h"
#include "cli/looker.h"
#include "cli/watch.h"
#include "distlock/error.h"
#include "support/thrown.h"

using namespace distlock;
using namespace distlock::cli;
using distlock::cli::testing::Looker;
using distlock::testing::Fault;

TEST_CASE("a watch ends where waiting mends nothing", "[cli][view]") {
  Looker looker;
  const auto refuse = []() -> std::shared_ptr<Store> {
    throw Error(Errc::permission_denied, "no");
  };
  const WatchedStore watched{refuse, *looker.fleet.clock, looker.connection};
  CHECK(distlock::testing::thrown_by([&] { return watch_list({}, watched, looker.streams()); }) ==
        Errc::permission_denied);
}

TEST_CASE("a watch whose store was open once goes on, whatever error an opening has later",
          "[cli][view][R15]") {
  Looker looker;
  std::stop_source stop;
  int openings = 0;
  const auto open = [&]() -> std::shared_ptr<Store> {
    if (++openings == 2) throw Error(Errc::permission_denied, "the folder is shut");
    if (openings == 3) throw Error(Errc::bad_record, "no database of ours");
    if (openings == 1) looker.observer.store->fail("list", Fault::rejected);
    if (openings == 4) looker.observer.store->before("list", [&] { stop.request_stop(); });
    return looker.observer.store;
  };
  const ConnectionString file("sqlite:x");
  const WatchedStore watched{open, *looker.fleet.clock, file};
  CHECK(watch_list({}, watched, looker.streams(), stop.get_token()) == kSuccess);
  CHECK(openings == 4);
  CHECK_THAT(looker.out.str(), Catch::Contains("distlock: the folder is shut\n\ndistlock: no") &&
                                   Catch::Contains("rotate"));
}
