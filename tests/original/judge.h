#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "original/finder.h"
#include "sim/oracle.h"

namespace distlock::original {

/// Finds in a run of originals what must not be, and says why it came to that. There are no
/// deadlines: a process believes that it holds from lock_try() true to its unlock().
class Judge : public Finder {
 public:
  Judge(const sim::Scheduler& scheduler, sim::Trace& trace, sim::Time window)
      : Finder(scheduler, trace), window_(window) {}

  void wrote(const Write& write, const sim::StoredLock& before,
             const sim::StoredLock& after) override;
  void pinged(std::string_view process, StoreTime ping) override;
  void removed_ping(std::string_view by, std::string_view process) override;
  void holds(std::string_view process, std::string_view lock, const Token& ts) override;
  void gives_up(std::string_view process, const Token& ts) override;
  void died(std::string_view process) override;

  /// Every worker has ended, and nothing is on its way any more: judges a lock that is still taken.
  void judge_leftover(const std::string& lock, const sim::StoredLock& stored);

 private:
  struct Belief {
    std::string process;
    std::string lock;
    Token ts;
  };
  struct Freed {
    std::string verb;
    std::string by;
    std::optional<Token> meant;
    bool holder_was_silent = false;
    bool by_a_fast_clock = false;
  };
  struct Pings {
    sim::Time last{0};        // on true time, when it took effect
    sim::Time last_ahead{0};  // by how much its clock was ahead then
    bool ever = false;
    bool removed = false;  // by a cleanup, and not there again
  };

  Flaw cause(const Belief& loser, const Freed& freed) const;

  const sim::Time window_;
  std::vector<Belief> beliefs_;
  std::set<std::string, std::less<>> dead_;
  std::map<std::string, Pings, std::less<>> pings_;
  std::unordered_map<Token, Freed, sim::TokenHash> freed_;
  std::unordered_set<Token, sim::TokenHash> given_up_;
};

}  // namespace distlock::original
