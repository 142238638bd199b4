#include "cli/view_text.h"

#include <ostream>
#include <utility>

#include "cli/holder.h"
#include "cli/table.h"
#include "cli/time_text.h"
#include "cli/view_cells.h"
#include "text.h"

namespace distlock::cli {
namespace {

Cell heading(const char* text) { return {.text = text, .style = Style::heading}; }

Row malformed_row(const LockView& lock) {
  return {
      {escaped(lock.name), Style::plain}, {"malformed", Style::bad}, {lock.problem, Style::bad}};
}

Row long_row(const LockView& lock, const StoreNow& now) {
  const LockRecord& record = *lock.record;
  // A free lock's record still tells its last holder.
  const Style style = record.taken() ? Style::plain : Style::dim;
  return {{escaped(record.name), Style::plain},
          {state_text(record.state), record.taken() ? Style::plain : Style::good},
          {record.process.empty() ? "-" : escaped(record.process), style},
          {since_text(record, now), style},
          record.taken() ? ping_cell(lock, now, true) : Cell{"-", Style::dim},
          takeover_cell(lock.takeover, true),
          {std::to_string(record.fence), style},
          {escaped(record.why), style}};
}

Row short_row(const LockView& lock, const StoreNow& now) {
  const LockRecord& record = *lock.record;
  const bool taken = record.taken();
  const Style style = taken ? Style::plain : Style::dim;
  const Holder holder = holder_of(record);
  return {{escaped(record.name), Style::plain},
          {taken ? "taken" : "free", taken ? Style::plain : Style::good},
          {holder_text(holder), style},
          {holder.process_number ? std::to_string(*holder.process_number) : "-", style},
          {taken && record.when ? age_text(*record.when, now.time) : "-", style},
          taken ? ping_cell(lock, now, false) : Cell{"-", Style::dim},
          takeover_cell(lock.takeover, false),
          {escaped(record.why), style}};
}

std::vector<Row> headed(bool verbose) {
  if (verbose) {
    return {{heading("LOCK"), heading("STATE"), heading("HOLDER"), heading("SINCE"),
             heading("PING"), heading("TAKEOVER"), heading("FENCE"), heading("WHY")}};
  }
  return {{heading("LOCK"), heading("STATE"), heading("HOLDER"), heading("PID"), heading("FOR"),
           heading("PING"), heading("TAKEOVER"), heading("WHY")}};
}

void print_rows(std::ostream& out, std::vector<Row> rows, const Layout& layout) {
  print_table(out, fitted(std::move(rows), layout.verbose ? 0 : layout.width), layout.in_colour);
}

void print_lock_table(std::ostream& out, const View& view, const Layout& layout) {
  std::vector<Row> rows = headed(layout.verbose);
  std::vector<Row> malformed;
  for (const LockView& lock : view.locks) {
    if (!lock.record) {
      malformed.push_back(malformed_row(lock));
    } else {
      rows.push_back(layout.verbose ? long_row(lock, *view.now) : short_row(lock, *view.now));
    }
  }
  if (rows.size() > 1) print_rows(out, std::move(rows), layout);
  // A table of their own: their messages would widen a column of the others.
  print_table(out, malformed, layout.in_colour);
}

Row waiter_row(const LockRecord& lock, std::size_t place, const StoreNow& now, bool verbose) {
  const Waiter& waiter = lock.line[place];
  const Holder holder = holder_of(waiter);
  return {{escaped(lock.name)},
          {waiter.passed_over ? "away" : place_text(place)},
          {verbose ? escaped(waiter.process) : holder_text(holder)},
          {holder.process_number ? std::to_string(*holder.process_number) : "-"},
          {age_text(waiter.since, now.time)}};
}

// Nothing where nobody waits.
void print_lines(std::ostream& out, const View& view, const Layout& layout) {
  std::vector<Row> rows{
      {heading("LOCK"), heading("PLACE"), heading("WAITER"), heading("PID"), heading("FOR")}};
  for (const LockView& lock : view.locks) {
    if (!lock.record || !view.now) continue;
    for (std::size_t place = 0; place < lock.record->line.size(); ++place)
      rows.push_back(waiter_row(*lock.record, place, *view.now, layout.verbose));
  }
  if (rows.size() == 1) return;
  out << '\n';
  print_rows(out, std::move(rows), layout);
}

void print_pings(std::ostream& out, const View& view, const Layout& layout) {
  std::vector<Row> rows{{heading("PROCESS"), heading("PING"), heading("HOLDS")}};
  if (layout.verbose) {
    rows = {
        {heading("PROCESS"), heading("PING"), heading("HOLDS"), heading("AT"), heading("CLOCK")}};
  }
  for (const PingView& ping : view.pings) {
    if (!ping.record) {
      rows.push_back({{escaped(ping.process)}, {ping.problem, Style::bad}});
      continue;
    }
    const std::optional<std::string>& clock = ping.record->clock;
    const bool comparable = !clock || *clock == view.now->clock;
    rows.push_back({{escaped(ping.process)},
                    {comparable ? age_text(ping.record->ping, view.now->time) : "-"},
                    {std::to_string(ping.holds)}});
    if (!layout.verbose) continue;
    rows.back().push_back({iso8601(ping.record->ping)});
    rows.back().push_back({clock ? escaped(*clock) : "-"});
  }
  print_rows(out, std::move(rows), layout);
}

void print_field(std::ostream& out, const char* name, const Cell& value, bool in_colour) {
  print_table(out, {{{"  " + (name + std::string(10, ' ')).substr(0, 9)}, value}}, in_colour);
}

}  // namespace

void print_list(std::ostream& out, const View& view, const Layout& layout) {
  print_locks(out, view, "no locks", layout);
  out << '\n';
  if (view.pings.empty()) {
    out << "no pings\n";
  } else {
    print_pings(out, view, layout);
  }
}

void print_locks(std::ostream& out, const View& view, const char* none, const Layout& layout) {
  if (view.locks.empty()) out << none << '\n';
  print_lock_table(out, view, layout);
  print_lines(out, view, layout);
  for (const deadlock::Cycle& cycle : view.deadlocks) {
    out << '\n'
        << dressed({"deadlock", Style::bad}, layout.in_colour) << ": " << deadlock::in_words(cycle)
        << '\n';
  }
}

void print_lock(std::ostream& out, const LockView& lock, const std::optional<StoreNow>& now,
                const Layout& layout) {
  const bool in_colour = layout.in_colour;
  const auto field = [&](const char* name, const Cell& value) {
    print_field(out, name, value, in_colour);
  };
  out << dressed({escaped(lock.name), Style::heading}, in_colour) << ": ";
  if (!lock.record) {
    out << dressed({"malformed", Style::bad}, in_colour) << '\n';
    field("problem", {lock.problem});
    return;
  }
  const LockRecord& record = *lock.record;
  const bool taken = record.taken();
  out << dressed({state_text(record.state), taken ? Style::plain : Style::good}, in_colour) << '\n';
  if (!taken && !record.ts) return;  // Nobody has ever held it.

  const Style style = taken ? Style::plain : Style::dim;
  field(taken ? "holder" : "last", {holder_in_words(record), style});
  field("id", {escaped(record.process), style});
  if (layout.verbose) field("who", {escaped(record.who), style});
  field("why", {escaped(record.why), style});
  field("since", {since_text(record, now), style});
  if (taken && now) field("ping", ping_cell(lock, *now, true));
  if (taken) field("takeover", takeover_cell(lock.takeover, true));
  for (std::size_t place = 0; now && place < record.line.size(); ++place)
    field(place == 0 ? "waiting" : "", {waiter_in_words(record, place, *now)});
  field("fence", {std::to_string(record.fence), style});
  if (record.ts) field("token", {to_hex(*record.ts), style});
}

}  // namespace distlock::cli
