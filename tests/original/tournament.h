#pragma once

#include <array>
#include <optional>
#include <string>

#include "original/program.h"
#include "original/published_lock.h"

namespace distlock::original {

/// The original on three mirrored servers, step by step as in Part 1 of docs/protocol.md. It reads
/// from the first server that answers. A write goes to all three, one after the other, and begins
/// only if all three answer. Where a claim got through on some servers only, the greatest `ts` of
/// the three wins, and its owner writes its claim everywhere, by name. A refused claim does not
/// read the document that was in the way.
class TournamentLock : public PublishedLock {
 public:
  TournamentLock(Program& program, std::string name) : program_(program), name_(std::move(name)) {}

  bool lock_try() override;
  void unlock() override;

 private:
  static constexpr std::size_t kServers = 3;

  std::optional<Document> find();
  void insert_free();
  bool holder_is_dead(const Document& lock);
  bool force(const Document& lock);
  bool take(const std::optional<Token>& seen);
  bool settle(const Token& ts);
  void propagate(const Token& ts);
  bool release();
  template <class Change>
  bool write_on(std::size_t server, const char* verb, std::optional<Token> meant, Change change);
  template <class Change>
  std::array<bool, kServers> write(const char* verb, std::optional<Token> meant, Change change);

  Program& program_;
  const std::string name_;
};

/// Step 1 of its pinger's round: a ping on all three servers, if all three answer. Nothing removes
/// old pings, so that no lock is lost by that here.
void ping_all(Program& program);

}  // namespace distlock::original
