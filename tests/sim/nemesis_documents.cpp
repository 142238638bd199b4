#include "sim/nemesis.h"
#include "support/tampering.h"

// Changes of documents by outsiders: operators, other programs, accidents. Of a mirrored store they
// change one member, and operators sometimes all.
namespace distlock::sim {
namespace {

StoredLock stored_at(const Servers& servers, const std::string& name) {
  return stored_lock(servers.tables().raw_lock(name));
}

}  // namespace

void Nemesis::strike_documents(Fault fault) {
  const std::string name =
      world_.lock_name(random_.below(static_cast<std::uint64_t>(world_.setup.locks)));
  const std::size_t number = some_member();
  Servers& servers = *world_.all_servers()[number];
  if (!stored_at(servers, name).exists) return;
  world_.trace.say("outsider", [&] {
    const std::string member = world_.members.empty() ? "" : " of member " + std::to_string(number);
    return std::string(name_of(fault)) + " at " + name + member;
  });
  switch (fault) {
    case Fault::operator_break:
      if (!world_.members.empty() && random_.chance(0.3)) return break_lock_everywhere(name);
      return break_lock(servers, name);
    case Fault::malformed_document:
      return spoil(servers, name);
    case Fault::lock_deleted:
      return delete_lock(servers, name);
    case Fault::field_edited:
      return edit(servers, name);
    case Fault::ping_deleted:
      return delete_ping(servers, name);
    default:
      return collide(servers);
  }
}

void Nemesis::break_lock(Servers& servers, const std::string& name) {
  const StoredLock stored = stored_at(servers, name);
  if (!stored.taken || !stored.ts || !stored.sound) return;
  world_.faults.note(Fault::operator_break);
  if (world_.oracle.someone_valid(name)) world_.faults.mattered(Fault::operator_break);
  servers.meddle(name, [&](MemoryTables& tables) {
    auto document = tables.raw_lock(name);
    if (!document) return;  // A majority does not have it yet.
    set_field(*document, "state", static_cast<std::int32_t>(LockState::free));
    tables.put_lock(*document);
  });
}

void Nemesis::break_lock_everywhere(const std::string& name) {
  for (const auto& member : world_.members) break_lock(member->servers, name);
}

void Nemesis::spoil(Servers& servers, const std::string& name) {
  auto document = servers.tables().raw_lock(name);
  if (!document || !stored_at(servers, name).sound) return;
  world_.faults.note(Fault::malformed_document);
  if (stored_at(servers, name).taken) world_.faults.mattered(Fault::malformed_document);
  constexpr std::array kFields{"state", "ts", "process"};
  testing::replace_field(*document, kFields[random_.below(kFields.size())], Foreign{"array"});
  servers.meddle(name, [&](MemoryTables& tables) { tables.put_lock(*document); });
  spoiled_.push_back(name);
}

void Nemesis::mend(Servers& servers, const std::string& name) {
  if (stored_at(servers, name).sound) return;
  servers.meddle(name, [&](MemoryTables& tables) {
    tables.put_lock({{"_id", name}, {"state", 0}, {"who", std::string()}});
  });
}

void Nemesis::delete_lock(Servers& servers, const std::string& name) {
  world_.faults.note(Fault::lock_deleted);
  if (stored_at(servers, name).taken) world_.faults.mattered(Fault::lock_deleted);
  servers.meddle(name, [&](MemoryTables& tables) { tables.remove_lock(name); });
}

void Nemesis::edit(Servers& servers, const std::string& name) {
  const StoredLock stored = stored_at(servers, name);
  if (!stored.taken || !stored.ts || !stored.sound) return;
  world_.faults.note(Fault::field_edited);
  if (world_.oracle.someone_valid(name)) world_.faults.mattered(Fault::field_edited);
  Document document = *servers.tables().raw_lock(name);
  // A hold of one that never pinged would stay for ever (R7).
  const SimProcess* other = somebody();
  edit_one_field(document, other == nullptr ? stored.process : other->id());
  const StoredLock edited = stored_lock(document);
  world_.trace.say("outsider", [&] {
    return "leaves it taken by " + edited.process + ", fence " + std::to_string(edited.fence) +
           ", for " + text_of(edited.takeover_after);
  });
  servers.meddle(name, [&](MemoryTables& tables) { tables.put_lock(document); });
}

// Into something that is sound.
void Nemesis::edit_one_field(Document& document, const std::string& process) {
  const StoredLock before = stored_lock(document);
  switch (random_.below(5)) {
    case 0:
      return testing::replace_field(document, "fence",
                                    before.fence + 1 + static_cast<Fence>(random_.below(5)));
    case 1:
      return testing::replace_field(document, "fence", std::max<Fence>(1, before.fence - 1));
    case 2:
      return testing::replace_field(
          document, "takeover_after",
          std::int64_t{
              std::chrono::ceil<std::chrono::milliseconds>(before.takeover_after).count()} /
              4);
    case 3:
      return testing::replace_field(document, "when", StoreTime{kEpoch});
    default:
      return testing::replace_field(document, "process", process);
  }
}

void Nemesis::delete_ping(Servers& servers, const std::string& name) {
  const StoredLock stored = stored_at(servers, name);
  if (stored.process.empty()) return;
  world_.faults.note(Fault::ping_deleted);
  if (stored.taken) world_.faults.mattered(Fault::ping_deleted);
  servers.meddle_with_ping(stored.process);
}

// Another lock, of somebody else, gets the very ObjectId of a hold.
void Nemesis::collide(Servers& servers) {
  const StoredLock stored = stored_at(servers, world_.lock_name(0));
  if (!stored.taken || !stored.ts || !stored.sound) return;
  world_.faults.note(Fault::token_collision);
  world_.faults.mattered(Fault::token_collision);
  Document twin = *servers.tables().raw_lock(world_.lock_name(0));
  testing::replace_field(twin, "_id", std::string("a twin"));
  testing::replace_field(twin, "process", std::string("another:1:1"));
  servers.meddle("a twin", [&](MemoryTables& tables) { tables.put_lock(twin); });
}

}  // namespace distlock::sim
