#pragma once

#include <optional>
#include <string>

#include "original/program.h"
#include "original/published_lock.h"
#include "stores/document.h"

namespace distlock::original {

/// The lock of mongos 1.8, step by step as in Part 1 of docs/protocol.md: each step is one
/// operation at the server, and anything may come between two of them.
class OriginalLock : public PublishedLock {
 public:
  OriginalLock(Program& program, std::string name) : program_(program), name_(std::move(name)) {}

  bool lock_try() override;
  void unlock() override;

 private:
  std::optional<Document> find();
  void insert_free();
  bool holder_is_dead(const Document& lock);
  bool force(const Document& lock);
  bool take(const Value* seen_ts);
  template <class Change>
  bool write(const char* verb, std::optional<Token> meant, Change change);

  Program& program_;
  const std::string name_;
};

}  // namespace distlock::original
