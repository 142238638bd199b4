#include "pinger/crew.h"

#include <catch2/catch.hpp>
#include <future>

using namespace distlock;
using namespace std::chrono_literals;

namespace {

// Said on a thread that goes on alone. Copies share it, so that it outlasts whoever waits.
class Said {
 public:
  void now() const { promise_->set_value(); }
  /// Far longer than it takes.
  bool comes() const { return promise_->get_future().wait_for(5min) == std::future_status::ready; }

 private:
  std::shared_ptr<std::promise<void>> promise_ = std::make_shared<std::promise<void>>();
};

}  // namespace

TEST_CASE("a thread may end its own crew", "[pinger][R9]") {
  const bool has_left = GENERATE(false, true);
  CAPTURE(has_left);
  auto crew = std::make_shared<Crew>();
  const Said ended;
  crew->start([crew, has_left, ended](Crew::Member& self) {
    has_left ? crew->leave(self) : self.busy.store(true);
    crew->join();
    ended.now();
  });
  CHECK(ended.comes());
}

TEST_CASE("a crew that has ended starts no thread", "[pinger][R9]") {
  Crew crew;
  crew.join();
  std::atomic<bool> ran = false;
  crew.start([&](Crew::Member&) { ran = true; });
  crew.join();
  CHECK_FALSE(ran);
}

TEST_CASE("the end of a crew waits for each that is not busy", "[pinger][R9]") {
  Crew crew;
  const Said is_there;
  const Said go_on;
  const Said has_ended;
  std::atomic<bool> worked = false;
  crew.start([is_there, go_on, has_ended](Crew::Member& self) {
    self.busy = true;
    is_there.now();
    if (go_on.comes()) has_ended.now();
  });
  REQUIRE(is_there.comes());
  crew.start([&](Crew::Member&) { worked = true; });
  crew.join();
  CHECK(worked);
  go_on.now();
  CHECK(has_ended.comes());
}
