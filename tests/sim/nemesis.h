#pragma once

#include <functional>
#include <map>

#include "sim/world.h"

namespace distlock::sim {

/// Does what befalls processes, clocks, the store and the documents, at random moments until the
/// horizon. (Faults of single requests strike in SimStore and Servers.)
class Nemesis {
 public:
  explicit Nemesis(World& world);

  /// Sets up the beginning: clocks, and pings that other programs left behind.
  void set_the_scene();
  /// Of its own fiber.
  void work();
  /// Of another one, where the fault is enabled: `return_undone`.
  void undo_returns();
  /// Undoes what only people can mend.
  void make_peace();
  /// Does no more: no process is started any more.
  void end() { ended_ = true; }

 private:
  void strike(Fault fault);
  void strike_process(Fault fault);
  void strike_clock(Fault fault);
  void strike_store(Fault fault);
  void strike_documents(Fault fault);
  void strike_member(Fault fault);
  void set_members_apart();
  Servers& some_servers();
  std::size_t some_member();
  std::size_t gone() const;
  bool is_one_too_many(std::size_t number) const;
  bool has_data_of_before(std::size_t number) const;
  /// The member has that data from now on; what it had is kept, to come back.
  void exchange(std::size_t number, const MemoryTables& data);
  void bring_back(std::size_t number);
  void when_stopped(std::size_t number, const std::function<void()>& then);
  Time stop() const;

  // A return that is undone, step by step.
  bool nothing_is_held();
  void begin_return(SimProcess& process, const std::string& lock);
  void take_back(SimProcess& by, int begun);
  void note_grant(const Belief& belief);
  bool is_under_way() const;
  void begin_return_of_hold(const Belief& belief);
  void wait_for_return(SimProcess& process, std::size_t member);
  void stand_still(SimProcess& process);

  SimProcess* somebody();
  void fall_upon(SimProcess& process, Fault fault, Time duration);
  void restart(SimProcess& process);
  void leave_old_pings(Servers& servers);
  void leave_a_dead_hold(Servers& servers);
  bool all_will_see_a_step(std::size_t number) const;
  void step_store_clock(bool above);
  void break_lock(Servers& servers, const std::string& name);
  void break_lock_everywhere(const std::string& name);
  void spoil(Servers& servers, const std::string& name);
  void strike_line(Fault fault);
  void put_line(const std::string& name, const Value& line);
  void mend_line(const std::string& name);
  void mend(Servers& servers, const std::string& name);
  void delete_lock(Servers& servers, const std::string& name);
  void edit(Servers& servers, const std::string& name);
  void edit_one_field(Document& document, const std::string& process);
  void delete_ping(Servers& servers, const std::string& name);
  void collide(Servers& servers);
  Time window() const;

  World& world_;
  Random random_;
  FiberGroup group_;
  std::vector<Fault> faults_;
  std::vector<std::string> spoiled_;
  struct Lost {
    MemoryTables data;
    Token identity;
  };
  std::map<std::size_t, Lost> lost_;  // All that members had when they counted last.
  std::vector<std::chrono::milliseconds> member_off_;
  struct Return {
    SimProcess* process;  // has freed the lock, and stands still
    std::string lock;
    std::size_t member;
    MemoryTables data;  // of before, and the identity in them
    Token identity;
    Time until;
    bool is_back = false;
  };
  void undo(const Return& undone);
  std::optional<Return> return_;
  int returns_begun_ = 0;
  bool next_hold_is_kept_ = false;  // while a member comes back
  Random random_of_returns_;
  bool stepped_above_ = false;
  bool walls_follow_ = false;
  bool ended_ = false;
};

}  // namespace distlock::sim
