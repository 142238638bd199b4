#pragma once

#include <array>
#include <memory>

#include "distlock/stores.h"
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
    for (Member& member : members_) member.put_ping(document);
  }
  std::optional<Document> raw_lock(std::string_view name) override {
    return members_[0].raw_lock(name);
  }
  std::optional<Document> raw_ping(std::string_view process) override {
    return members_[0].raw_ping(process);
  }

 private:
  std::array<Member, 3> members_;
  // Makes them a set, before a test puts documents into them.
  std::shared_ptr<Store> first_ = open();
};

}  // namespace distlock::testing
