#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>
#include <functional>
#include <future>
#include <memory>
#include <stop_token>
#include <vector>

#include "pinger/holds.h"

// Tokens that one look at the deadlines stops (R9).
using namespace distlock;
using namespace std::chrono_literals;

TEST_CASE("of two tokens that are due at once each is stopped though code at the other one blocks",
          "[announcer][lifetime][R9][threads]") {
  std::promise<void> go_on;
  const auto held_up = go_on.get_future().share();
  const std::function<void()> block = [&] { held_up.wait(); };
  Holds holds{AnnounceOn::own_threads};
  holds.announcer().start();
  std::vector<std::shared_ptr<Hold>> all;
  std::vector<std::stop_token> tokens;
  std::vector<std::unique_ptr<std::stop_callback<std::function<void()>>>> blocking;
  for (const Token ts : {Token{{1}}, Token{{2}}}) {
    const auto& hold = all.emplace_back(std::make_shared<Hold>("lock", 1h));
    holds.enlist(hold, ts);
    hold->claim_validity.begin(SteadyTime{0h});
    REQUIRE(holds.begin(*hold, ts, {}, SteadyTime{0h}));
    tokens.push_back(holds.stop_token(*hold));
    blocking.push_back(
        std::make_unique<std::stop_callback<std::function<void()>>>(tokens.back(), block));
  }
  holds.announce_due(SteadyTime{1h});
  const auto until = host_clock()->steady_now() + 60s;
  const auto all_stopped = [&] { return tokens[0].stop_requested() && tokens[1].stop_requested(); };
  while (!all_stopped() && host_clock()->steady_now() < until) boost::this_thread::yield();
  CHECK(all_stopped());
  go_on.set_value();
  for (const auto& hold : all) holds.silence(*hold);
  holds.announcer().close();
}
