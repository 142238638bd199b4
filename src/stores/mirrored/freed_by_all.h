#pragma once

#include <boost/thread/lock_guard.hpp>
#include <boost/thread/mutex.hpp>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "distlock/clock.h"
#include "distlock/record.h"

namespace distlock::mirrored {

/// A hold that all members have said is free.
struct FreedHold {
  std::vector<Token> members;  ///< The identities that granted it; none if they are not known.
  SteadyTime asked{};          ///< When the members were asked to free it.
};

/// The last holds, with the members that granted them. From one that all members have said is free
/// a claim may start without a look: it was there on each member, so that a claim refused there
/// stays refused (M2).
///
/// Threads: all functions may be called concurrently.
class FreedByAll {
 public:
  void note_granted(std::string_view name, const LockRecord& hold) {
    const boost::lock_guard<boost::mutex> lock(mutex_);
    put(name, {*hold.ts, {hold.members, {}}, false});
  }
  void note_freed(std::string_view name, const Token& ts, SteadyTime asked) {
    const boost::lock_guard<boost::mutex> lock(mutex_);
    Entry entry{ts, {{}, asked}, true};
    const auto known = entry_of(name, ts);
    if (known != by_name_.end()) entry.hold.members = std::move(known->second.hold.members);
    put(name, std::move(entry));
  }
  /// These members have granted that hold since.
  void note_repaired(std::string_view name, const Token& ts, const std::vector<Token>& members) {
    const boost::lock_guard<boost::mutex> lock(mutex_);
    const auto known = entry_of(name, ts);
    if (known == by_name_.end()) return;
    auto& granted = known->second.hold.members;
    granted.insert(granted.end(), members.begin(), members.end());
  }
  /// The identities that granted it; none if they are not known.
  std::vector<Token> granted_by(std::string_view name, const Token& ts) {
    const boost::lock_guard<boost::mutex> lock(mutex_);
    const auto known = entry_of(name, ts);
    return known == by_name_.end() ? std::vector<Token>{} : known->second.hold.members;
  }
  /// The hold, if it was freed; forgets it.
  std::optional<FreedHold> take(std::string_view name, const Token& ts) {
    const boost::lock_guard<boost::mutex> lock(mutex_);
    const auto known = entry_of(name, ts);
    if (known == by_name_.end() || !known->second.is_free) return {};
    FreedHold hold = std::move(known->second.hold);
    by_name_.erase(known);
    return hold;
  }

 private:
  struct Entry {
    Token ts;
    FreedHold hold;
    bool is_free = false;
  };

  using ByName = std::map<std::string, Entry, std::less<>>;

  static constexpr std::size_t kMost = 1000;

  // With the mutex. That of the last hold of the lock, if it is this one.
  ByName::iterator entry_of(std::string_view name, const Token& ts) {
    const auto found = by_name_.find(name);
    return found != by_name_.end() && found->second.ts == ts ? found : by_name_.end();
  }

  // With the mutex. A claim that finds nothing here looks at the members first.
  void put(std::string_view name, Entry entry) {
    if (by_name_.size() >= kMost) by_name_.clear();
    by_name_.insert_or_assign(std::string(name), std::move(entry));
  }

  boost::mutex mutex_;
  ByName by_name_;  // Guarded by `mutex_`.
};

}  // namespace distlock::mirrored
