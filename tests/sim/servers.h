#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "sim/bell.h"
#include "sim/call.h"
#include "sim/faults.h"
#include "sim/oracle.h"
#include "sim/trace.h"

namespace distlock::sim {

enum class StoreKind {
  steady,       ///< One server whose clock nobody can step: SQLite, memory.
  replica_set,  ///< Members with clocks of their own, majority writes, fail-overs: MongoDB.
};

/// The store that all processes of a world share. It holds what is true; calls arrive, take effect
/// and are answered here, each at its own time. Its tables are the library's memory store's.
class Servers {
 public:
  Servers(StoreKind kind, Scheduler& scheduler, Faults& faults, Oracle& oracle, Trace& trace,
          Time call_limit, Random random);

  StoreKind kind() const { return kind_; }
  Bell& bell() { return bell_; }

  /// A request reaches a server.
  void arrive(const std::shared_ptr<Call>& call);

  // Faults of the store.
  void fail_over(bool keeping);
  void keep_old_primary(Time until);
  void go_away(Time until);
  void refuse_writes(Time until);
  /// By an error that a client does not know, so that it cannot tell whether they were applied.
  void refuse_claims(Time until);
  // Faults of a member of a mirrored store.
  void be_slow(Time until) { slow_until_ = until; }
  bool slow() const { return scheduler_.now() < slow_until_; }
  /// Another store is in its place from now on; an empty one if it lost its data.
  void become(const MemoryTables& other);

  /// All faults end: everybody sees the same primary, which answers.
  void heal();

  // The clocks of the members.
  void set_clock_off(std::size_t member, std::chrono::milliseconds off) {
    clock_off_[member] = off;
  }
  void set_clock_rate(std::size_t member, double rate) { clock_rate_[member] = rate; }
  std::size_t primary_member() const { return primary_member_; }
  static constexpr std::size_t kMembers = 3;

  /// An outsider removes that ping.
  void meddle_with_ping(const std::string& process);
  /// An outsider changes the data, at once and for good.
  void meddle(const std::string& lock, const std::function<void(MemoryTables&)>& change);
  /// As the primary holds it.
  /// That judges what is written here.
  Oracle& oracle() { return oracle_; }
  const MemoryTables& tables() const { return primary_; }
  std::vector<Waiter> places_of(const std::string& lock) const;
  bool taken(const std::string& lock) const { return stored_lock(primary_.raw_lock(lock)).taken; }
  /// As a majority has it, so that no fail-over undoes it.
  const MemoryTables& confirmed_tables() const { return confirmed_; }
  StoreNow now() const;

 private:
  struct Write {
    std::shared_ptr<Call> call;
    StoreNow now;
    Time read_at;
    std::uint64_t number;
  };
  struct OldPrimary {
    MemoryTables own;  // with quick releases that nobody else will ever have
    MemoryTables confirmed;
    std::size_t member;
    Time until;
  };

  StoreNow now_of(std::size_t member) const;
  bool turned_away(const std::shared_ptr<Call>& call);
  void execute(const std::shared_ptr<Call>& call, const StoreNow& now, Time read_at);
  void write(const std::shared_ptr<Call>& call, const StoreNow& now, Time read_at);
  void read(const std::shared_ptr<Call>& call, const StoreNow& now);
  void at_old_primary(const std::shared_ptr<Call>& call);
  void release_at_old_primary(const std::shared_ptr<Call>& call);
  void change_lock(const std::shared_ptr<Call>& call, const StoreNow& now);
  void change_pings(const std::shared_ptr<Call>& call, const StoreNow& now);
  static void note_passed_over(const Document& before, const Token& ts);
  void note_change(const Call& call, const StoredLock& before, const StoredLock& after,
                   bool repeated);
  Time replication_lag(const Call& call);
  void confirm_up_to(std::uint64_t number);
  void confirm_first();
  void lose_unconfirmed();
  void reply(const std::shared_ptr<Call>& call);
  void reply_failure(const std::shared_ptr<Call>& call, Errc code, Time when);
  bool something_taken() const;

  const StoreKind kind_;
  Scheduler& scheduler_;
  Faults& faults_;
  Oracle& oracle_;
  Trace& trace_;
  const Time call_limit_;
  Random random_;
  Bell bell_;

  MemoryTables primary_;    // every write that the primary has
  MemoryTables confirmed_;  // those that a majority has
  std::deque<Write> unconfirmed_;
  std::uint64_t writes_ = 0;
  std::uint64_t term_ = 1;  // of the primary
  Time all_confirmed_{0};
  std::optional<OldPrimary> old_primary_;
  std::size_t primary_member_ = 0;
  std::vector<std::chrono::milliseconds> clock_off_;
  std::vector<double> clock_rate_;
  Time away_until_{0};
  Time refusing_until_{0};
  Time refusing_claims_until_{0};
  Time slow_until_{0};
};

}  // namespace distlock::sim
