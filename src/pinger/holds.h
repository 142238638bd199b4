#pragma once

#include <boost/thread/mutex.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "distlock/record.h"
#include "pinger/announcer.h"
#include "pinger/validity.h"

namespace distlock {

/// What the pinger knows of one lock object. Shared, since whoever announces a loss must not find
/// it destroyed.
struct Hold {
  Hold(std::string lock_name, std::chrono::nanoseconds span)
      : name(std::move(lock_name)), validity_span(span), validity(span) {}

  const std::string name;
  const std::chrono::nanoseconds validity_span;
  Validity validity;

 private:
  friend class Holds;
  // Guarded by the mutex of Holds.
  // NOLINTBEGIN(readability-identifier-naming): to Holds, and to no other, this is a plain struct.
  std::uint64_t number = 0;  // in the order of first enlistment
  bool active = false;       // claimed and neither given up nor announced as lost
  bool risk_told = false;
  Token ts;
  Token claiming;
  std::optional<LossReason> lost;
  std::shared_ptr<Announcer> announcer;  // only for those who asked for one
  // NOLINTEND(readability-identifier-naming)
};

/// One hold at one moment.
struct ActiveHold {
  std::shared_ptr<Hold> hold;
  Token ts;
};

/// The lock objects of one process on one store that need its pings, and the watch over their
/// deadlines (R9). No call of the store or of a callback is made with the mutex held.
class Holds {
 public:
  explicit Holds(AnnounceOn announce_on) : announce_on_(announce_on) {}

  /// From before a claim is sent until its hold is released or pending: as long as any object is
  /// enlisted, the process's ping stays (R12). Errors: `stopped` if closed.
  void enlist(const std::shared_ptr<Hold>& hold, const Token& claiming);
  /// The claim is held; `ping_sent`: from before the last confirmed ping was sent.
  void begin(Hold& hold, const Token& ts, SteadyTime ping_sent);
  /// Given up: valid no more and nothing to announce, but still under the ping's protection.
  void retire(Hold& hold);
  void delist(const std::shared_ptr<Hold>& hold);
  bool empty() const;
  std::size_t active_count() const;
  /// Takes in nobody any more. The watch over those who are in goes on.
  void close();

  /// A ping that was sent at `sent` is known since `confirmed` to be durable.
  void extend(SteadyTime sent, SteadyTime confirmed);

  std::vector<ActiveHold> active() const;
  /// Each `ts` that some object here has claimed, or is claiming, with. Sorted.
  std::vector<Token> known() const;
  /// That hold is lost; announced once.
  void lose(const ActiveHold& lost, LossReason reason);
  std::optional<LossReason> lost(const Hold& hold) const;
  /// What was lost since this was last asked. The watch must not wait for a log.
  std::vector<std::pair<std::string, LossReason>> take_unlogged();

  std::shared_ptr<Announcer> announcer(Hold& hold);
  /// Nothing if nobody asked for one.
  std::shared_ptr<Announcer> announcer_if_any(const Hold& hold) const;

  struct Due {
    SteadyTime next;
    std::stop_token changed;  ///< Stopped when `next` may have become earlier, or by wake_watch().
  };
  /// Announces the deadlines that have passed and the holds that are at risk, and says when to come
  /// back.
  Due announce_due(SteadyTime now);
  void wake_watch();

 private:
  struct Announcement {
    std::shared_ptr<Announcer> to;
    std::optional<SteadyTime> at_risk_until;
  };
  void end(Hold& hold, LossReason reason);
  SteadyTime judge(Hold& hold, SteadyTime now, std::vector<Announcement>& announcements);

  const AnnounceOn announce_on_;
  mutable boost::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<Hold>> enlisted_;  // by number: in the same order always
  std::uint64_t numbered_ = 0;
  bool closed_ = false;
  SteadyTime next_ = SteadyTime::max();
  std::stop_source changed_;
  std::vector<std::pair<std::string, LossReason>> unlogged_;
};

}  // namespace distlock
