#include "cli/view_text.h"

#include <ostream>

#include "cli/duration.h"
#include "cli/table.h"
#include "cli/time_text.h"
#include "text.h"

namespace distlock::cli {
namespace {

Cell heading(const char* text) { return {.text = text, .look = Look::heading}; }

const char* state_text(LockState state) {
  switch (state) {
    case LockState::free:
      return "free";
    case LockState::taken:
      return "taken";
    case LockState::taken_by_mongodb:
      return "taken (MongoDB)";
  }
  return "";
}

std::string age_text(StoreTime then, StoreTime now) {
  const std::chrono::milliseconds age = between(then, now);
  // Ages of more than a second need no milliseconds.
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(age);
  return duration_text(whole.count() == 0 ? age : std::chrono::milliseconds(whole));
}

std::string since_text(const LockRecord& lock, const std::optional<StoreNow>& now) {
  if (!lock.when) return "-";
  std::string text = iso8601(*lock.when);
  if (now && lock.taken()) text += " (" + age_text(*lock.when, now->time) + ")";
  return text;
}

Cell ping_cell(const LockView& lock, const StoreNow& now) {
  if (lock.takeover.how == Takeover::How::malformed_ping) return {"malformed", Look::bad};
  if (!lock.ping) return {"none", Look::bad};
  // Times of two clocks are not compared (R4).
  if (lock.ping->clock && *lock.ping->clock != now.clock) return {"by another clock", Look::plain};
  return {age_text(lock.ping->ping, now.time) + " ago", Look::plain};
}

Cell takeover_cell(const Takeover& takeover) {
  switch (takeover.how) {
    case Takeover::How::not_needed:
      return {"-", Look::dim};
    case Takeover::How::now:
      return {"now", Look::good};
    case Takeover::How::later:
      return {"in " + duration_text(takeover.in), Look::plain};
    case Takeover::How::by_watching:
      return {"by watching for " + duration_text(takeover.window), Look::plain};
    case Takeover::How::never:
      return {"never by itself: distlock break", Look::bad};
    case Takeover::How::clock_skew:
      return {"no: clock skew", Look::bad};
    case Takeover::How::malformed_ping:
      return {"no: malformed ping", Look::bad};
  }
  return {};
}

Row lock_row(const LockView& lock, const StoreNow& now) {
  if (!lock.record) {
    return {{escaped(lock.name), Look::plain}, {"malformed", Look::bad}, {lock.problem, Look::bad}};
  }
  const LockRecord& record = *lock.record;
  // Of a free lock, what is left of its last holder.
  const Look look = record.taken() ? Look::plain : Look::dim;
  return {{escaped(record.name), Look::plain},
          {state_text(record.state), record.taken() ? Look::plain : Look::good},
          {record.process.empty() ? "-" : escaped(record.process), look},
          {since_text(record, now), look},
          record.taken() ? ping_cell(lock, now) : Cell{"-", Look::dim},
          takeover_cell(lock.takeover),
          {std::to_string(record.fence), look},
          {escaped(record.why), look}};
}

void print_locks(std::ostream& out, const std::vector<const LockView*>& locks, const StoreNow& now,
                 bool in_colour) {
  std::vector<Row> rows{{heading("LOCK"), heading("STATE"), heading("HOLDER"), heading("SINCE"),
                         heading("PING"), heading("TAKEOVER"), heading("FENCE"), heading("WHY")}};
  std::vector<Row> malformed;
  for (const LockView* lock : locks) {
    (lock->record ? rows : malformed).push_back(lock_row(*lock, now));
  }
  if (rows.size() > 1) print_table(out, rows, in_colour);
  // A table of their own: their messages would widen a column of the others.
  print_table(out, malformed, in_colour);
}

void print_pings(std::ostream& out, const View& view, bool in_colour) {
  std::vector<Row> rows{
      {heading("PROCESS"), heading("PING"), heading("AGE"), heading("HOLDS"), heading("CLOCK")}};
  for (const PingView& ping : view.pings) {
    if (!ping.record) {
      rows.push_back({{escaped(ping.process)}, {ping.problem, Look::bad}});
      continue;
    }
    const std::optional<std::string>& clock = ping.record->clock;
    const bool comparable = !clock || *clock == view.now->clock;
    rows.push_back({{escaped(ping.process)},
                    {iso8601(ping.record->ping)},
                    {comparable ? age_text(ping.record->ping, view.now->time) : "-"},
                    {std::to_string(ping.holds)},
                    {clock ? escaped(*clock) : "-"}});
  }
  print_table(out, rows, in_colour);
}

void print_field(std::ostream& out, const char* name, const Cell& value, bool in_colour) {
  print_table(out, {{{"  " + (name + std::string(10, ' ')).substr(0, 9)}, value}}, in_colour);
}

}  // namespace

void print_list(std::ostream& out, const View& view, bool in_colour) {
  std::vector<const LockView*> locks;
  for (const LockView& lock : view.locks) locks.push_back(&lock);
  if (locks.empty()) out << "no locks\n";
  print_locks(out, locks, *view.now, in_colour);
  out << '\n';
  if (view.pings.empty()) {
    out << "no pings\n";
  } else {
    print_pings(out, view, in_colour);
  }
}

void print_held(std::ostream& out, const View& view, bool in_colour) {
  std::vector<const LockView*> locks;
  for (const LockView& lock : view.locks) {
    if (!lock.record || lock.record->taken()) locks.push_back(&lock);
  }
  if (locks.empty()) out << "no lock is held\n";
  print_locks(out, locks, *view.now, in_colour);
}

void print_lock(std::ostream& out, const LockView& lock, const std::optional<StoreNow>& now,
                bool in_colour) {
  const auto field = [&](const char* name, const Cell& value) {
    print_field(out, name, value, in_colour);
  };
  out << dressed({escaped(lock.name), Look::heading}, in_colour) << ": ";
  if (!lock.record) {
    out << dressed({"malformed", Look::bad}, in_colour) << '\n';
    field("problem", {lock.problem});
    return;
  }
  const LockRecord& record = *lock.record;
  const bool taken = record.taken();
  out << dressed({state_text(record.state), taken ? Look::plain : Look::good}, in_colour) << '\n';
  if (!taken && !record.ts) return;  // Nobody has ever held it.

  const Look look = taken ? Look::plain : Look::dim;
  field(taken ? "holder" : "last", {escaped(record.process), look});
  field("who", {escaped(record.who), look});
  field("why", {escaped(record.why), look});
  field("since", {since_text(record, now), look});
  if (taken && now) field("ping", ping_cell(lock, *now));
  if (taken) field("takeover", takeover_cell(lock.takeover));
  field("fence", {std::to_string(record.fence), look});
  if (record.ts) field("token", {to_hex(*record.ts), look});
}

}  // namespace distlock::cli
