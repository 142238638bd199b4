#include <algorithm>
#include <boost/thread/lock_guard.hpp>
#include <string>

#include "in_milliseconds.h"
#include "stores/mirrored/mirrored_store.h"

// A set that is gone under the process that knows it (M6).
namespace distlock::mirrored {
namespace {

using Guard = boost::lock_guard<boost::mutex>;

}  // namespace

std::chrono::milliseconds MirroredStore::longest_window_of(const Token& set) const {
  std::chrono::milliseconds longest{};
  for (const auto& member : all_) {
    const auto identity = member->identity();
    if (identity && identity->set == set) longest = std::max(longest, identity->longest_takeover);
  }
  return longest;
}

bool MirroredStore::may_have_majority(const Token& set, const Replies<Inspection>& seen) const {
  std::size_t others = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (!seen[i].answer) continue;
    const auto identity = identity_in(*seen[i].answer, all_[i]->place);
    if (identity && identity->set == set) return true;
    ++others;
  }
  return seen.size() - others >= majority();
}

// Asks nothing while the last answers of a majority were of the set. A member that is away counts
// by its last answer. A look at too few members to be sure neither begins nor ends the count.
void MirroredStore::check_not_gone(const Token& set) {
  const auto of_the_set = std::count_if(all_.begin(), all_.end(), [&](const auto& member) {
    const auto identity = member->identity();
    return identity && identity->set == set;
  });
  if (static_cast<std::size_t>(of_the_set) >= majority()) return note_set_is_there();
  const auto seen = look_at_identities();
  const auto now = set_of_majority(seen);
  if (may_have_majority(set, seen)) return note_set_is_there();
  if (now || all_are_empty(seen)) refuse_gone_set();
}

void MirroredStore::note_set_is_there() {
  const Guard lock(set_mutex_);
  gone_since_.reset();
}

// A hold of the set may be valid for its longest window yet. A program that opened the store anew
// before could get the same lock (R1).
void MirroredStore::refuse_gone_set() {
  const SteadyTime now = clock_->steady_now();
  const Guard lock(set_mutex_);
  if (!gone_since_) gone_since_ = now;
  const std::string gone =
      "the set of this mirrored store is gone, its members were emptied or exchanged: ";
  if (now - *gone_since_ >= longest_window_) {
    throw Error(Errc::store_replaced, gone + "open the store anew");
  }
  throw Error(Errc::not_applied,
              gone + "open the store anew when all holds of that set are over, at the latest " +
                  in_milliseconds(longest_window_) + " after this was first seen");
}

}  // namespace distlock::mirrored
