#include "stores/mirrored/returns.h"

#include <algorithm>
#include <boost/thread/lock_guard.hpp>
#include <charconv>
#include <limits>
#include <utility>

namespace distlock::mirrored {
namespace {

using Guard = boost::lock_guard<boost::mutex>;

constexpr std::string_view kBefore = "; came back: ";
// Of sets that a process has heard of. It is one, unless somebody exchanges members.
constexpr std::size_t kSetsMost = 100;
constexpr std::uint64_t kStepMost = std::uint64_t{1} << 32U;

}  // namespace

std::uint64_t returns_at(const Returns& returns, std::size_t place) {
  return place < returns.size() ? returns[place] : 0;
}

Returns merged(Returns one, const Returns& other) {
  one.resize(std::max(one.size(), other.size()));
  for (std::size_t i = 0; i < other.size(); ++i) one[i] = std::max(one[i], other[i]);
  return one;
}

std::optional<Returns> with_greater(Returns returns, std::size_t place, std::uint64_t random) {
  const std::uint64_t step = 1 + random % kStepMost;
  returns.resize(std::max(returns.size(), place + 1));
  if (returns[place] > std::numeric_limits<std::uint64_t>::max() - step) return std::nullopt;
  returns[place] += step;
  return returns;
}

std::string with_returns(std::string_view text, const Returns& returns) {
  std::string all(text);
  if (std::all_of(returns.begin(), returns.end(), [](auto number) { return number == 0; })) {
    return all;
  }
  all += kBefore;
  for (std::size_t i = 0; i < returns.size(); ++i) {
    all += (i == 0 ? "" : " ") + std::to_string(returns[i]);
  }
  return all;
}

Returns returns_in(std::string_view text) {
  const auto found = text.rfind(kBefore);
  if (found == std::string_view::npos) return {};
  text.remove_prefix(found + kBefore.size());
  Returns returns;
  while (true) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) return {};
    returns.push_back(number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) return returns;
    if (text.front() != ' ') return {};
    text.remove_prefix(1);
  }
}

void KnownReturns::note(const Token& set, const Returns& returns) {
  if (returns.empty()) return;
  const Guard lock(mutex_);
  if (known_.size() >= kSetsMost && !known_.contains(set)) return;
  Returns& known = known_[set];
  known = merged(known, returns);  // Of a copy: want of memory must not lose what is known.
}

std::uint64_t KnownReturns::at(const Token& set, std::size_t place) const {
  const Guard lock(mutex_);
  const auto known = known_.find(set);
  return known == known_.end() ? 0 : returns_at(known->second, place);
}

}  // namespace distlock::mirrored
