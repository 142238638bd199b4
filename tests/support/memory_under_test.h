#pragma once

#include <memory>

#include "distlock/stores.h"
#include "stores/memory/memory_store.h"
#include "support/store_under_test.h"

namespace distlock::testing {

/// A memory store for the contract, and what other stores are compared with.
class MemoryUnderTest : public StoreUnderTest {
 public:
  std::shared_ptr<Store> open() override { return opened_.store; }
  void put_lock(const Document& document) override { opened_.tables.put_lock(document); }
  void put_ping(const Document& document) override { opened_.tables.put_ping(document); }
  std::optional<Document> raw_lock(std::string_view name) override {
    return opened_.tables.raw_lock(name);
  }
  std::optional<Document> raw_ping(std::string_view process) override {
    return opened_.tables.raw_ping(process);
  }

 private:
  OpenedMemoryStore opened_ = open_memory_store(host_clock(), {});
};

}  // namespace distlock::testing
