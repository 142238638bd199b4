#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "distlock/store.h"
#include "stores/document.h"

namespace distlock::testing {

/// One store for the contract suite: our side of it, and its data as another program would reach
/// it, behind the port's back. Each is new and empty.
class StoreUnderTest {
 public:
  virtual ~StoreUnderTest() = default;

  /// A handle on the data. Called again, another one, as another process would have. (A memory
  /// store has one process only and gives the same.)
  virtual std::shared_ptr<Store> open() = 0;

  /// Writes the document as it is, replacing the one with its `_id`. A value that the engine has no
  /// type for becomes the nearest that it has; `Foreign` is any type that no field of ours has.
  virtual void put_lock(const Document& document) = 0;
  virtual void put_ping(const Document& document) = 0;

  /// The document that is stored, all its fields in order.
  virtual std::optional<Document> raw_lock(std::string_view name) = 0;
  virtual std::optional<Document> raw_ping(std::string_view process) = 0;
};

/// The store that this test program is about. Each program that links the contract suite has its
/// own.
std::unique_ptr<StoreUnderTest> make_store_under_test();

}  // namespace distlock::testing
