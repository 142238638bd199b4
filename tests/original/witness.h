#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "sim/oracle.h"

namespace distlock::original {

/// One write to a lock's document, and what the writer had in mind.
struct Write {
  std::string_view verb;  // insert, force, take, propagate, unlock
  std::string_view process;
  std::string_view lock;
  std::optional<Token> meant;  // the hold that it judged dead, or was given and gives up
  std::size_t server = 0;
};

/// Is told what programs of a published algorithm do and believe. Each word comes when it is so: of
/// a write when it takes effect, not when it is answered.
class Witness {
 public:
  virtual ~Witness() = default;

  virtual void wrote(const Write& /*write*/, const sim::StoredLock& /*before*/,
                     const sim::StoredLock& /*after*/) {}
  virtual void pinged(std::string_view /*process*/, StoreTime /*ping*/) {}
  virtual void removed_ping(std::string_view /*by*/, std::string_view /*process*/) {}
  virtual void holds(std::string_view /*process*/, std::string_view /*lock*/, const Token& /*ts*/) {
  }
  /// Before it holds, if that may end by itself. `holds`: whether it still does, as far as its
  /// program can know.
  virtual void will_hold_while(const Token& /*ts*/, const std::function<bool()>& /*holds*/) {}
  /// Having looked whether it still holds, it writes to what the lock protects.
  virtual void acts(std::string_view /*process*/, const Token& /*ts*/) {}
  virtual void gives_up(std::string_view /*process*/, const Token& /*ts*/) {}
  virtual void died(std::string_view /*process*/) {}
};

}  // namespace distlock::original
