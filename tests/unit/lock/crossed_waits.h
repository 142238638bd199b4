#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "distlock/error.h"
#include "lock/deadlock_watch.h"
#include "support/fleet.h"

namespace distlock::testing {

/// Two threads, each with a hold and a place in the line of the other's lock.
struct CrossedWaits {
  CrossedWaits() {
    faulty->has_line = true;
    hold("x", "p:a");
    hold("y", "p:b");
    stand("y", "p:a");
    fleet.clock->advance(std::chrono::seconds{1});
    last = stand("x", "p:b");
    fleet.clock->advance(std::chrono::seconds{1});
    ping("p:a");
  }

  void ping(const char* process) { fleet.store->ping(process, {}); }
  Claim claim(const std::string& thread) { return fleet.claim_by(thread, Token{{9, ++number}}); }
  void hold(const char* name, const char* thread) {
    REQUIRE(fleet.store->claim(name, FromAbsent{}, claim(thread)));
  }
  Token stand(const char* name, const char* thread) {
    const Claim place = claim(thread);
    REQUIRE(fleet.store->line()->stand(name, place).in_line);
    return place.ts;
  }
  DeadlockWatch another_watch() {
    return {overviews, std::chrono::seconds{5}, fleet.clock->steady_now(), "p:b", warned};
  }
  bool looks(const Token& ticket) {
    try {
      seen = watch.look(ticket, *fleet.clock);
      return true;
    } catch (const Error& error) {
      CHECK(error.errc() == Errc::deadlock);
      return false;
    }
  }

  Fleet fleet;
  std::uint8_t number = 0;
  Token last;
  std::optional<Token> given_up;
  std::optional<Token> held;          // by this process,
  std::optional<std::string> holder;  // by that thread
  std::vector<deadlock::Hidden> behind;
  std::shared_ptr<FaultyStore> faulty = std::make_shared<FaultyStore>(fleet.store);
  Overviews overviews{faulty, "p:b",
                      [this] { return [this](const Token& ts) { return ts == given_up; }; },
                      [this](const Token& ts) { return ts == held ? holder : std::nullopt; },
                      [this] { return behind; }};
  bool warned = false;
  DeadlockWatch watch = another_watch();
  DeadlockWatch::Seen seen = DeadlockWatch::Seen::no_cycle;
};

}  // namespace distlock::testing
