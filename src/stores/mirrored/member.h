#pragma once

#include <atomic>
#include <boost/thread/condition_variable.hpp>
#include <boost/thread/mutex.hpp>
#include <boost/thread/thread.hpp>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "distlock/clock.h"
#include "distlock/members.h"
#include "stores/mirrored/identity.h"

namespace distlock::mirrored {

/// So many calls of one member wait for their turn. While the member hangs, each further call would
/// leave one behind.
inline constexpr std::size_t kWaitingMost = 1000;

/// Threads that make the calls of one member, as many at once as it has threads. They are started
/// as they are needed.
class Workers {
 public:
  explicit Workers(std::size_t most) : most_(most) {}
  /// Waits for the calls under way. Calls that have not begun are dropped.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// `job` must not throw. Errors: `not_applied` if there is no thread to be had, or if
  /// `kWaitingMost` jobs wait already.
  void add(std::function<void()> job);

 private:
  void run();
  void start_one();

  const std::size_t most_;
  boost::mutex mutex_;
  boost::condition_variable changed_;
  // Guarded by `mutex_`.
  std::deque<std::function<void()>> jobs_;
  std::size_t idle_ = 0;
  bool ending_ = false;
  std::vector<boost::thread> threads_;  // The destructor joins them without the mutex.
};

/// So many reads of one member are made at once, and so many writes besides a ping. More wait for
/// their turn.
inline constexpr std::size_t kCallsAtOnce = 16;

/// A member without an identity, as this process knows it: a new one, or one that lost its data.
struct Lack {
  std::optional<Identity> marker;  ///< Of a member that is kept out.
  SteadyTime since{};              ///< From then on each look has shown this.
  /// From then on a majority of the other members knew that the place is given anew.
  std::optional<SteadyTime> told{};
  /// No hold that counted on what the member lost has a greater one. Read when the wait was over.
  std::optional<Fence> fence{};
};

/// The calls of a member that fare alike. A member may answer reads and do no write, as on a full
/// disk. Or it may confirm pings, and write nothing else.
enum class CallKind { read, write, ping };

/// One member: its store, and all that this process has seen of it.
///
/// Threads: all functions may be called concurrently. No call of the store is made with the mutex.
class Member {
 public:
  Member(std::shared_ptr<Store> given_store, Place given_place, std::shared_ptr<Clock> clock,
         std::shared_ptr<KnownReturns> known)
      : store(std::move(given_store)),
        place(given_place),
        clock_(std::move(clock)),
        known_(std::move(known)) {}

  /// A fresh read of its identity's document. Errors: those of Store::inspect().
  Inspection look_at_identity();
  /// The identity that a fresh look shows after an answer to what was asked at `asked`. Nothing if
  /// the member does not count by it. Nothing either if the look came late: the answer may be one
  /// of a time without these data (M6). Errors: those of Store::inspect().
  std::optional<Identity> identity_after(SteadyTime asked);
  SteadyTime now() const { return clock_->steady_now(); }
  /// Its listing, from which its clock is learned: a look at an absent document need not tell it.
  Listing list();
  /// The identity that was read last, if it names this place and is the latest at it that this
  /// process has heard of.
  std::optional<Identity> identity() const;
  /// Whether the place has been given anew since: this is the member's earlier life, or a store
  /// that was at its place before (M6, M7).
  bool is_of_before(const Identity& identity) const;
  /// Whether a look shows a member that is to be taken back: without identity, or of before.
  bool is_to_come_back(const Inspection& seen) const;
  /// The token of the identity that was read last, even if it names another place.
  std::optional<Token> token() const;
  /// Nothing if the last look has shown an identity, be it that of another place or set.
  std::optional<Lack> lack() const;
  /// Notes `fence` in the lack with that marker, if it still is the last that was seen.
  void note_fence(const Token& marker, Fence fence);
  /// Notes the same way that the others have been told by now.
  void note_told(const Token& marker);
  /// True once for each token or text: what is told of a member is told once.
  bool tells_first(const std::string& news);

  /// Pings the member. If it is one of `set` afterwards, remembers the ping as confirmed and gives
  /// it, its clock named by clock_name(); otherwise gives nothing.
  std::optional<PingRecord> ping(std::string_view process, const PingHealth& health,
                                 const Token& set);
  /// The last ping of `process` that was confirmed.
  std::optional<MemberPing> last_ping(std::string_view process) const;
  /// Whether a listing shows the last confirmed ping of a process, and it was sent at `since` or
  /// later. So it is no listing of a server that was deposed before.
  bool is_current(const Listing& listing, SteadyTime since) const;
  void forget_ping(std::string_view process);

  /// Notes a claim that may take effect until then: it has no answer yet, or got none.
  void note_under_way(const Claim& claim, SteadyTime until);
  /// Takes one such note back: the claim was not sent, or has its answer.
  void forget_under_way(const Claim& claim, SteadyTime until);
  /// Whether such a claim of `ts` may still take effect.
  bool may_grant(const Token& ts) const;
  bool may_grant_to(std::string_view process) const;

  /// Learns the member's clock from one of its answers.
  void note(const StoreNow& now, SteadyTime sent);
  /// The latest that its clock can say now, by the last reading.
  std::optional<StoreNow> at_most() const;

  /// Whether it answered its last call of that kind, and its last call of any if it is no ping. A
  /// call waits for it then.
  bool answers(CallKind kind) const;
  /// Notes how a call ended that was asked then. Nobody has waited for what comes too late, and the
  /// next call does not either, unless a later one was quick.
  void note_reply(CallKind kind, const std::optional<Error>& failure, SteadyTime asked);
  /// Notes how a call of it ended.
  void note_outcome(CallKind kind, const std::optional<Error>& failure);
  /// Notes that a call of it was waited for in vain.
  void note_silence(CallKind kind) { note(kind, false, false); }

  const std::shared_ptr<Store> store;
  const Place place;

 private:
  struct Reading {
    StoreNow now;
    SteadyTime sent;
  };
  struct Pinged {
    MemberPing ping;
    Identity identity;
  };
  struct UnderWay {
    Token ts;
    std::string process;
    SteadyTime until;
  };

  std::optional<Identity> unless_of_before(std::optional<Identity> identity) const;
  /// `did`: it did what was asked, and did not refuse it.
  void note(CallKind kind, bool answered, bool did);
  /// Whether a look that ended then came too late after what was asked (M6).
  bool too_late(SteadyTime asked, SteadyTime looked) const;
  /// `identity` is the one in `seen`, if any.
  bool is_to_come_back(const Inspection& seen, const std::optional<Identity>& identity) const;
  // With the mutex.
  void note_lack(const Inspection& seen, bool to_come_back, SteadyTime received);
  template <class Matches>
  bool may_grant_one(const Matches& matches) const;

  const std::shared_ptr<Clock> clock_;
  const std::shared_ptr<KnownReturns> known_;  // Of all members of the mirrored store.
  std::atomic<bool> answers_{true};
  std::atomic<bool> writes_{true};
  std::atomic<bool> confirms_pings_{true};
  std::atomic<SteadyTime> quick_since_{SteadyTime::min()};  // the last that was asked and was quick
  mutable boost::mutex mutex_;
  // Guarded by `mutex_`, down to `under_way_`.
  std::optional<Reading> reading_;
  std::optional<Identity> identity_;
  std::optional<Token> token_;
  std::optional<Lack> lack_;
  SteadyTime changed_{};  // The last look that showed anything but `lack_`.
  std::set<std::string> told_;
  std::map<std::string, Pinged, std::less<>> pings_;
  std::vector<UnderWay> under_way_;

 public:
  /// The threads for calls of that kind. Other calls never hold up a ping, nor writes that hang a
  /// read.
  Workers& workers(CallKind kind);

 private:
  // Declared last, so that they end first: their calls use all other members.
  Workers for_pings_{1};
  Workers for_reads_{kCallsAtOnce};
  Workers for_writes_{kCallsAtOnce};
};

}  // namespace distlock::mirrored
