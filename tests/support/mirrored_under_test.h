#pragma once

#include <array>
#include <memory>

#include "distlock/stores.h"
#include "stores/document.h"
#include "support/store_under_test.h"

namespace distlock::testing {

/// A mirrored store of three members, each of the kind `Member`, for the contract. Another program
/// writes the same to all of them, and reads the first.
template <class Member>
class MirroredUnderTest : public StoreUnderTest {
 public:
  std::shared_ptr<Store> open() override {
    auto store = make_mirrored_store({members_[0].open(), members_[1].open(), members_[2].open()});
    static_cast<void>(store->list());
    return store;
  }
  void put_lock(const Document& document) override {
    for (Member& member : members_) member.put_lock(document);
  }
  void put_ping(const Document& document) override {
    Document ping = document;
    const auto* clock = field_as<std::string>(ping, "clock");
    const std::string of = member_of_clocks();
    if (clock != nullptr && clock->starts_with(of)) {
      set_field(ping, "clock", clock->substr(of.size()));
    }
    for (Member& member : members_) member.put_ping(ping);
  }
  std::optional<Document> raw_lock(std::string_view name) override {
    return members_[0].raw_lock(name);
  }
  std::optional<Document> raw_ping(std::string_view process) override {
    auto ping = members_[0].raw_ping(process);
    const auto* clock = ping ? field_as<std::string>(*ping, "clock") : nullptr;
    if (clock != nullptr) set_field(*ping, "clock", member_of_clocks() + *clock);
    return ping;
  }

 private:
  // A mirrored store names the member before its clock, and the member itself does not.
  std::string member_of_clocks() {
    const std::string clock = first_->list().now.clock;
    return clock.substr(0, clock.find(' ') + 1);
  }

  std::array<Member, 3> members_;
  // Makes them a set, before a test puts documents into them.
  std::shared_ptr<Store> first_ = open();
};

}  // namespace distlock::testing
