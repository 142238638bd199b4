#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "original/finder.h"
#include "sim/stored_lock.h"

namespace distlock::original {

/// Finds how an algorithm on three servers breaks. A process believes that it holds from a
/// lock_try() that says true to its unlock(), or until its own deadline.
class JudgeOfThree : public Finder {
 public:
  JudgeOfThree(Algorithm algorithm, const sim::Scheduler& scheduler, sim::Trace& trace,
               sim::Time window)
      : Finder(scheduler, trace), algorithm_(algorithm), window_(window) {}

  void wrote(const Write& write, const sim::StoredLock& before,
             const sim::StoredLock& after) override;
  void pinged(std::string_view process, StoreTime ping) override;
  void will_hold_while(const Token& ts, const std::function<bool()>& holds) override;
  void holds(std::string_view process, std::string_view lock, const Token& ts) override;
  void acts(std::string_view process, const Token& ts) override;
  void gives_up(std::string_view process, const Token& ts) override;
  void died(std::string_view process) override;

  void server_is_away(sim::Time until) { away_.push_back({now(), until}); }
  void server_was_emptied(std::size_t server) { emptied_.at(server) = now(); }

  /// Nobody could have that lock for long, though nothing went wrong: judges what is on a server.
  void judge_leftover(const std::string& lock, const sim::StoredLock& stored);
  /// Whether anybody got that lock since then.
  bool was_got(const std::string& lock, sim::Time since) const;

 private:
  static constexpr std::size_t kServers = 3;

  struct Freed {
    std::string verb;
    std::string by;
    std::optional<Token> meant;
    sim::Time holder_was_silent{0};
  };
  /// A claim, from its first write on.
  struct Claimed {
    std::string process;
    std::string lock;
    sim::Time since{0};
    std::array<std::optional<sim::Time>, kServers> written_at{};
    std::optional<Freed> freed;  // the first time, on any server
    bool written_again = false;  // since then
    std::optional<Freed> ended;  // the first time since it was written again, if it was
    bool got = false;
    bool given_up = false;
    std::function<bool()> holds_still;
  };
  struct Pings {
    sim::Time last{0};        // on true time, when it took effect
    sim::Time last_ahead{0};  // by how much its clock was ahead then
  };

  void note_end(const Write& write, const sim::StoredLock& before, const sim::StoredLock& after);
  void note_propagation(const Write& write, const sim::StoredLock& before);
  bool believes(const Claimed& claimed) const;
  Flaw cause(const Claimed& first, const Claimed& second) const;
  Flaw cause_of_end(const Claimed& claimed, const Freed& end) const;
  Flaw cause_of_force(const Claimed& claimed, const Freed& end) const;
  Flaw cause_of_expiry(const Claimed& first, const Claimed& second) const;

  const Algorithm algorithm_;
  const sim::Time window_;
  std::map<Token, Claimed> claims_;
  std::map<std::string, Token, std::less<>> last_;  // that got each lock
  std::map<std::string, sim::Time, std::less<>> got_at_;
  std::map<std::string, Pings, std::less<>> pings_;
  std::set<std::string, std::less<>> dead_;
  std::vector<std::pair<sim::Time, sim::Time>> away_;  // From when until when some server was.
  std::array<std::optional<sim::Time>, kServers> emptied_{};
};

}  // namespace distlock::original
