#include "stores/document.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <type_traits>

#include "distlock/error.h"
#include "text.h"
#include "turns.h"

namespace distlock {
namespace {

std::string shown(double number) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.17g", number);
  return text.data();
}

struct Describe {
  std::string operator()(std::int32_t number) const {
    return "the 32-bit integer " + std::to_string(number);
  }
  std::string operator()(std::int64_t number) const {
    return "the 64-bit integer " + std::to_string(number);
  }
  std::string operator()(double number) const { return "the double " + shown(number); }
  std::string operator()(const std::string&) const { return "a string"; }
  std::string operator()(StoreTime) const { return "a date"; }
  std::string operator()(const Token&) const { return "an ObjectId"; }
  std::string operator()(const std::vector<Waiter>&) const { return "a line"; }
  std::string operator()(const Foreign& foreign) const { return escaped(foreign.type); }
};

constexpr std::string_view kNothingChanged = "; nothing was changed";

std::string described(const Value& value) { return std::visit(Describe{}, value); }

std::ptrdiff_t count_of(const Document& document, std::string_view field) {
  return std::count_if(document.begin(), document.end(),
                       [&](const auto& element) { return element.first == field; });
}

// Takes the documented fields out of one document, one at a time, or says what is wrong with them.
class Reader {
 public:
  Reader(std::string_view collection, const Document& document)
      : collection_(collection), document_(document) {}

  template <class Field>
  std::optional<Field> optional(std::string_view field, std::string_view expected) const {
    const Value* value = only(field, expected);
    if (value == nullptr) return std::nullopt;
    const auto* held = std::get_if<Field>(value);
    if (held == nullptr) refuse(field, "is " + described(*value), expected);
    if constexpr (std::is_same_v<Field, std::string>) check_length(field, *held);
    return *held;
  }

  template <class Field>
  Field required(std::string_view field, std::string_view expected) const {
    if (auto value = optional<Field>(field, expected)) return *std::move(value);
    refuse(field, "is missing", expected);
  }

  // A lock that is taken needs it. `takeover_after` and `fence` are absent in documents of other
  // programs.
  template <class Field>
  std::optional<Field> of_holder(std::string_view field, std::string_view expected,
                                 bool taken) const {
    auto value = optional<Field>(field, expected);
    if (!value && taken) refuse(field, "is missing", std::string(expected) + " in a taken lock");
    return value;
  }

  // A count that is never negative, 64-bit only: nobody but this library writes one.
  std::optional<std::int64_t> count(std::string_view field) const {
    constexpr std::string_view kExpected = "a 64-bit integer that is not negative";
    const auto number = optional<std::int64_t>(field, kExpected);
    if (number && *number < 0) refuse(field, "is " + std::to_string(*number), kExpected);
    return number;
  }

  // With a fence that cannot grow nobody would get the lock, and nobody would hear why (R10).
  Fence fence() const {
    const Fence fence = count("fence").value_or(0);
    if (fence == kFenceLimit) {
      refuse("fence", "is " + std::to_string(fence), "one that can still grow");
    }
    return fence;
  }

  // Any number will do, for old shells wrote doubles.
  LockState state() const {
    constexpr std::string_view kExpected = "0, 1 or 2";
    const Value* value = only("state", kExpected);
    if (value == nullptr) refuse("state", "is missing", kExpected);
    if (const auto state = state_of(*value)) return *state;
    refuse("state", "is " + described(*value), kExpected);
  }

 private:
  // Of two, this library and the server might each read another.
  const Value* only(std::string_view field, std::string_view expected) const {
    const Value* found = nullptr;
    std::size_t count = 0;
    for (const auto& [key, value] : document_) {
      if (key == field && ++count == 1) found = &value;
    }
    if (count > 1) refuse(field, "is there " + std::to_string(count) + " times", expected);
    return found;
  }

  void check_length(std::string_view field, const std::string& text) const {
    if (text.size() <= kTextBytesMost) return;
    refuse(field, "is a string of " + std::to_string(text.size()) + " bytes",
           "at most " + std::to_string(kTextBytesMost));
  }

  [[noreturn]] void refuse(std::string_view field, const std::string& found,
                           std::string_view expected) const {
    const Value* id = find_field(document_, "_id");
    const bool named = id != nullptr && std::holds_alternative<std::string>(*id);
    const std::string which = named ? in_quotes(id_of(document_)) : id_of(document_);
    throw Error(Errc::bad_record, std::string(collection_) + " document " + which + ": field \"" +
                                      std::string(field) + "\" " + found + ", expected " +
                                      std::string(expected) + std::string(kNothingChanged));
  }

  std::string_view collection_;
  const Document& document_;
};

std::string shortened(const std::string& text) {
  constexpr std::size_t kShown = 100;
  if (text.size() <= kTextBytesMost) return text;
  return text.substr(0, kShown) + "... (" + std::to_string(text.size()) + " bytes)";
}

constexpr std::array<std::string_view, 4> kHealthFields{"ping_successes", "ping_failures",
                                                        "ping_round_trip_ms", "ping_late_by_ms"};

// Decides nothing, so it is left out where it makes no sense.
std::optional<PingHealth> health_in(const Document& document) {
  std::array<std::int64_t, kHealthFields.size()> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Value* value = find_field(document, kHealthFields[i]);
    const auto* number = value == nullptr ? nullptr : std::get_if<std::int64_t>(value);
    if (number == nullptr || *number < 0) return std::nullopt;
    numbers[i] = *number;
  }
  return PingHealth{numbers[0], numbers[1], std::chrono::milliseconds{numbers[2]},
                    std::chrono::milliseconds{numbers[3]}};
}

}  // namespace

const Value* find_field(const Document& document, std::string_view name) {
  for (const auto& [key, value] : document) {
    if (key == name) return &value;
  }
  return nullptr;
}

void set_field(Document& document, std::string_view name, Value value) {
  for (auto& [key, held] : document) {
    if (key != name) continue;
    held = std::move(value);
    return;
  }
  document.emplace_back(name, std::move(value));
}

std::optional<LockState> state_of(const Value& value) {
  for (const LockState state : {LockState::free, LockState::taken, LockState::taken_by_mongodb}) {
    const auto number = static_cast<std::int32_t>(state);
    if (value == Value{number} || value == Value{std::int64_t{number}} ||
        value == Value{static_cast<double>(number)}) {
      return state;
    }
  }
  return std::nullopt;
}

std::optional<LockState> state_in(const Document& lock) {
  const Value* value = find_field(lock, "state");
  return value == nullptr ? std::nullopt : state_of(*value);
}

LockState required_state(const Document& lock) {
  const auto state = state_in(lock);
  return state ? *state : lock_from(lock).state;  // That throws, and names the field.
}

bool carries(const Document& lock, const Token& ts) {
  const auto* held = field_as<Token>(lock, "ts");
  return held != nullptr && *held == ts;
}

std::vector<Waiter> line_of(const Document& lock) {
  const auto* line = field_as<std::vector<Waiter>>(lock, "line");
  return line == nullptr ? std::vector<Waiter>{} : *line;
}

bool is_turn(const Document& lock, const Token& ticket, StoreTime now) {
  const bool malformed =
      find_field(lock, "line") != nullptr && field_as<std::vector<Waiter>>(lock, "line") == nullptr;
  if (malformed) return false;
  const auto* freed_at = field_as<StoreTime>(lock, "freed_at");
  return line::may_claim(ticket, line_of(lock),
                         freed_at == nullptr ? std::nullopt : std::optional(*freed_at), now);
}

Carried carried_in(const Document& lock) {
  Carried carried;
  if (count_of(lock, "ts") == 1) {
    const auto* ts = std::get_if<Token>(find_field(lock, "ts"));
    if (ts != nullptr) carried.ts = *ts;
  }
  if (count_of(lock, "state") == 1) carried.state = state_in(lock);
  return carried;
}

LockRecord lock_from(const Document& document) {
  const Reader reader(kLocks, document);
  LockRecord lock;
  lock.name = reader.required<std::string>("_id", "a string");
  lock.state = reader.state();
  const bool taken = lock.taken();
  lock.process = reader.of_holder<std::string>("process", "a string", taken).value_or("");
  lock.who = reader.of_holder<std::string>("who", "a string", taken).value_or("");
  lock.when = reader.of_holder<StoreTime>("when", "a date", taken);
  lock.why = reader.of_holder<std::string>("why", "a string", taken).value_or("");
  lock.ts = reader.of_holder<Token>("ts", "an ObjectId", taken);
  lock.fence = reader.fence();
  if (const auto after = reader.count("takeover_after")) {
    lock.takeover_after = std::chrono::milliseconds{*after};
  }
  lock.freed_at = reader.optional<StoreTime>("freed_at", "a date");
  lock.line = reader.optional<std::vector<Waiter>>("line", "an object of places in line")
                  .value_or(std::vector<Waiter>{});
  return lock;
}

PingRecord ping_from(const Document& document) {
  const Reader reader(kLockPings, document);
  PingRecord ping;
  ping.process = reader.required<std::string>("_id", "a string");
  ping.ping = reader.required<StoreTime>("ping", "a date");
  ping.clock = reader.optional<std::string>("clock", "a string");
  ping.health = health_in(document);
  return ping;
}

void throw_written_malformed(const Error& error) {
  const std::string what = error.what();
  throw Error(Errc::outcome_unknown,
              "the write was applied, but left a malformed document behind: " +
                  what.substr(0, what.find(kNothingChanged)));
}

void check_fences(const Claim& claim) {
  if (claim.fences >= 1) return;
  throw Error(Errc::invalid_argument,
              "a claim takes at least one fence, and not " + std::to_string(claim.fences));
}

void check_room_for_fences(const LockRecord& lock, const Claim& claim) {
  if (lock.fence < first_fence_most(claim.fences)) return;
  throw Error(Errc::bad_record, std::string(kLocks) + " document " + in_quotes(lock.name) +
                                    ": field \"fence\" is " + std::to_string(lock.fence) +
                                    ", expected one that can still grow by " +
                                    std::to_string(claim.fences) + std::string(kNothingChanged));
}

std::array<std::pair<std::string_view, std::int64_t>, 4> fields_of(const PingHealth& health) {
  return {{{kHealthFields[0], health.successes},
           {kHealthFields[1], health.failures},
           {kHealthFields[2], health.round_trip.count()},
           {kHealthFields[3], health.late_by.count()}}};
}

bool has_name(const Document& document) {
  const auto* id = field_as<std::string>(document, "_id");
  return id != nullptr && id->size() <= kTextBytesMost;
}

std::string id_of(const Document& document) {
  const Value* id = find_field(document, "_id");
  if (id == nullptr) return "without _id";
  if (const auto* text = std::get_if<std::string>(id)) return shortened(*text);
  return "whose _id is " + described(*id);
}

}  // namespace distlock
