#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "distlock/record.h"

namespace distlock::testing {

/// The number that the workers count up, each time reading it and writing one more.
class Counter {
 public:
  virtual ~Counter() = default;

  /// Under that hold, from here on.
  virtual void begin(const LockRecord& hold) = 0;
  virtual std::int64_t read() = 0;
  /// False: refused.
  virtual bool write(std::int64_t value) = 0;

  /// The number, whoever asks.
  virtual std::int64_t peek() = 0;
};

struct CounterPlace {
  std::string locks;     ///< Connection string of the store of the lock.
  std::string resource;  ///< Of the database of the counter.
  std::string name;      ///< Of the lock and of its counter.
  bool guarded = true;
};

/// Each worker program has its own.
std::unique_ptr<Counter> make_counter(const CounterPlace& place);

}  // namespace distlock::testing
