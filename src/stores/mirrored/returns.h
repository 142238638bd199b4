#pragma once

#include <boost/thread/mutex.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "distlock/record.h"

// The numbers of a set's places, which grow whenever a member comes back without its data (M6). A
// member is told by its number from its own earlier life, and from another store at its place.
namespace distlock::mirrored {

/// By place. Places beyond the end have never come back.
using Returns = std::vector<std::uint64_t>;

std::uint64_t returns_at(const Returns& returns, std::size_t place);
/// Of each place the greater number.
Returns merged(Returns one, const Returns& other);
/// With a greater number at that place, by a step of 1 to 2^32: two processes that give a place
/// anew at once give it two numbers. Nothing if there is no such number.
std::optional<Returns> with_greater(Returns returns, std::size_t place, std::uint64_t random);

/// `text`, and the numbers behind it; alone if all of them are 0.
std::string with_returns(std::string_view text, const Returns& returns);
/// The numbers behind such a text. Anything else says nothing.
Returns returns_in(std::string_view text);

/// All that this process has heard of the members' returns, by set. Threads: any.
class KnownReturns {
 public:
  void note(const Token& set, const Returns& returns);
  std::uint64_t at(const Token& set, std::size_t place) const;

 private:
  mutable boost::mutex mutex_;
  std::map<Token, Returns> known_;
};

}  // namespace distlock::mirrored
