#include <atomic>
#include <boost/thread/thread.hpp>
#include <catch2/catch.hpp>

#include "contract/contract.h"

using namespace distlock;
using namespace distlock::testing;

namespace {

// Everything that a program may ask of a store, on a lock and for a process of this thread alone.
// The number of wrong answers.
int wrong_answers(Store& store, const std::string& own, int rounds) {
  int wrong = 0;
  ClaimBasis basis = FromAbsent{};
  for (int i = 0; i < rounds; ++i) {
    if (store.ping(own).process != own) ++wrong;
    const auto lock = store.claim(own, basis, claim_by(store, own));
    if (!lock || lock->fence != i + 1) return wrong + 1;
    const Inspection seen = store.inspect(own, Freshness::fresh);
    if (!seen.ping || seen.ping->process != own || seen.lock->ts != lock->ts) ++wrong;
    if (store.holds(own).size() != 1) ++wrong;
    if (store.forget_pings(std::chrono::days{4}) != 0) ++wrong;
    if (store.release(own, *lock->ts) != ReleaseResult::freed) ++wrong;
    store.remove_ping(own);
    if (store.list().locks.empty()) ++wrong;
    basis = FromFree{lock->ts};
  }
  return wrong;
}

}  // namespace

TEST_CASE("threads that use one handle at once each get their own answers", "[store][R1][R2]") {
  const auto under_test = make_store_under_test();
  const auto store = under_test->open();
  std::atomic<int> wrong = 0;
  boost::thread_group threads;
  for (int i = 0; i < 4; ++i) {
    threads.create_thread([&, own = "p" + std::to_string(i)] {
      try {
        wrong += wrong_answers(*store, own, 25);
      } catch (const Error&) {
        ++wrong;
      }
    });
  }
  threads.join_all();
  CHECK(wrong == 0);
  CHECK(store->list().locks.size() == 4);
  CHECK(store->list().pings.empty());
}
