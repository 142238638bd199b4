#pragma once

#include <optional>
#include <string>

#include "original/program.h"
#include "original/published_lock.h"

namespace distlock::original {

/// A client of Redlock, by the five steps of "Distributed Locks with Redis" (redis.io). A key is a
/// document with a random value in `ts`, which expires by its server's clock. There is no identity
/// that orders holders, and no fence.
class Redlock : public PublishedLock {
 public:
  Redlock(Program& program, std::string name);

  bool lock_try() override;
  void unlock() override;
  bool has_deadline() const override { return true; }
  bool holds() const override;

 private:
  bool set_if_absent(std::size_t server, const Token& value);
  void delete_if_equal(std::size_t server, const Token& value);
  void release(const Token& value);

  Program& program_;
  const std::string name_;
  const std::chrono::milliseconds time_to_live_;
  std::optional<StoreTime> valid_until_;  // by its own clock
};

}  // namespace distlock::original
