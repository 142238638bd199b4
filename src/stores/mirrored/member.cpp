#include "stores/mirrored/member.h"

#include <algorithm>
#include <boost/thread/lock_guard.hpp>
#include <boost/thread/lock_types.hpp>

#include "distlock/error.h"
#include "failure.h"
#include "local_span.h"
#include "saturating.h"

namespace distlock::mirrored {
namespace {

using Guard = boost::lock_guard<boost::mutex>;

constexpr std::size_t kToldMost = 100;
constexpr const char* kTooManyWait = "too many calls wait for its answer already";
// The answer's own, and that of the look after it.
constexpr int kCallsToIdentity = 2;

}  // namespace

Workers::~Workers() {
  {
    const Guard lock(mutex_);
    ending_ = true;
    jobs_.clear();
  }
  changed_.notify_all();
  const boost::this_thread::disable_interruption no_interruption;
  for (boost::thread& thread : threads_) thread.join();
}

void Workers::add(std::function<void()> job) {
  {
    const Guard lock(mutex_);
    if (jobs_.size() >= kWaitingMost) throw Error(Errc::not_applied, kTooManyWait);
    if (idle_ <= jobs_.size() && threads_.size() < most_) start_one();
    jobs_.push_back(std::move(job));
  }
  changed_.notify_one();
}

// With the mutex. One thread is enough to get all done.
void Workers::start_one() {
  try {
    threads_.emplace_back([this] { run(); });
  } catch (const boost::thread_resource_error& error) {
    if (!threads_.empty()) return;
    throw Error(Errc::not_applied,
                std::string("a mirrored store needs three threads for each member, and there is "
                            "none to be had; raise the limit (ulimit -u) or end other programs: ") +
                    error.what());
  }
}

void Workers::run() {
  boost::unique_lock<boost::mutex> lock(mutex_);
  while (true) {
    ++idle_;
    changed_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
    --idle_;
    if (ending_) return;
    std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    job = nullptr;
    lock.lock();
  }
}

Workers& Member::workers(CallKind kind) {
  if (kind == CallKind::ping) return for_pings_;
  return kind == CallKind::write ? for_writes_ : for_reads_;
}

// Holds end without pings. So a ping is waited for even if another call was in vain.
bool Member::answers(CallKind kind) const {
  if (kind == CallKind::ping) return confirms_pings_;
  return answers_ && (kind == CallKind::read || writes_);
}

void Member::note_reply(CallKind kind, const std::optional<Error>& failure, SteadyTime asked) {
  const SteadyTime quick = quick_since_;
  if (too_late(asked, now())) {
    if (asked >= quick) note_silence(kind);
    return;
  }
  quick_since_ = std::max(quick, asked);
  note_outcome(kind, failure);
}

void Member::note_outcome(CallKind kind, const std::optional<Error>& failure) {
  const bool denied = failure && failure->errc() == Errc::permission_denied;
  const bool answered = !failure || !may_pass(*failure);
  note(kind, answered, answered && !denied);
}

// An answer to a read says nothing about writes. Nor does that to a ping, unless it is the first
// after pings in vain: then the whole member was away, and is back. A further write in vain says
// nothing about other calls.
void Member::note(CallKind kind, bool answered, bool did) {
  const bool in_vain_again = kind == CallKind::write && !answered && !writes_;
  if (!in_vain_again) answers_ = answered;
  if (kind == CallKind::write) writes_ = did;
  if (kind != CallKind::ping) return;
  const bool confirmed_before = confirms_pings_.exchange(did);
  if (did != confirmed_before) writes_ = did;
}

Inspection Member::look_at_identity() {
  auto [seen, span] =
      timed(*clock_, [&] { return store->inspect(kIdentityName, Freshness::fresh); });
  if (seen.now) note(*seen.now, span.sent);
  const auto identity = identity_in(seen, place);
  if (identity) known_->note(identity->set, identity->returns);
  auto kept = identity;
  const Guard lock(mutex_);
  // Moved, as the lack: want of memory must not leave one half from each of two looks.
  identity_ = std::move(kept);
  token_ = has_identity(seen) ? seen.lock->ts : std::nullopt;
  note_lack(seen, is_to_come_back(seen, identity), span.received);
  return std::move(seen);
}

std::optional<Identity> Member::identity_after(SteadyTime asked) {
  const Inspection seen = look_at_identity();
  return too_late(asked, now()) ? std::nullopt : unless_of_before(identity_in(seen, place));
}

bool Member::too_late(SteadyTime asked, SteadyTime looked) const {
  return looked - asked > kCallsToIdentity * store->call_limit();
}

// Counted from when the answer was there: what the member lost had gone by then. Answers of several
// threads may come here in another order.
void Member::note_lack(const Inspection& seen, bool to_come_back, SteadyTime received) {
  std::optional<Lack> lack;
  if (to_come_back) lack = Lack{.marker = marker_in(seen, place), .since = received};
  const auto token_of = [](const std::optional<Lack>& one) {
    return one && one->marker ? std::optional(one->marker->token) : std::nullopt;
  };
  const bool same = lack && lack_ && token_of(lack) == token_of(lack_);
  if (same) return;
  changed_ = std::max(changed_, received);
  if (lack) lack->since = changed_;
  lack_ = std::move(lack);
}

std::optional<Lack> Member::lack() const {
  const Guard lock(mutex_);
  return lack_;
}

void Member::note_fence(const Token& marker, Fence fence) {
  const Guard lock(mutex_);
  if (lack_ && lack_->marker && lack_->marker->token == marker) lack_->fence = fence;
}

void Member::note_told(const Token& marker) {
  const SteadyTime now = clock_->steady_now();
  const Guard lock(mutex_);
  if (lack_ && lack_->marker && lack_->marker->token == marker) lack_->told = now;
}

bool Member::tells_first(const std::string& news) {
  const Guard lock(mutex_);
  if (told_.contains(news)) return false;
  if (told_.size() >= kToldMost) told_.clear();
  told_.insert(news);
  return true;
}

Listing Member::list() {
  const auto [listing, span] = timed(*clock_, [&] { return store->list(); });
  note(listing.now, span.sent);
  return listing;
}

std::optional<Token> Member::token() const {
  const Guard lock(mutex_);
  return token_;
}

std::optional<Identity> Member::identity() const {
  const Guard lock(mutex_);
  return unless_of_before(identity_);
}

std::optional<Identity> Member::unless_of_before(std::optional<Identity> identity) const {
  return identity && !is_of_before(*identity) ? identity : std::nullopt;
}

bool Member::is_of_before(const Identity& identity) const {
  return returns_at(identity.returns, place.number) < known_->at(identity.set, place.number);
}

bool Member::is_to_come_back(const Inspection& seen) const {
  return is_to_come_back(seen, identity_in(seen, place));
}

bool Member::is_to_come_back(const Inspection& seen,
                             const std::optional<Identity>& identity) const {
  return identity ? is_of_before(*identity) : lacks_identity(seen, place);
}

// The identity is read after the ping: the ping is one of that life of the member then.
std::optional<PingRecord> Member::ping(std::string_view process, const PingHealth& health,
                                       const Token& set) {
  PingRecord record;
  const auto [seen, span] = timed(*clock_, [&] {
    record = store->ping(process, health);
    return look_at_identity();
  });
  const auto identity = unless_of_before(identity_in(seen, place));
  if (!identity || identity->set != set || too_late(span.sent, span.received)) return std::nullopt;
  const MemberPing ping{
      identity->token, {record.ping, record.clock.value_or("")}, span.sent, span.received};
  const Guard lock(mutex_);
  pings_.insert_or_assign(std::string(process), Pinged{ping, *identity});
  record.clock = clock_name(ping.member, ping.stamped.clock);
  return record;
}

std::optional<MemberPing> Member::last_ping(std::string_view process) const {
  const Guard lock(mutex_);
  const auto found = pings_.find(process);
  if (found == pings_.end()) return std::nullopt;
  MemberPing ping = found->second.ping;
  ping.counts = !is_of_before(found->second.identity);
  if (identity_) ping.fence_of_lost = identity_->fence;
  return ping;
}

bool Member::is_current(const Listing& listing, SteadyTime since) const {
  const Guard lock(mutex_);
  return std::any_of(listing.pings.begin(), listing.pings.end(), [&](const auto& listed) {
    const auto known = pings_.find(listed.id);
    if (!listed.record || known == pings_.end() || known->second.ping.sent < since) return false;
    const StoreNow& stamped = known->second.ping.stamped;
    return listed.record->clock == stamped.clock && listed.record->ping == stamped.time;
  });
}

void Member::forget_ping(std::string_view process) {
  const Guard lock(mutex_);
  const auto found = pings_.find(process);
  if (found != pings_.end()) pings_.erase(found);
}

void Member::note_under_way(const Claim& claim, SteadyTime until) {
  const SteadyTime now = clock_->steady_now();
  const Guard lock(mutex_);
  std::erase_if(under_way_, [&](const UnderWay& one) { return one.until < now; });
  under_way_.push_back({claim.ts, claim.process, until});
}

void Member::forget_under_way(const Claim& claim, SteadyTime until) {
  const Guard lock(mutex_);
  const auto noted = std::find_if(under_way_.begin(), under_way_.end(), [&](const UnderWay& one) {
    return one.ts == claim.ts && one.until == until;
  });
  if (noted != under_way_.end()) under_way_.erase(noted);
}

template <class Matches>
bool Member::may_grant_one(const Matches& matches) const {
  const SteadyTime now = clock_->steady_now();
  const Guard lock(mutex_);
  return std::any_of(under_way_.begin(), under_way_.end(),
                     [&](const UnderWay& one) { return one.until >= now && matches(one); });
}

bool Member::may_grant(const Token& ts) const {
  return may_grant_one([&](const UnderWay& one) { return one.ts == ts; });
}

bool Member::may_grant_to(std::string_view process) const {
  return may_grant_one([&](const UnderWay& one) { return one.process == process; });
}

void Member::note(const StoreNow& now, SteadyTime sent) {
  const Guard lock(mutex_);
  reading_ = Reading{now, sent};
}

std::optional<StoreNow> Member::at_most() const {
  // A clock may let other threads run, so the mutex is not held meanwhile.
  const SteadyTime now = clock_->steady_now();
  const Guard lock(mutex_);
  if (!reading_) return std::nullopt;
  StoreNow then = reading_->now;
  const auto since = std::chrono::ceil<std::chrono::milliseconds>(now - reading_->sent);
  then.time = saturating_sum(then.time, since);
  return then;
}

}  // namespace distlock::mirrored
