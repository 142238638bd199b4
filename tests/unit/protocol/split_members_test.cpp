// Contenders of which each claims another member of a mirrored store first: they split the members,
// and give up what they got. The pauses between looks part them (M2, R15).
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <optional>

#include "protocol/protocol.h"

using namespace distlock;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kMembers = 3;
constexpr std::size_t kMajority = 2;

/// Three contenders that begin at one moment. Each looks, claims its first member, then the others,
/// and gives back what is no majority. Each step takes a millisecond.
class SplitContest {
 public:
  explicit SplitContest(std::uint64_t seed) {
    for (std::size_t i = 0; i < kMembers; ++i) {
      contenders_[i].first = i;
      contenders_[i].random = seed * kMembers + i;
    }
  }

  /// How many looks there were when one holds. Nothing: none does after `most` of them.
  std::optional<int> looks_until_held(int most) {
    while (looks_ < most) {
      Contender& next =
          *std::min_element(contenders_.begin(), contenders_.end(),
                            [](const auto& one, const auto& other) { return one.due < other.due; });
      take_step(next);
      if (next.step == Step::held) return looks_;
      next.due += 1ms;
    }
    return std::nullopt;
  }
  int given_back() const { return given_back_; }

 private:
  enum class Step { look, first, others, give_back, held };
  struct Contender {
    std::size_t first = 0;
    std::uint64_t random = 0;
    Step step = Step::look;
    int round = 0;
    std::chrono::nanoseconds due{0};
  };

  void take_step(Contender& one) {
    if (one.step == Step::look) {
      ++looks_;
      if (owned_by(nullptr) < kMajority) return wait(one);
      one.step = Step::first;
    } else if (one.step == Step::first) {
      if (!claim(one, one.first)) return wait(one);
      one.step = Step::others;
    } else if (one.step == Step::others) {
      for (std::size_t i = 0; i < kMembers; ++i) claim(one, i);
      one.step = owned_by(&one) >= kMajority ? Step::held : Step::give_back;
    } else {
      ++given_back_;
      for (const Contender*& owner : owners_) {
        if (owner == &one) owner = nullptr;
      }
      wait(one);
    }
  }
  void wait(Contender& one) {
    one.random = one.random * 6364136223846793005ULL + 1442695040888963407ULL;
    one.due += protocol::poll_pause(one.round++, one.random, 0ms, LockOptions{});
    one.step = Step::look;
  }
  bool claim(const Contender& by, std::size_t member) {
    if (owners_[member] == nullptr) owners_[member] = &by;
    return owners_[member] == &by;
  }
  std::size_t owned_by(const Contender* owner) const {
    return static_cast<std::size_t>(std::count(owners_.begin(), owners_.end(), owner));
  }

  std::array<Contender, kMembers> contenders_;
  std::array<const Contender*, kMembers> owners_{};
  int looks_ = 0;
  int given_back_ = 0;
};

}  // namespace

TEST_CASE("three contenders that split the members do not split them for ever",
          "[protocol][mirrored][M2][R15]") {
  constexpr int kLooksMost = 30;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    CAPTURE(seed);
    SplitContest contest(seed);
    CHECK(contest.looks_until_held(kLooksMost));
    // As each of them got one member at first.
    CHECK(contest.given_back() >= 3);
  }
}
