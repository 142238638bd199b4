#include "original/program.h"

#include <algorithm>
#include <set>
#include <vector>

#include "original/documents.h"

namespace distlock::original {
namespace {

using sim::Touches;

void ping(Program& program) {
  const StoreTime now = program.now();
  program.server().raw(
      "ping", program.id, Touches::pings,
      [id = program.id, now, &witness = program.witness](MemoryTables& tables, const StoreNow&) {
        Document ping = tables.raw_ping(id).value_or(Document{{"_id", id}});
        set_field(ping, "ping", now);
        tables.put_ping(ping);
        witness.pinged(id, now);
        return true;
      });
}

// The processes of all locks, taken or free.
std::set<std::string> processes_of_locks(Program& program) {
  return program.server().raw("find processes", "all locks", Touches::nothing,
                              [](MemoryTables& tables, const StoreNow& now) {
                                std::set<std::string> processes;
                                for (const auto& lock : tables.list(now).locks) {
                                  if (lock.record) processes.insert(lock.record->process);
                                }
                                return processes;
                              });
}

void remove_old_pings(Program& program, const std::set<std::string>& kept, StoreTime before) {
  program.server().raw("remove pings", "the gone", Touches::pings,
                       [kept, before, by = program.id, &witness = program.witness](
                           MemoryTables& tables, const StoreNow& now) {
                         for (const auto& ping : tables.list(now).pings) {
                           if (!ping.record || ping.record->ping >= before) continue;
                           if (kept.contains(ping.id)) continue;
                           tables.remove_ping(ping.id);
                           witness.removed_ping(by, ping.id);
                         }
                         return true;
                       });
}

}  // namespace

Token Program::new_token() {
  Token token;
  for (auto& byte : token.bytes) byte = static_cast<std::uint8_t>(random.below(256));
  return token;
}

bool is_dead(Program& program, const std::string& holder, const std::optional<Document>& ping) {
  const auto* const time = ping ? field_as<StoreTime>(*ping, "ping") : nullptr;
  const auto say = [&](const std::string& what) {
    program.trace.say(program.id, [&] { return "sees " + holder + ' ' + what; });
    return false;
  };
  if (time == nullptr) return say("without a ping: refused");
  const StoreTime now = program.now();
  if (now < *time) return say("ping in the future: refused");
  const auto elapsed = std::chrono::floor<std::chrono::minutes>(now - *time);
  if (elapsed.count() <= program.constants.takeover_minutes) return false;
  say("silent for " + std::to_string(elapsed.count()) + " minutes: takes over");
  return true;
}

void ping_round(Program& program) {
  try {
    ping(program);
    const auto kept = processes_of_locks(program);
    remove_old_pings(program, kept, program.now() - program.constants.forget_after);
  } catch (const Error&) {
    // A warning; the next round is due as ever.
  }
}

}  // namespace distlock::original
