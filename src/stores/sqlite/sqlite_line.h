#pragma once

#include <array>
#include <atomic>

#include "distlock/line.h"
#include "stores/sqlite/sqlite_bell.h"
#include "stores/sqlite/sqlite_connection.h"
#include "stores/sqlite/sqlite_deaths.h"
#include "stores/sqlite/sqlite_lists.h"

namespace distlock {

/// The lines of a SQLite file, in its table `waiters`.
class SqliteLine : public Line {
 public:
  SqliteLine(SqliteConnection& connection, SqliteBell& bell, const SqliteWitness& witness,
             SqliteLists& lists)
      : connection_(connection), bell_(bell), deaths_(witness), lists_(lists) {}

  Standing stand(std::string_view name, const Claim& claim) override;
  void leave(std::string_view name, const Token& ticket) override;
  Freed release_and_tell(std::string_view name, const Token& ts, ReleaseRule rule) override;
  void ring(std::string_view name, const std::vector<std::string>& processes) override;
  std::shared_ptr<void> listen(std::string_view process, Rung rung) override;
  Listing list_waits(const std::vector<std::string>& names) override {
    return lists_.list_waits(names);
  }

  /// Whether a claim from a free lock would be refused now, as far as is worth a look: if somebody
  /// stood in line at its last release, it is mostly not a newcomer's turn, and this writes
  /// nothing. Waits until since_boot() is `give_up_at`, as the claim does.
  bool refuses(std::string_view name, const Claim& claim, std::chrono::milliseconds give_up_at);

  /// A claim that does not stand in line, from a free lock or a hold, where somebody does: those in
  /// line come first, and `claim`'s ticket gives its place up. A part of a call that writes.
  std::optional<LockRecord> claim_beside(std::string_view name, const ClaimBasis& basis,
                                         const Claim& claim);

  /// The ticket has become a hold by another call.
  void forget(const Token& ticket) {
    bell_.ignore(ticket);
    deaths_.ignore(ticket);
  }

 private:
  struct Plan;

  std::atomic<bool>& awaited(std::string_view name);
  Plan plan(std::string_view name, const Claim& claim, StoreTime now) const;
  bool attend_holder(std::string_view name, const Token& ticket, const std::string& witness);
  void tell_of_holder(std::string_view name, const std::vector<Waiter>& line);
  Plan stand_in_turn(std::string_view name, const Claim& claim);
  std::optional<Plan> carry_out(std::string_view name, const Claim& claim, bool grants);
  Freed write_release(std::string_view name, const Token& ts);
  std::vector<Waiter> line_behind(std::string_view name) const;
  std::vector<Waiter> left_by_first(std::string_view name, const Token& ticket) const;

  SqliteConnection& connection_;
  SqliteBell& bell_;
  SqliteDeaths deaths_;
  SqliteLists& lists_;
  // By the name's hash: somebody stood in line when this process released it last.
  std::array<std::atomic<bool>, 256> awaited_{};
};

}  // namespace distlock
