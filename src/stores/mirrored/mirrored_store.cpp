#include "stores/mirrored/mirrored_store.h"

#include <sys/random.h>

#include <algorithm>

#include "enumerator.h"
#include "stores/fork_guarded_store.h"
#include "stores/mirrored/agreement.h"
#include "stores/mirrored/too_few.h"

namespace distlock::mirrored {
namespace {

using std::chrono::milliseconds;

constexpr CallRules kRemoval{.kind = CallKind::write, .with_identity = false};
constexpr CallRules kRead{};
constexpr CallRules kWrite{.kind = CallKind::write};
constexpr CallRules kPing{.kind = CallKind::ping, .with_identity = false};

milliseconds longest_call(const std::vector<std::shared_ptr<Store>>& members) {
  milliseconds longest{0};
  for (const auto& member : members) {
    if (!member) throw Error(Errc::invalid_argument, "a member of a mirrored store is null");
    longest = std::max(longest, member->call_limit());
  }
  return longest;
}

MemberList members_of(const std::vector<std::shared_ptr<Store>>& stores,
                      const std::shared_ptr<Clock>& clock) {
  check_number(stores.size());
  if (!clock) throw Error(Errc::invalid_argument, "the clock of a mirrored store is null");
  MemberList members;
  const auto known = std::make_shared<KnownReturns>();
  for (std::size_t i = 0; i < stores.size(); ++i) {
    if (std::count(stores.begin(), stores.end(), stores[i]) > 1) {
      throw Error(Errc::invalid_argument,
                  "a member of a mirrored store is given twice: name each of them once");
    }
    members.push_back(std::make_shared<Member>(stores[i], Place{i, stores.size()}, clock, known));
  }
  return members;
}

std::uint64_t system_random() {
  std::uint64_t random = 0;
  if (getrandom(&random, sizeof random, 0) != static_cast<ssize_t>(sizeof random)) {
    throw Error(Errc::not_applied, "the system has no random numbers");
  }
  return random;
}

MirrorOptions completed(MirrorOptions options) {
  check_enumerator("MirrorOptions::drive", options.drive, MirrorDrive::caller);
  check_enumerator("MirrorOptions::opening", options.opening, OpeningRule::to_look);
  if (!options.random) options.random = system_random;
  if (options.longest_takeover <= milliseconds{0} || options.longest_takeover > kWindowMost) {
    throw Error(Errc::invalid_argument,
                "MirrorOptions::longest_takeover must be more than 0, and 365 days at most");
  }
  return options;
}

}  // namespace

MirroredStore::MirroredStore(const std::vector<std::shared_ptr<Store>>& members,
                             std::shared_ptr<Clock> clock, const MirrorOptions& options,
                             Twins twins)
    : all_(members_of(members, clock)),
      clock_(std::move(clock)),
      options_(completed(options)),
      twins_(twins),
      call_limit_(kCallsInOne * longest_call(members)) {}

std::string MirroredStore::description() const {
  std::string all = "mirrored:";
  for (const auto& member : all_) all += " " + member->store->description();
  return all;
}

template <class Answer>
std::vector<Answer> MirroredStore::counting(const Replies<Answer>& replies, const Token& set,
                                            const CallRules& rules) const {
  std::vector<Answer> answers;
  for (const Reply<Answer>& reply : replies) {
    if (counts(reply, set)) answers.push_back(*reply.answer);
  }
  if (answers.size() < majority()) throw_too_few(all_, replies, set, Errc::not_applied, rules);
  return answers;
}

std::optional<milliseconds> MirroredStore::time_for(const CallRules& rules) const {
  const milliseconds most = call_limit_ / 2;
  // There members are asked one after the other.
  if (!rules.until || options_.drive == MirrorDrive::caller) return most;
  const auto left = std::chrono::floor<milliseconds>(*rules.until - clock_->steady_now());
  if (left < call_limit_ / kCallsInOne) return std::nullopt;
  return std::min(most, left);
}

std::vector<Inspection> MirroredStore::looks(std::string_view name, Freshness freshness) {
  const Token set = this->set();
  const auto replies =
      ask_all<Inspection>(kRead.of_set(set), [lock = std::string(name), freshness](Member& member) {
        return member.store->inspect(lock, freshness);
      });
  std::vector<Inspection> seen;
  for (const Reply<Inspection>& reply : replies) {
    if (!counts(reply, set)) continue;
    Inspection one = *reply.answer;
    one.member = reply.identity->token;
    one.fence_of_lost = reply.identity->fence;
    one.fence = std::max(one.fence_of_lost, one.lock ? one.lock->fence : 0);
    seen.push_back(std::move(one));
  }
  if (seen.size() < majority()) throw_too_few(all_, replies, set, Errc::not_applied);
  return with_ends_of_holds(std::move(seen), majority());
}

Inspection MirroredStore::inspect(std::string_view name, Freshness freshness) {
  check_not_identity(name);
  std::vector<Inspection> seen = looks(name, freshness);
  std::vector<Token> left_out = leave_out_great_fences(seen, majority());
  Inspection all = merged(std::move(seen), majority());
  all.fence = std::max(all.fence, fence_of_lost());
  all.left_out = std::move(left_out);
  all.fence_in_doubt = fence_in_doubt(name, all.members);
  return all;
}

std::optional<Carried> MirroredStore::carried(std::string_view name) {
  using Answer = std::optional<Carried>;
  const Token set = this->set();
  const auto replies = ask_all<Answer>(
      kRead.of_set(set),
      [lock = std::string(name)](Member& member) { return member.store->carried(lock); });
  std::vector<MemberCarries> members;
  for (const Reply<Answer>& reply : replies) {
    const bool answered = counts(reply, set);
    members.push_back({answered, answered ? *reply.answer : std::nullopt});
  }
  const CarriedByMajority settled = settle_carried(members);
  if (settled.undecided) refuse_malformed_state(name, members);
  if (settled.undecided) throw_too_few(all_, replies, set, Errc::not_applied);
  return settled.carried;
}

PingRecord MirroredStore::ping(std::string_view process, const PingHealth& health) {
  const Token set = this->set();
  using Answer = std::optional<PingRecord>;
  const auto replies =
      ask_all<Answer>(kPing.of_set(set), [id = std::string(process), health, set](Member& member) {
        return member.ping(id, health, set);
      });
  std::vector<PingRecord> confirmed;
  for (std::size_t i = 0; i < replies.size(); ++i) {
    const auto& answer = replies[i].answer;
    // Another member's answer may have told that this one is of before.
    const bool counts = all_[i]->identity().has_value();
    if (answer && *answer && counts) confirmed.push_back(**answer);
    if (answer && !*answer) tell_if_strange(*all_[i], set);
  }
  if (confirmed.size() < majority())
    throw_too_few(all_, replies, set, Errc::outcome_unknown, kPing);
  return confirmed.front();
}

std::vector<MemberPing> MirroredStore::pings(std::string_view process) {
  std::vector<std::optional<MemberPing>> last;
  for (const auto& member : all_) last.push_back(member->last_ping(process));
  // A ping may tell that a place was given anew. So all of them are read before any is counted.
  std::vector<MemberPing> pings;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const auto now = all_[i]->last_ping(process);
    if (!last[i] || !now || now->member != last[i]->member) continue;
    pings.push_back(*last[i]);
    pings.back().counts = now->counts;
    pings.back().fence_of_lost = now->fence_of_lost;
  }
  return pings;
}

// Nobody can take over a hold whose holder has no ping (R7). So a ping stays beside a hold, and
// where a claim may still make one.
void MirroredStore::remove_ping(std::string_view process) {
  const auto replies = ask_all<bool>(kRemoval, [id = std::string(process)](Member& member) {
    if (member.may_grant_to(id) || !member.store->holds(id).empty()) return false;
    member.forget_ping(id);
    member.store->remove_ping(id);
    return true;
  });
  const auto answered = std::count_if(replies.begin(), replies.end(),
                                      [](const auto& reply) { return reply.answer.has_value(); });
  if (static_cast<std::size_t>(answered) < majority()) {
    throw_too_few(all_, replies, {}, Errc::outcome_unknown, kRemoval);
  }
}

std::int64_t MirroredStore::forget_pings(milliseconds age) {
  const Token set = this->set();
  const auto replies = ask_all<std::int64_t>(
      kWrite.of_set(set), [age](Member& member) { return member.store->forget_pings(age); });
  const std::vector<std::int64_t> forgotten = counting(replies, set, kWrite);
  return *std::max_element(forgotten.begin(), forgotten.end());
}

std::vector<StoredHold> MirroredStore::holds(std::string_view process) {
  using Answer = std::vector<StoredHold>;
  const Token set = this->set();
  const auto replies = ask_all<Answer>(
      kRead.of_set(set),
      [id = std::string(process)](Member& member) { return member.store->holds(id); });
  std::vector<MemberHolds> members;
  for (const auto& reply : replies) {
    if (counts(reply, set)) members.push_back({reply.identity->token, *reply.answer});
  }
  if (members.size() < majority()) throw_too_few(all_, replies, set, Errc::not_applied);
  return merged(members, majority());
}

std::vector<MemberListing> MirroredStore::counting_listings() {
  const Token set = this->set();
  const auto replies =
      ask_all<Listing>(kRead.of_set(set), [](Member& member) { return member.list(); });
  std::vector<MemberListing> members;
  for (const auto& reply : replies) {
    if (!counts(reply, set)) continue;
    members.push_back({reply.identity->token, *reply.answer, reply.identity->fence});
  }
  if (members.size() < majority()) throw_too_few(all_, replies, set, Errc::not_applied);
  return members;
}

Listing MirroredStore::list() { return merged(counting_listings(), majority()); }

std::shared_ptr<Store> open_set(const std::vector<std::shared_ptr<Store>>& members,
                                std::shared_ptr<Clock> clock, const MirrorOptions& options,
                                Twins twins) {
  auto store = std::make_shared<MirroredStore>(members, std::move(clock), options, twins);
  std::string description = store->description();
  return guarded_against_fork(std::move(store), std::move(description));
}

}  // namespace distlock::mirrored

namespace distlock {

std::shared_ptr<Store> make_mirrored_store(const std::vector<std::shared_ptr<Store>>& members,
                                           std::shared_ptr<Clock> clock,
                                           const MirrorOptions& options) {
  return mirrored::open_set(members, std::move(clock), options, mirrored::Twins::unknown);
}

}  // namespace distlock
