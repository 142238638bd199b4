#include "cli/view_text.h"

#include <ostream>
#include <utility>

#include "cli/holder.h"
#include "cli/table.h"
#include "cli/time_text.h"
#include "cli/view_cells.h"
#include "cli/view_members.h"
#include "text.h"

namespace distlock::cli {
namespace {

Cell heading(const char* text) { return {.text = text, .style = Style::heading}; }

Row malformed_row(const std::string& name, const std::string& problem) {
  return {{escaped(name), Style::plain}, {"malformed", Style::bad}, {problem, Style::bad}};
}

std::string number_text(const Holder& holder) {
  return holder.process_number ? std::to_string(*holder.process_number) : "-";
}

// With `verbose` the state and the times in more words.
Row short_row(const LockView& lock, const StoreNow& now, bool verbose) {
  const LockRecord& record = *lock.record;
  const bool taken = record.taken();
  // A free lock's record still tells its last holder.
  const Style style = taken ? Style::plain : Style::dim;
  const Holder holder = holder_of(record);
  const char* const state = taken ? "taken" : "free";
  return {{escaped(record.name), Style::plain},
          {verbose ? state_text(record.state) : state, taken ? Style::plain : Style::good},
          {holder_text(holder), style},
          {number_text(holder), style},
          {taken && record.when ? age_text(*record.when, now.time) : "-", style},
          taken ? ping_cell(lock, now, verbose) : Cell{"-", Style::dim},
          takeover_cell(lock, verbose)};
}

Row lock_row(const LockView& lock, const View& view, bool verbose) {
  const LockRecord& record = *lock.record;
  const Style style = record.taken() ? Style::plain : Style::dim;
  Row row = short_row(lock, *view.now, verbose);
  if (!view.members.empty()) row.push_back({carriers_text(record, view.members), style});
  if (verbose) {
    row.push_back({record.when ? iso8601(*record.when) : "-", style});
    row.push_back({std::to_string(record.fence), style});
    row.push_back({record.process.empty() ? "-" : escaped(record.process), style});
  }
  row.push_back({escaped(record.why), style});
  return row;
}

Row headed(const std::vector<const char*>& texts) {
  Row row;
  for (const char* const text : texts) row.push_back(heading(text));
  return row;
}

Row lock_headings(bool of_mirror, bool verbose) {
  Row row = headed({"LOCK", "STATE", "HOLDER", "PID", "FOR", "PING", "TAKEOVER"});
  if (of_mirror) row.push_back(heading("MEMBERS"));
  if (verbose) {
    for (const char* const text : {"SINCE", "FENCE", "PROCESS"}) row.push_back(heading(text));
  }
  row.push_back(heading("WHY"));
  return row;
}

Row left_over_row(const LockRecord& hold, const View& view, bool verbose) {
  const Holder holder = holder_of(hold);
  Row row{{escaped(hold.name)},
          {carriers_text(hold, view.members)},
          {holder_text(holder)},
          {number_text(holder)},
          {hold.when && view.now ? age_text(*hold.when, view.now->time) : "-"}};
  if (!verbose) return row;
  row.push_back({hold.when ? iso8601(*hold.when) : "-"});
  row.push_back({std::to_string(hold.fence)});
  row.push_back({escaped(hold.process)});
  return row;
}

// `first_to_go`: columns that a narrow terminal has to do without, which is said.
void print_rows(std::ostream& out, std::vector<Row> rows,
                const std::vector<std::string>& first_to_go, const Layout& layout) {
  const std::size_t width = layout.verbose ? 0 : layout.width;
  Narrowed table = narrowed(std::move(rows), width, first_to_go);
  print_table(out, fitted(std::move(table.rows), width), layout.in_colour);
  if (table.left_out.empty()) return;
  out << "without";
  for (const std::string& heading : table.left_out) out << ' ' << heading;
  out << "; -v has all\n";
}

void print_lock_table(std::ostream& out, const View& view, const Layout& layout) {
  const bool of_mirror = !view.members.empty();
  std::vector<Row> rows{lock_headings(of_mirror, layout.verbose)};
  std::vector<Row> malformed;
  for (const LockView& lock : view.locks) {
    if (!lock.record) {
      malformed.push_back(malformed_row(lock.name, lock.problem));
    } else {
      rows.push_back(lock_row(lock, view, layout.verbose));
    }
  }
  if (rows.size() > 1) {
    std::vector<std::string> first_to_go{"PING", "PID", "FOR", "WHY", "STATE"};
    if (of_mirror) first_to_go.insert(first_to_go.begin() + 3, "MEMBERS");
    print_rows(out, std::move(rows), first_to_go, layout);
  }
  // A table of their own: their messages would widen a column of the others.
  print_table(out, malformed, layout.in_colour);
}

Row waiter_row(const LockRecord& lock, std::size_t place, const StoreNow& now, bool verbose) {
  const Waiter& waiter = lock.line[place];
  const Holder holder = holder_of(waiter);
  Row row{{escaped(lock.name)},
          {waiter.passed_over ? "away" : place_text(place)},
          {holder_text(holder)},
          {number_text(holder)},
          {rounded_text(time_since(waiter.since, now.time))}};
  if (verbose) row.push_back({escaped(waiter.process)});
  return row;
}

// Nothing where nobody waits.
void print_lines(std::ostream& out, const View& view, const Layout& layout) {
  std::vector<Row> rows{headed({"LOCK", "PLACE", "WAITER", "PID", "FOR"})};
  if (layout.verbose) rows.front().push_back(heading("PROCESS"));
  for (const LockView& lock : view.locks) {
    if (!lock.record || !view.now) continue;
    for (std::size_t place = 0; place < lock.record->line.size(); ++place)
      rows.push_back(waiter_row(*lock.record, place, *view.now, layout.verbose));
  }
  if (rows.size() == 1) return;
  out << '\n';
  print_rows(out, std::move(rows), {"PID", "FOR"}, layout);
}

// Nothing where no member of a mirrored store has such a hold.
void print_left_over(std::ostream& out, const View& view, const Layout& layout) {
  if (view.left_over.empty()) return;
  std::vector<Row> rows{headed({"LEFT OVER", "MEMBERS", "HOLDER", "PID", "FOR"})};
  if (layout.verbose) {
    for (const char* const text : {"SINCE", "FENCE", "PROCESS"}) {
      rows.front().push_back(heading(text));
    }
  }
  for (const LockRecord& hold : view.left_over) {
    rows.push_back(left_over_row(hold, view, layout.verbose));
  }
  out << '\n';
  print_rows(out, std::move(rows), {"PID", "FOR"}, layout);
}

void print_pings(std::ostream& out, const View& view, const Layout& layout) {
  std::vector<Row> rows{headed({"PROCESS", "PING", "HOLDS"})};
  if (layout.verbose) rows = {headed({"PROCESS", "PING", "HOLDS", "AT", "CLOCK"})};
  std::vector<Row> malformed;
  for (const PingView& ping : view.pings) {
    if (!ping.record) {
      malformed.push_back(malformed_row(ping.process, ping.problem));
      continue;
    }
    const std::optional<std::string>& clock = ping.record->clock;
    const StoreNow& now = ping.now ? *ping.now : *view.now;
    const bool comparable = !clock || *clock == now.clock;
    rows.push_back({{escaped(ping.process)},
                    {comparable ? age_text(ping.record->ping, now.time) : "-"},
                    {std::to_string(ping.holds)}});
    if (!layout.verbose) continue;
    rows.back().push_back({iso8601(ping.record->ping)});
    rows.back().push_back({clock ? escaped(*clock) : "-"});
  }
  if (rows.size() > 1) print_rows(out, std::move(rows), {}, layout);
  print_table(out, malformed, layout.in_colour);
}

void print_cycles(std::ostream& out, const std::vector<deadlock::Cycle>& cycles, const Cell& name,
                  const Layout& layout) {
  for (const deadlock::Cycle& cycle : cycles) {
    out << '\n' << dressed(name, layout.in_colour) << ": " << deadlock::in_words(cycle) << '\n';
  }
}

void print_field(std::ostream& out, const char* name, const Cell& value, bool in_colour) {
  print_table(out, {{{"  " + (name + std::string(10, ' ')).substr(0, 9)}, value}}, in_colour);
}

// Of one lock.
void print_left_over_fields(std::ostream& out, const View& view, bool in_colour) {
  const char* name = "left over";
  for (const LockRecord& hold : view.left_over) {
    const std::string text = "on " + carriers_text(hold, view.members) + ", by " +
                             holder_in_words(hold) + ", since " + since_text(hold, view.now);
    print_field(out, std::exchange(name, ""), {text}, in_colour);
  }
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
  print_left_over(out, view, layout);
  print_cycles(out, view.deadlocks, {"deadlock", Style::bad}, layout);
  print_cycles(out, view.possible_deadlocks, {"possible deadlock", Style::bad}, layout);
}

void print_lock(std::ostream& out, const View& view, const Layout& layout) {
  const LockView& lock = view.locks.front();
  const std::optional<StoreNow>& now = view.now;
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
  // A majority says that nobody has ever held it.
  if (!taken && !record.ts) return print_left_over_fields(out, view, in_colour);

  const Style style = taken ? Style::plain : Style::dim;
  field(taken ? "holder" : "last", {holder_in_words(record), style});
  field("id", {escaped(record.process), style});
  if (layout.verbose) field("who", {escaped(record.who), style});
  field("why", {escaped(record.why), style});
  field("since", {since_text(record, now), style});
  if (taken && now) field("ping", ping_cell(lock, *now, true));
  if (taken) field("takeover", takeover_cell(lock, true));
  if (!view.members.empty()) field("members", {carriers_text(record, view.members), style});
  print_left_over_fields(out, view, in_colour);
  for (std::size_t place = 0; now && place < record.line.size(); ++place)
    field(place == 0 ? "waiting" : "", {waiter_in_words(record, place, *now)});
  field("fence", {std::to_string(record.fence), style});
  if (record.ts) field("token", {to_hex(*record.ts), style});
}

}  // namespace distlock::cli
