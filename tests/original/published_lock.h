#pragma once

#include "stores/document.h"

namespace distlock::original {

/// A lock as somebody published it, and as its programs use it.
class PublishedLock {
 public:
  virtual ~PublishedLock() = default;

  /// Errors: those of the store, as its exceptions.
  virtual bool lock_try() = 0;
  /// Never throws.
  virtual void unlock() = 0;
  /// Whether a hold ends by itself, so that its programs look before they act.
  virtual bool has_deadline() const { return false; }
  /// As far as its program can know, from a lock_try() that said true to the unlock().
  virtual bool holds() const { return true; }

  /// Of the last lock_try() that said true. Its judges have a use for it.
  const Token& ts() const { return ts_; }

 protected:
  Token ts_{};
};

}  // namespace distlock::original
