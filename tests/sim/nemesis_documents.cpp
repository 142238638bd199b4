#include "sim/nemesis.h"
#include "support/tampering.h"

// Changes of documents by outsiders: operators, other programs, accidents.
namespace distlock::sim {

void Nemesis::strike_documents(Fault fault) {
  const std::string name =
      world_.lock_name(random_.below(static_cast<std::uint64_t>(world_.setup.locks)));
  if (!world_.oracle.now_stored(name).exists) return;
  world_.trace.say("outsider", [&] { return std::string(name_of(fault)) + " at " + name; });
  switch (fault) {
    case Fault::operator_break:
      return break_lock(name);
    case Fault::malformed_document:
      return spoil(name);
    case Fault::lock_deleted:
      return delete_lock(name);
    case Fault::ping_deleted:
      return delete_ping(name);
    default:
      return collide();
  }
}

void Nemesis::break_lock(const std::string& name) {
  const StoredLock stored = world_.oracle.now_stored(name);
  if (!stored.taken || !stored.ts || !stored.sound) return;
  world_.faults.note(Fault::operator_break);
  if (world_.oracle.someone_valid(name)) world_.faults.mattered(Fault::operator_break);
  world_.servers.meddle(name, [&](MemoryTables& tables) {
    auto document = tables.raw_lock(name);
    if (!document) return;  // A majority does not have it yet.
    set_field(*document, "state", static_cast<std::int32_t>(LockState::free));
    tables.put_lock(*document);
  });
}

void Nemesis::spoil(const std::string& name) {
  auto document = world_.servers.tables().raw_lock(name);
  if (!document || !world_.oracle.now_stored(name).sound) return;
  world_.faults.note(Fault::malformed_document);
  if (world_.oracle.now_stored(name).taken) world_.faults.mattered(Fault::malformed_document);
  constexpr std::array kFields{"state", "ts", "process"};
  testing::replace_field(*document, kFields[random_.below(kFields.size())], Foreign{"array"});
  world_.servers.meddle(name, [&](MemoryTables& tables) { tables.put_lock(*document); });
  spoiled_.push_back(name);
}

void Nemesis::delete_lock(const std::string& name) {
  world_.faults.note(Fault::lock_deleted);
  if (world_.oracle.now_stored(name).taken) world_.faults.mattered(Fault::lock_deleted);
  world_.servers.meddle(name, [&](MemoryTables& tables) { tables.remove_lock(name); });
}

void Nemesis::delete_ping(const std::string& name) {
  const std::string process = world_.oracle.now_stored(name).process;
  if (process.empty()) return;
  world_.faults.note(Fault::ping_deleted);
  if (world_.oracle.now_stored(name).taken) world_.faults.mattered(Fault::ping_deleted);
  world_.oracle.ping_removed({}, process, true);
  world_.servers.meddle("", [&](MemoryTables& tables) { tables.remove_ping(process); });
}

// Another lock, of somebody else, gets the very ObjectId of a hold.
void Nemesis::collide() {
  const StoredLock stored = world_.oracle.now_stored(world_.lock_name(0));
  if (!stored.taken || !stored.ts || !stored.sound) return;
  world_.faults.note(Fault::token_collision);
  world_.faults.mattered(Fault::token_collision);
  Document twin = *world_.servers.tables().raw_lock(world_.lock_name(0));
  testing::replace_field(twin, "_id", std::string("a twin"));
  testing::replace_field(twin, "process", std::string("another:1:1"));
  world_.servers.meddle("a twin", [&](MemoryTables& tables) { tables.put_lock(twin); });
}

}  // namespace distlock::sim
