#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "original/original_process.h"
#include "sim/world.h"

namespace distlock::sim {

/// The fault original_process: a program of the original's algorithm competes for the locks of a
/// world. It is an outsider: what it touches is excused, and it may be touched.
class OriginalRival : public original::Witness {
 public:
  explicit OriginalRival(World& world) : world_(world) {}

  /// If the run has that fault.
  void start();
  void stop_working();
  void end();

  /// Of a hold that it left behind. Its ping may be days ahead of everybody.
  bool left(const StoredLock& lock) const;

  void holds(std::string_view process, std::string_view lock, const Token& ts) override;

 private:
  World& world_;
  std::unique_ptr<original::OriginalProcess> process_;
};

}  // namespace distlock::sim
