#pragma once

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
  /// Whether the member has an identity of the set, and how many have none.
  bool counts(std::size_t number) const;
  std::size_t gone() const;

  SimProcess* somebody();
  void fall_upon(SimProcess& process, Fault fault, Time duration);
  void restart(SimProcess& process);
  void leave_a_dead_hold(const StoreNow& now);
  bool all_will_see_a_step() const;
  void step_store_clock(bool above);
  void break_lock(const std::string& name);
  void spoil(const std::string& name);
  void delete_lock(const std::string& name);
  void delete_ping(const std::string& name);
  void collide();
  Time window() const;

  World& world_;
  Random random_;
  FiberGroup group_;
  std::vector<Fault> faults_;
  std::vector<std::string> spoiled_;
  std::vector<std::chrono::milliseconds> member_off_;
  bool stepped_above_ = false;
  bool walls_follow_ = false;
  bool ended_ = false;
};

}  // namespace distlock::sim
