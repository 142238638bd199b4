#pragma once

#include <optional>
#include <string>
#include <utility>

#include "distlock/error.h"
#include "sim/scheduler.h"
#include "stores/memory/memory_tables.h"

namespace distlock::sim {

/// The document that a program which does not use the port changes with one operation.
enum class Touches { nothing, lock, pings };

/// One call of the port on its way: what it is, what it does at a server, what came of it. Shared,
/// for it may reach a server long after its caller has gone.
struct Call {
  Call() = default;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  virtual ~Call() = default;

  /// Takes effect on the tables. The first time, its answer is kept.
  void happen(MemoryTables& tables, const StoreNow& now) {
    try {
      apply(tables, now);
    } catch (const Error& error) {
      if (!answered) failure = error;
    }
    answered = true;
  }

  bool of_a_lock() const {
    return outsider ? touches == Touches::lock : verb == "claim" || verb == "release";
  }
  /// Somebody still waits for the answer.
  bool open() const { return caller != nullptr && !replied; }

  std::string_view verb;  // of static storage
  std::string process;
  bool may_be_doubled = true;
  std::string object;                  // a lock's name, or a process
  bool outsider = false;               // of a program that does not use the port
  Touches touches = Touches::nothing;  // if so
  bool writes = false;
  bool fresh = true;
  bool quick = false;       // answered before a majority has it
  Fiber* caller = nullptr;  // null once it has given up
  Time give_up_at{0};

  std::optional<Error> failure;
  bool answered = false;  // at a server
  bool changed = false;   // the store
  bool deposed = false;   // by a primary that was one
  bool late = false;      // was sent on its way so that it comes after its caller gave up
  bool replied = false;   // to the caller

 private:
  virtual void apply(MemoryTables& tables, const StoreNow& now) = 0;
};

template <class Operation>
struct CallOf : Call {
  using Answer = std::invoke_result_t<Operation&, MemoryTables&, const StoreNow&>;

  explicit CallOf(Operation given) : operation(std::move(given)) {}

  Operation operation;
  std::optional<Answer> answer;

 private:
  void apply(MemoryTables& tables, const StoreNow& now) override {
    Answer got = operation(tables, now);
    if (!answered) answer = std::move(got);
  }
};

}  // namespace distlock::sim
