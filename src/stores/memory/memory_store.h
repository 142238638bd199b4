#pragma once

#include <memory>

#include "distlock/clock.h"
#include "distlock/options.h"
#include "distlock/store.h"
#include "stores/memory/memory_tables.h"

// The room src/stores/memory/, from the bottom up:
//
//   memory_tables.h, memory_documents.h  the documents as plain data, and what a write does to them
//   memory_bell.h                        the rings for those who wait
//   memory_store.h                       the port: the tables, a mutex and a clock
namespace distlock {

/// A memory store, and its tables for a test to put documents into. The tables must not be touched
/// while a call of the store is under way.
struct OpenedMemoryStore {
  std::shared_ptr<Store> store;
  MemoryTables& tables;  ///< Lives as long as `store`.
};

OpenedMemoryStore open_memory_store(std::shared_ptr<Clock> clock, const StoreOptions& options);

/// A handle, with a call limit of its own, on this process's store `memory:`, which lives as long
/// as a handle on it does.
std::shared_ptr<Store> open_memory_of_process(const StoreOptions& options);

}  // namespace distlock
