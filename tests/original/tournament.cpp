#include "original/tournament.h"

#include <algorithm>
#include <chrono>

#include "original/documents.h"

namespace distlock::original {
namespace {

using sim::stored_lock;
using sim::Touches;

// Each server has to answer before any is written to.
void prepare(Program& program, const std::string& object) {
  for (sim::SimStore* const server : program.servers) {
    server->raw("prepare", object, Touches::nothing,
                [](MemoryTables&, const StoreNow&) { return true; });
  }
}

// The first server that answers.
template <class Operation>
auto read(Program& program, const char* verb, const std::string& object, Operation operation) {
  for (std::size_t i = 0; i + 1 < program.servers.size(); ++i) {
    try {
      return program.servers[i]->raw(verb, object, Touches::nothing, operation);
    } catch (const Error&) {
      // The next one, then.
    }
  }
  return program.servers.back()->raw(verb, object, Touches::nothing, operation);
}

std::optional<Document> read_lock(sim::SimStore& server, const std::string& name) {
  return server.raw("find", name, Touches::nothing, [name](MemoryTables& tables, const StoreNow&) {
    return tables.raw_lock(name);
  });
}

// Seconds first, as in an ObjectId: so the greatest is the latest, by its maker's clock.
Token token_of_now(Program& program) {
  const auto seconds =
      std::chrono::floor<std::chrono::seconds>(program.now().time_since_epoch()).count();
  Token token = program.new_token();
  for (std::size_t i = 0; i < 4; ++i) {
    token.bytes[i] = static_cast<std::uint8_t>(seconds >> (24 - 8 * i));
  }
  return token;
}

}  // namespace

void ping_all(Program& program) {
  try {
    prepare(program, program.id);
    const StoreNow ping{program.now(), "its own"};
    for (sim::SimStore* const server : program.servers) {
      server->raw("ping", program.id, Touches::pings,
                  [id = program.id, ping, &witness = program.witness](MemoryTables& tables,
                                                                      const StoreNow&) {
                    tables.put_ping({{"_id", id}, {"ping", ping.time}});
                    witness.pinged(id, ping.time);
                    return true;
                  });
    }
  } catch (const Error&) {
    // A warning; the next round is due as ever.
  }
}

template <class Change>
bool TournamentLock::write_on(std::size_t server, const char* verb, std::optional<Token> meant,
                              Change change) {
  return program_.servers[server]->raw(
      verb, name_, Touches::lock,
      [=, id = program_.id, name = name_, &witness = program_.witness](MemoryTables& tables,
                                                                       const StoreNow&) {
        const auto before = stored_lock(tables.raw_lock(name));
        const bool matched = change(tables);
        witness.wrote({verb, id, name, meant, server}, before, stored_lock(tables.raw_lock(name)));
        return matched;
      });
}

// The answers of the servers. Of a write without an answer the question for its outcome
// comes over a new connection in half of the cases, and the answer is: nothing was changed.
template <class Change>
auto TournamentLock::write(const char* verb, std::optional<Token> meant, Change change)
    -> std::array<bool, kServers> {
  prepare(program_, name_);
  std::array<bool, kServers> matched{};
  for (std::size_t i = 0; i < kServers; ++i) {
    try {
      matched.at(i) = write_on(i, verb, meant, change);
    } catch (const Error&) {
      if (program_.random.chance(0.5)) throw;
    }
  }
  return matched;
}

bool TournamentLock::lock_try() {
  const auto lock = find();  // step 1
  if (!lock) insert_free();
  if (lock && taken(*lock)) {
    return holder_is_dead(*lock) && force(*lock) && take({});
  }
  return take(lock ? stored_lock(*lock).ts : std::nullopt);  // step 3
}

std::optional<Document> TournamentLock::find() {
  return read(program_, "find", name_, [name = name_](MemoryTables& tables, const StoreNow&) {
    return tables.raw_lock(name);
  });
}

void TournamentLock::insert_free() {
  try {
    write("insert", {},
          [name = name_](MemoryTables& tables) { return insert_free_lock(tables, name); });
  } catch (const Error&) {
    // Logged and ignored: step 4 tells.
  }
}

// Step 2, up to "forcefully taking over".
bool TournamentLock::holder_is_dead(const Document& lock) {
  const std::string process = stored_lock(lock).process;
  const auto ping =
      read(program_, "find holder's ping", name_,
           [process](MemoryTables& tables, const StoreNow&) { return tables.raw_ping(process); });
  return is_dead(program_, process, ping);
}

bool TournamentLock::force(const Document& lock) {
  try {
    write("force", stored_lock(lock).ts,
          [name = name_](MemoryTables& tables) { return set_free(tables, name); });
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Step 4, on the condition of step 3.
bool TournamentLock::take(const std::optional<Token>& seen) {
  const Token ts = token_of_now(program_);
  const auto matched = write(
      "take", ts, [=, id = program_.id, name = name_, now = program_.now()](MemoryTables& tables) {
        auto lock = tables.raw_lock(name);
        if (!lock || taken(*lock)) return false;
        if (seen && stored_lock(*lock).ts != seen) return false;
        write_claim(*lock, id, now, ts);
        tables.put_lock(*lock);
        return true;
      });
  const bool same = matched[0] == matched[1] && matched[0] == matched[2];
  const bool got = same ? matched[0] : settle(ts);
  if (got) ts_ = ts;
  return got;
}

// Step 5: "if it is ours".
bool TournamentLock::settle(const Token& ts) {
  Token greatest{};
  for (sim::SimStore* const server : program_.servers) {
    const auto lock = read_lock(*server, name_);
    const auto seen = stored_lock(lock).ts;
    if (seen && greatest < *seen) greatest = *seen;
  }
  if (greatest != ts) return false;
  propagate(ts);
  return true;
}

// Step 5: "completed lock propagation". By name, whatever is there.
void TournamentLock::propagate(const Token& ts) {
  program_.trace.say(program_.id, [] { return "has the greatest ts, and writes it everywhere"; });
  write("propagate", ts,
        [id = program_.id, name = name_, now = program_.now(), ts](MemoryTables& tables) {
          auto lock = tables.raw_lock(name);
          if (!lock) return false;
          write_claim(*lock, id, now, ts);
          tables.put_lock(*lock);
          return true;
        });
}

// Failed also where not all servers found the document.
bool TournamentLock::release() {
  try {
    const auto matched = write(
        "unlock", ts_, [name = name_](MemoryTables& tables) { return set_free(tables, name); });
    return std::all_of(matched.begin(), matched.end(), [](bool one) { return one; });
  } catch (const Error&) {
    return false;
  }
}

void TournamentLock::unlock() {
  for (int attempt = 1; attempt <= program_.constants.unlock_attempts; ++attempt) {
    if (release()) return;
    const auto pause = std::chrono::seconds{1 << attempt};
    program_.clock.wait_until(program_.clock.steady_at_this_moment() + pause, {});
  }
  program_.trace.say(program_.id, [&] { return "couldn't consummate unlock of " + name_; });
}

}  // namespace distlock::original
