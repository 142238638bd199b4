#pragma once

#include <memory>
#include <string>
#include <vector>

#include "support/mirror_fleet.h"

namespace distlock::testing {

/// Three members of a set that are told apart by where they are, from "place 1" on.
struct NamedPlaces {
  struct Named : FaultyStore {
    Named(std::shared_ptr<Store> inner, std::string where)
        : FaultyStore(std::move(inner)), name(std::move(where)) {}
    std::string description() const override { return name; }
    std::string name;
  };

  NamedPlaces() {
    std::vector<std::shared_ptr<Store>> members;
    for (const OpenedMemoryStore& opened : fleet.stores) {
      const std::string where = "place " + std::to_string(places.size() + 1);
      places.push_back(std::make_shared<Named>(opened.store, where));
      members.push_back(places.back());
    }
    store = make_mirrored_store(members, fleet.clock, {MirrorDrive::caller, {}});
    static_cast<void>(store->list());
  }

  MirrorFleet fleet;
  std::vector<std::shared_ptr<Named>> places;
  std::shared_ptr<Store> store;
};

}  // namespace distlock::testing
