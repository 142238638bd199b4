#include <algorithm>

#include "sim/nemesis.h"
#include "stores/document.h"

// Changes of the line of a lock by outsiders.
namespace distlock::sim {
namespace {

constexpr std::string_view kLine = "line";

// Also of dates that no store has ever told.
Waiter stranger(StoreTime now, Random& random) {
  using std::chrono::days;
  Waiter waiter{.ticket = {}, .process = "stranger:1:1", .who = "stranger:1:1:1:1", .since = now};
  for (auto& byte : waiter.ticket.bytes) byte = static_cast<std::uint8_t>(random.below(256));
  if (random.chance(0.3)) waiter.since = now + days{365} * 7'000;
  if (random.chance(0.2)) waiter.passed_over = now + days{random.below(400)} - days{200};
  return waiter;
}

}  // namespace

void Nemesis::strike_line(Fault fault) {
  const std::string name =
      world_.lock_name(random_.below(static_cast<std::uint64_t>(world_.setup.locks)));
  auto document = world_.servers.tables().raw_lock(name);
  if (!document || !world_.oracle.now_stored(name).sound) return;
  std::vector<Waiter> line = line_of(*document);
  if (line.empty() && find_field(*document, kLine) != nullptr) return;  // Spoiled already.
  const bool others = !line.empty();
  if (fault == Fault::place_lost) {
    if (!others) return;
    line.erase(line.begin() + static_cast<std::ptrdiff_t>(random_.below(line.size())));
  } else if (fault == Fault::stranger_in_line) {
    line.insert(line.begin(), stranger(world_.servers.now().time, random_));
  }
  world_.trace.say("outsider", [&] { return std::string(name_of(fault)) + " at " + name; });
  world_.faults.note(fault);
  if (others) world_.faults.mattered(fault);
  const bool malformed = fault == Fault::line_malformed;
  if (malformed) spoiled_.push_back(name);
  put_line(name, malformed ? Value{Foreign{"array"}} : Value{std::move(line)});
}

// An empty line is no field.
void Nemesis::put_line(const std::string& name, const Value& line) {
  const auto* const places = std::get_if<std::vector<Waiter>>(&line);
  world_.servers.meddle(name, [&](MemoryTables& tables) {
    auto document = tables.raw_lock(name);
    if (!document) return;  // A majority does not have it yet.
    std::erase_if(*document, [](const auto& field) { return field.first == kLine; });
    if (places == nullptr || !places->empty()) document->emplace_back(kLine, line);
    tables.put_lock(*document);
  });
}

void Nemesis::mend_line(const std::string& name) {
  const auto document = world_.servers.tables().raw_lock(name);
  const Value* const line = document ? find_field(*document, kLine) : nullptr;
  if (line == nullptr || std::holds_alternative<std::vector<Waiter>>(*line)) return;
  put_line(name, std::vector<Waiter>{});
}

}  // namespace distlock::sim
