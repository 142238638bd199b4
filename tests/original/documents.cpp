#include "original/documents.h"

namespace distlock::original {

bool insert_free_lock(MemoryTables& tables, const std::string& name) {
  if (tables.raw_lock(name)) return false;
  tables.put_lock({{"_id", name}, {"state", std::int32_t{0}}, {"who", std::string()}});
  return true;
}

bool set_free(MemoryTables& tables, const std::string& name) {
  auto lock = tables.raw_lock(name);
  if (!lock) return false;
  set_field(*lock, "state", std::int32_t{0});
  tables.put_lock(*lock);
  return true;
}

void write_claim(Document& lock, const std::string& process, StoreTime when, const Token& ts) {
  set_field(lock, "state", std::int32_t{1});
  set_field(lock, "who", process + ":conn1:1");
  set_field(lock, "process", process);
  set_field(lock, "when", when);
  set_field(lock, "why", std::string("work"));
  set_field(lock, "ts", ts);
}

}  // namespace distlock::original
