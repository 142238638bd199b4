#include "stores/mirrored/member.h"

#include <algorithm>
#include <boost/thread/lock_guard.hpp>
#include <boost/thread/lock_types.hpp>

#include "distlock/error.h"
#include "local_span.h"

namespace distlock::mirrored {
namespace {

using Guard = boost::lock_guard<boost::mutex>;

}  // namespace

Worker::~Worker() {
  {
    const Guard lock(mutex_);
    ending_ = true;
    jobs_.clear();
  }
  changed_.notify_all();
  const boost::this_thread::disable_interruption no_interruption;
  if (thread_.joinable()) thread_.join();
}

void Worker::add(std::function<void()> job, Turn turn) {
  {
    const Guard lock(mutex_);
    if (!thread_.joinable()) {
      try {
        thread_ = boost::thread([this] { run(); });
      } catch (const boost::thread_resource_error& error) {
        throw Error(Errc::not_applied,
                    std::string("a mirrored store needs a thread for each member, and there is "
                                "none to be had; raise the limit (ulimit -u) or end other "
                                "programs: ") +
                        error.what());
      }
    }
    jobs_.insert(turn == Turn::first ? jobs_.begin() : jobs_.end(), std::move(job));
  }
  changed_.notify_all();
}

void Worker::run() {
  while (true) {
    std::function<void()> job;
    {
      boost::unique_lock<boost::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
      if (ending_) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job();
  }
}

Inspection Member::look_at_identity() {
  const auto [seen, span] =
      timed(*clock_, [&] { return store->inspect(kIdentityName, Freshness::fresh); });
  if (seen.now) note(*seen.now, span.sent);
  const Guard lock(mutex_);
  identity_ = identity_in(seen, place);
  token_ = has_identity(seen) ? seen.lock->ts : std::nullopt;
  return seen;
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
  return identity_;
}

// The identity is read after the ping: the ping is one of that life of the member then.
std::optional<PingRecord> Member::ping(std::string_view process, const PingHealth& health,
                                       const Token& set) {
  PingRecord record;
  const auto [seen, span] = timed(*clock_, [&] {
    record = store->ping(process, health);
    return look_at_identity();
  });
  const auto identity = identity_in(seen, place);
  if (!identity || identity->set != set) return std::nullopt;
  const MemberPing ping{
      identity->token, {record.ping, record.clock.value_or("")}, span.sent, span.received};
  const Guard lock(mutex_);
  pings_.insert_or_assign(std::string(process), ping);
  record.clock = clock_name(ping.member, ping.stamped.clock);
  return record;
}

std::optional<MemberPing> Member::last_ping(std::string_view process) const {
  const Guard lock(mutex_);
  const auto found = pings_.find(process);
  return found == pings_.end() ? std::nullopt : std::optional(found->second);
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
  then.time += std::chrono::ceil<std::chrono::milliseconds>(now - reading_->sent);
  return then;
}

}  // namespace distlock::mirrored
