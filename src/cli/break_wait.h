#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <iosfwd>
#include <map>
#include <optional>
#include <vector>

#include "cli/status.h"
#include "cli/view.h"
#include "distlock/members.h"
#include "distlock/record.h"
#include "local_span.h"
#include "protocol/protocol.h"

namespace distlock::cli {

/// For how long the holder may act at most after its hold was freed: until its deadline. A ping
/// that moves it on lets the holder notice, too. Nothing if the holder states no window (R9).
std::optional<std::chrono::milliseconds> acts_at_most(const LockView& lock);

/// The listings of all members that count. A store that is not mirrored is one member.
using Listings = std::vector<MemberListing>;

/// Watches the holder of a hold that was freed behind its back.
class BrokenHold {
 public:
  enum class End {
    gone,     ///< Its process has ended: it has removed its ping.
    noticed,  ///< It has pinged so often since that it has looked at its holds (R9).
    silent,   ///< A majority has heard nothing of it for its window: it acts no more (M5).
  };

  /// As may_be_had().
  using TokenIsHad = std::function<bool(const std::string& token, std::chrono::milliseconds given)>;

  /// `shown`: the hold as it was before the break.
  BrokenHold(const LockView& shown, std::size_t majority, TokenIsHad is_had = any_may_have);

  /// To be called every pause() after the break. Gives the end once it is known.
  std::optional<End> look(const Listings& members, const LocalSpan& span);

  /// The time between two calls of look().
  std::chrono::milliseconds pause() const;

 private:
  struct Watched {
    protocol::HolderWatch watch;
    std::optional<PingRecord> last;
    int pings = 0;
  };

  static bool any_may_have(const std::string& token, std::chrono::milliseconds given);
  /// Whether a process may have the token of the hold, though its run has ended. `sent`: of the
  /// look that has shown `ping`.
  bool may_act_on(const PingRecord& ping, const StoreNow& now, SteadyTime sent) const;
  void note_ping(Watched& member, const std::optional<PingRecord>& ping);
  bool is_silent(Watched& member, const StoreNow& now, const LocalSpan& span);
  std::optional<End> after_notice(SteadyTime now);

  std::size_t majority_;
  TokenIsHad is_had_;
  LockRecord hold_;
  bool had_ping_;
  int pings_with_a_look_;
  LockOptions options_;
  std::map<Token, Watched> watched_;
  SteadyTime noticed_by_{};
};

/// Where a wait says what it waits for and how that ended, and what went wrong.
struct WaitWords {
  std::ostream& news;
  std::ostream& err;
};

/// Returns when the holder of the hold that was `shown`, and then freed, has noticed or can act no
/// more, and says so. A store that does not answer is asked again. Errors: those that stay.
void wait_for_holder(const LockView& shown, const OpenedStore& opened, const WaitWords& words);

}  // namespace distlock::cli
