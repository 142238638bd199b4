#pragma once

#include <array>
#include <boost/thread/mutex.hpp>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "distlock/record.h"
#include "pinger/announcer.h"
#include "pinger/granted_terms.h"
#include "pinger/member_deadlines.h"
#include "pinger/validity.h"

namespace distlock {

/// A loss that is yet to be logged.
struct Loss {
  std::string lock_name;
  LossReason reason;
};

/// One lock object, as the pinger knows it. Shared, since a thread that announces a loss must not
/// find it destroyed.
struct Hold {
  Hold(std::string lock_name, std::chrono::nanoseconds span)
      : name(std::move(lock_name)),
        validity_span(span),
        validity(span),
        claim_validity(span),
        listener(name) {}

  const std::string name;
  const std::chrono::nanoseconds validity_span;
  Validity validity;
  /// The deadline of a hold that a claim under way may get, or one of the claims of a wait, perhaps
  /// without an answer (R9). Pings move it on, from before the first of these claims is sent.
  Validity claim_validity;

 private:
  friend class Holds;
  // Guarded by the mutex of Holds.
  // NOLINTBEGIN(readability-identifier-naming): to Holds, and to no other, this is a plain struct.
  std::uint64_t number = 0;  // in the order of first enlistment
  bool active = false;       // claimed and neither given up nor lost
  bool risk_told = false;
  Token ts;
  Token claiming;
  GrantedTerms terms;
  std::uint64_t thread = 0;  // that has it
  bool of_a_block = false;   // It may be passed on, as others see it (R21).
  // On a mirrored store, those of `validity` and `claim_validity` (M5).
  MemberDeadlines deadlines;
  MemberDeadlines claim_deadlines;
  std::optional<LossReason> lost;
  std::shared_ptr<const OnLost> on_lost;
  std::shared_ptr<const OnAtRisk> on_at_risk;
  std::stop_source stop{std::nostopstate};  // of this hold alone, once somebody asks for it
  // The announcement of the hold's end, made before the hold begins: 0 or 1.
  std::unique_ptr<Announcement> announcement;
  std::list<Loss> loss;
  Listener listener;
  // NOLINTEND(readability-identifier-naming)
};

/// One hold at one moment.
struct ActiveHold {
  std::shared_ptr<Hold> hold;
  Token ts;
};

/// The lock objects of one process on one store that need its pings, and the watch over their
/// deadlines (R9). The life of a hold:
///
///   enlist()   before its claim is sent. From here on the process pings, and its ping stays (R12);
///              a round takes the claim's `ts` for no stray.
///   begin()    the claim was granted. The deadline counts from the ping before it, and from those
///              that were confirmed while it was under way.
///   extend()   a ping was confirmed: the deadlines of all holds move on.
///   retire()   unlock() was called. The hold is valid no more, but the ping stays until the
///              release is through: a hold without a ping could be taken over (R7).
///   lose()     instead of retire(): the deadline has passed, or the store says that the hold is
///              gone. announce_due() finds the deadlines, Chores finds the rest.
///   delist()   the release is through, or pending elsewhere; or the claim was refused.
///
/// A hold ends once, under the mutex, by retire() or lose(). Its announcement is handed to the
/// announcer before the mutex is let go. So an announcement reaches that hold and no later one, and
/// none is made after silence(). The memory for it is taken by enlist(), where a failure still
/// costs nothing.
///
/// Mutexes: the one of Holds guards what Hold says of it. Holding it, a thread takes the
/// announcer's, and no other. Neither is held during a call of the store, of a callback, of the log
/// or of a stop_source that a waiting thread listens to. Validity is atomic: held() takes no mutex.
class Holds {
 public:
  explicit Holds(AnnounceOn announce_on) : announcer_(std::make_shared<Announcer>(announce_on)) {}

  Announcer& announcer() { return *announcer_; }

  /// From before a claim is sent until its hold is released or pending: as long as any object is
  /// enlisted, the process's ping stays (R12). Errors: `stopped` if closed.
  void enlist(const std::shared_ptr<Hold>& hold, const Token& claiming);
  /// The claim is held, for as long as its `claim_validity`, or as these members of a mirrored
  /// store protect it that granted it. It is the calling thread's. False if that has passed by
  /// `now`: then there is no hold. `of_a_block`: others do not learn the thread from it (R21).
  bool begin(Hold& hold, const Token& ts, const std::vector<Token>& members, SteadyTime now,
             bool of_a_block = false);
  /// With what the claim is granted. Before begin().
  void note_terms(Hold& hold, const GrantedTerms& terms);
  GrantedTerms terms_of(const ActiveHold& hold) const;
  /// A claim on a mirrored store is about to be sent: as Validity::begin() of `claim_validity`.
  void begin_claim(Hold& hold, const std::vector<MemberPing>& pings, std::size_t majority);
  /// The hold goes from one lock object to another, or to the same one, which is enlisted with its
  /// `ts` (R21). It is nobody's then, but its `claim_validity` goes on until begin(). False if it
  /// is not valid at `now`: then nothing is changed.
  bool hand_over(Hold& from, Hold& to, const Token& ts, SteadyTime now);
  /// The number of the thread that holds validly by that `ts`; nothing if none does.
  std::optional<std::uint64_t> thread_of(const Token& ts) const;
  /// The holds of the calling thread that are of a block.
  std::vector<Token> blocks_of_this_thread() const;
  /// The hold that an object still may claim anew from is no stray, though it is valid no more.
  void keep_known(Hold& hold, const Token& ts);
  /// Nobody claims from the object's last hold any more: if its release is undone, it is a stray.
  void forget(Hold& hold);
  /// Given up: valid no more, but still under the ping's protection. A hold whose deadline has
  /// passed by `now` is lost. Gives the deadline, the distant past if it was lost before.
  SteadyTime retire(const std::shared_ptr<Hold>& hold, SteadyTime now);
  void delist(const std::shared_ptr<Hold>& hold);
  bool empty() const;
  std::size_t active_count() const;
  /// From now on enlists nobody. The watch over the enlisted goes on.
  void close();

  /// A ping that was sent at `sent` is known since `confirmed` to be durable.
  void extend(SteadyTime sent, SteadyTime confirmed);
  /// The same on a mirrored store, by the last pings that its members have confirmed.
  void extend(const std::vector<MemberPing>& pings, SteadyTime confirmed);

  struct Unprotected {
    ActiveHold hold;
    std::vector<Token> by;
  };
  /// The holds that some of the members do not protect which have confirmed these pings (M5), each
  /// with those members.
  std::vector<Unprotected> unprotected(const std::vector<MemberPing>& pings, SteadyTime now) const;
  /// The same of that hold alone.
  std::vector<Token> unprotecting(const ActiveHold& hold, const std::vector<MemberPing>& pings,
                                  SteadyTime now) const;
  /// Whether that hold is valid at `now`, and not given up.
  bool valid(const ActiveHold& hold, SteadyTime now) const;
  /// The members of these pings have granted that hold after they had confirmed the pings (M9).
  /// False if it is valid no more at `now`, or given up: then they do not protect it.
  bool protect(const ActiveHold& hold, const std::vector<MemberPing>& pings, SteadyTime now);

  /// Whether one of these members counts as protecting that hold (M5).
  bool counts_on(const ActiveHold& hold, const std::vector<Token>& members, SteadyTime now) const;
  /// These members do not carry that hold any more, and protect it no longer. It may end by that.
  void unprotect(const ActiveHold& hold, const std::vector<Token>& members);
  /// Those that count no more protect no hold and no claim. A member that says to have lost holds
  /// of a greater fence does not protect one of a lesser: others judge it so, too (M6).
  void forget_members(const std::vector<MemberPing>& pings);

  std::vector<ActiveHold> active() const;
  /// Notes that nobody here counts on what was claimed with that `ts` any more.
  void note_given_up(const Token& ts) noexcept;
  /// Whether it was one of the last so noted, and no object has it. So it is this process's own, to
  /// be freed wherever it shows, whomever single members of a mirrored store name (M2).
  bool gave_up(const Token& ts) const;
  /// Each `ts` that some object here has claimed, or is claiming, with. Sorted.
  std::vector<Token> known() const;
  /// That hold is lost; announced once. It may have been passed on since.
  void lose(const ActiveHold& lost, LossReason reason);
  std::optional<LossReason> lost(const Hold& hold) const;
  /// The losses since the last call. The watch must not wait for a log.
  std::list<Loss> take_unlogged();

  void on_lost(Hold& hold, OnLost callback);
  void on_at_risk(Hold& hold, OnAtRisk callback);
  std::stop_token stop_token(Hold& hold);
  /// Makes the announcements that are due, waits for callbacks on other threads, and forgets all
  /// callbacks.
  void silence(Hold& hold);

  struct Due {
    SteadyTime next;
    std::stop_token changed;  ///< Stopped when `next` may have become earlier, or by wake_watch().
  };
  /// Announces the deadlines that have passed and the holds that are at risk, and says when to come
  /// back. Takes no memory that it cannot do without.
  Due announce_due(SteadyTime now) noexcept;
  void wake_watch();

 private:
  void end(const std::shared_ptr<Hold>& hold, LossReason reason, Announcements& to_tell) noexcept;
  SteadyTime judge(const std::shared_ptr<Hold>& hold, SteadyTime now,
                   Announcements& to_tell) noexcept;
  std::shared_ptr<Hold> present(const ActiveHold& lost) const;
  static bool is_there(const ActiveHold& hold);
  static bool warn(const std::shared_ptr<Hold>& hold, SteadyTime until,
                   Announcements& to_tell) noexcept;
  bool renew_changed() noexcept;
  bool moves_on(Hold& hold, SteadyTime before) const;
  void add_given_up(const Token& ts) noexcept;

  const std::shared_ptr<Announcer> announcer_;
  mutable boost::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<Hold>> enlisted_;  // by number: in the same order always
  std::uint64_t numbered_ = 0;
  bool closed_ = false;
  SteadyTime next_ = SteadyTime::max();
  std::stop_source changed_;  // A latch: a stop is requested once, and the watch makes it anew.
  std::list<Loss> unlogged_;
  std::array<Token, 512> given_up_{};  // A ring: the oldest give way.
  std::size_t given_up_next_ = 0;
};

}  // namespace distlock
