#pragma once

#include <algorithm>
#include <boost/thread/lock_guard.hpp>
#include <boost/thread/mutex.hpp>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "distlock/members.h"

namespace distlock::mirrored {

/// By lock, the bases from which members that were asked first have refused claims. A rival that
/// came first has changed the document. A member that shows the same again has refused for a reason
/// of its own: a trigger in its database may take writes away (M2).
///
/// Threads: all functions may be called concurrently.
class RefusedClaims {
 public:
  void note(std::string_view lock, const MemberBasis& refused) {
    const boost::lock_guard<boost::mutex> guard(mutex_);
    if (by_lock_.size() >= kMost && !by_lock_.contains(lock)) by_lock_.clear();
    std::vector<MemberBasis>& all = by_lock_[std::string(lock)];
    std::erase_if(all, [&](const MemberBasis& one) { return one.member == refused.member; });
    all.push_back(refused);
  }
  bool contains(std::string_view lock, const MemberBasis& basis) const {
    const boost::lock_guard<boost::mutex> guard(mutex_);
    const auto found = by_lock_.find(lock);
    if (found == by_lock_.end()) return false;
    return std::any_of(found->second.begin(), found->second.end(), [&](const MemberBasis& one) {
      return one.member == basis.member && is_same(one.basis, basis.basis);
    });
  }

 private:
  static constexpr std::size_t kMost = 1000;

  static bool is_same(const ClaimBasis& one, const ClaimBasis& other) {
    if (one.index() != other.index()) return false;
    if (const auto* free = std::get_if<FromFree>(&one)) {
      return free->ts == std::get<FromFree>(other).ts;
    }
    const auto* hold = std::get_if<FromHold>(&one);
    if (hold == nullptr) return true;
    const auto& of_other = std::get<FromHold>(other);
    return hold->ts == of_other.ts && hold->when == of_other.when;
  }

  mutable boost::mutex mutex_;
  // Guarded by `mutex_`. One basis a member.
  std::map<std::string, std::vector<MemberBasis>, std::less<>> by_lock_;
};

}  // namespace distlock::mirrored
