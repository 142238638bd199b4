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

// How often the members of a set have come back without their data (M6). A member is told by this
// number from its own earlier life, and from another store that was at its place.
namespace distlock::mirrored {

/// By place. Places beyond the end have never come back.
using Returns = std::vector<std::uint32_t>;

std::uint32_t returns_at(const Returns& returns, std::size_t place);
/// Of each place the greater number.
Returns merged(Returns one, const Returns& other);
/// With one more at that place. Nothing if there is no greater number.
std::optional<Returns> with_one_more(Returns returns, std::size_t place);

/// `text`, and the numbers behind it; alone if all of them are 0.
std::string with_returns(std::string_view text, const Returns& returns);
/// The numbers behind such a text. Anything else says nothing.
Returns returns_in(std::string_view text);

/// All that this process has heard of the members' returns, by set. Threads: any.
class KnownReturns {
 public:
  void note(const Token& set, const Returns& returns);
  std::uint32_t at(const Token& set, std::size_t place) const;

 private:
  mutable boost::mutex mutex_;
  std::map<Token, Returns> known_;
};

}  // namespace distlock::mirrored
